/** The form of a token. Inside, because it tries every spelling of the last characters. */
import { test } from 'tap';
import { TOKEN_BYTES_MAX } from '../../src/base/limits.js';
import { type Reply, serve, setUp, token } from '../http/harness.js';

/** Sends requests with a token. */
async function client(t: Parameters<typeof serve>[0]): Promise<(given: string) => Promise<Reply>> {
  const { send } = await serve(t, setUp().handler);
  return (given) => send('/api/v1/schedule', { headers: { Authorization: `Bearer ${given}` } });
}

test('a token has three non-empty parts of canonical base64url within the bound', async (t) => {
  const good = token();
  const [header, payload, signature] = good.split('.') as [string, string, string];
  const ask = await client(t);
  t.equal((await ask(good)).status, 200);
  const cases: [name: string, given: string][] = [
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
  for (const [name, given] of cases) {
    const { status, headers } = await ask(given);
    t.ok(status === 400 || status === 401, `${name}: ${status}`);
    t.match(headers['www-authenticate'], /^Bearer /, name);
  }
});

test('only the canonical spelling of a signature passes', async (t) => {
  // 32 bytes are 43 characters, and the last one carries four bits: 16 of 64 characters are canonical.
  const good = token();
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const bytes = Buffer.from(good.slice(good.lastIndexOf('.') + 1), 'base64url');
  const spellings = [...alphabet]
    .map((last) => good.slice(0, -1) + last)
    .filter((each) => Buffer.from(each.slice(each.lastIndexOf('.') + 1), 'base64url').equals(bytes));
  t.equal(spellings.length, 4, 'a lenient decoder reads four spellings as the same signature');
  const ask = await client(t);
  for (const each of spellings) t.equal((await ask(each)).status, each === good ? 200 : 401);
});

test('a description repeats no part of the token', async (t) => {
  const ask = await client(t);
  const { status, headers, text } = await ask('secretpart.secretpart');
  t.equal(status, 401);
  t.notMatch(text + JSON.stringify(headers), /secretpart/);
});
