import { test } from 'tap';
import { type Credential, readCredential } from '../../../src/http/request/credential.js';
import { readHeaderFacts } from '../../../src/http/request/header-facts.js';

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
