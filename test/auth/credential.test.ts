import { test } from 'tap';
import { type Credential, describeTokenShapeFault, readCredential } from '../../src/auth/credential.js';
import { readHeaderFacts } from '../../src/http/request/header-facts.js';
import { TOKEN_BYTES_MAX } from '../../src/limits.js';
import { goodClaims, hs256 } from './tokens.js';

/** Reads raw header fields, as the handler does. */
function credentialOf(rawHeaders: readonly string[]): Credential {
  const { authorization, authorizations } = readHeaderFacts(rawHeaders);
  return readCredential(authorization, authorizations);
}

test('the Authorization header is read according to RFC 6750', async (t) => {
  const cases: [value: string, kind: string, token?: string][] = [
    ['Bearer abc', 'token', 'abc'],
    ['bearer abc', 'token', 'abc'],
    ['BEARER abc', 'token', 'abc'],
    ['Bearer   abc', 'token', 'abc'],
    ['Bearer a.b-c_d~e+f/g==', 'token', 'a.b-c_d~e+f/g=='],
    ['Basic YTpi', 'missing'],
    ['Bearerabc', 'missing'],
    ['', 'missing'],
    ['Bearer', 'malformed'],
    ['Bearer ', 'malformed'],
    ['Bearer a b', 'malformed'],
    ['Bearer a, Bearer b', 'malformed'],
    ['Bearer a"b', 'malformed'],
    ['Bearer a\tb', 'malformed'],
    ['Bearer =', 'malformed'],
    ['Bearer ä', 'malformed'],
  ];
  for (const [value, kind, token] of cases) {
    const credential = credentialOf(['Host', 'x', 'Authorization', value]);
    t.equal(credential.kind, kind, JSON.stringify(value));
    if (credential.kind === 'token') t.equal(credential.token, token);
    if (credential.kind === 'malformed') t.match(credential.detail, /Authorization header/);
  }
});

test('the header name is read in any case; other headers are ignored', async (t) => {
  t.same(credentialOf([]), { kind: 'missing' });
  t.same(credentialOf(['X-Authorization', 'Bearer a', 'authorizatiom', 'Bearer a']), { kind: 'missing' });
  t.same(credentialOf(['aUTHORIZATION', 'Bearer a']), { kind: 'token', token: 'a' });
});

test('a repeated Authorization header is malformed, even if both values are equal or the schemes differ', async (t) => {
  for (const second of ['Bearer a', 'Basic YTpi', '']) {
    t.equal(credentialOf(['Authorization', 'Bearer a', 'authorization', second]).kind, 'malformed');
  }
});

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
