import { test } from 'tap';
import { describeTokenShapeFault } from '../../src/auth/verifier.js';
import { TOKEN_BYTES_MAX } from '../../src/base/limits.js';
import { goodClaims, hs256 } from './tokens.js';

test('a token has three non-empty parts of canonical base64url within the bound', async (t) => {
  const good = hs256(goodClaims());
  const [header, payload, signature] = good.split('.') as [string, string, string];
  t.equal(describeTokenShapeFault(good), null);
  const cases: [name: string, token: string][] = [
    ['empty', ''],
    ['one part', header],
    ['two parts', `${header}.${payload}`],
    ['unsecured: an empty signature', `${header}.${payload}.`],
    ['four parts', `${good}.${signature}`],
    ['five parts, an encrypted token', `${good}.${signature}.${signature}`],
    ['an empty header', `.${payload}.${signature}`],
    ['padding', `${good}=`],
    ['white space', `${header}. ${payload}.${signature}`],
    ['the other alphabet', `${header}.${payload}.+/${signature.slice(2)}`],
    ['a length that no encoding has', `${header}.${payload}.abcde`],
    ['too long', `${header}.${payload}.${'A'.repeat(TOKEN_BYTES_MAX)}`],
  ];
  for (const [name, token] of cases) t.type(describeTokenShapeFault(token), 'string', name);
});

test('only the canonical spelling of a signature passes', async (t) => {
  // 32 bytes are 43 characters, and the last one carries four bits: 16 of 64 characters are canonical.
  const good = hs256(goodClaims());
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const bytes = Buffer.from(good.slice(good.lastIndexOf('.') + 1), 'base64url');
  const spellings = [...alphabet]
    .map((last) => good.slice(0, -1) + last)
    .filter((token) => Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url').equals(bytes));
  t.equal(spellings.length, 4, 'a lenient decoder reads four spellings as the same signature');
  t.same(
    spellings.filter((token) => describeTokenShapeFault(token) === null),
    [good],
  );
});

test('a description repeats no part of the token', async (t) => {
  t.notMatch(describeTokenShapeFault('secretpart.secretpart'), /secretpart/);
});
