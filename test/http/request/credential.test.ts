/** The Authorization header, as RFC 6750 says. */
import { test } from 'tap';
import { serve, setUp, token } from '../harness.js';

const TOKEN = token();

test('the Authorization header is read according to RFC 6750', async (t) => {
  const { raw } = await serve(t, setUp().handler);
  const cases: [fields: string, outcome: string][] = [
    [`Authorization: Bearer ${TOKEN}`, '200'],
    [`Authorization: bearer ${TOKEN}`, '200'],
    [`Authorization: BEARER ${TOKEN}`, '200'],
    [`Authorization: Bearer   ${TOKEN}`, '200'],
    [`aUTHORIZATION: Bearer ${TOKEN}`, '200'],
    ['Authorization: Bearer a.b-c_d~e+f/g==', 'token-invalid'],
    ['Authorization: Basic YTpi', 'credentials-missing'],
    [`Authorization: Bearer${TOKEN}`, 'credentials-missing'],
    ['Authorization:', 'credentials-missing'],
    [
      `X-Authorization: Bearer ${TOKEN}\r\nauthorizatiom: Bearer ${TOKEN}\r\nAuthorizatio: Bearer ${TOKEN}`,
      'credentials-missing',
    ],
    ['Authorization: Bearer', 'invalid-request'],
    ['Authorization: Bearer ', 'invalid-request'],
    ['Authorization: Bearer a b', 'invalid-request'],
    ['Authorization: Bearer a, Bearer b', 'invalid-request'],
    ['Authorization: Bearer a"b', 'invalid-request'],
    ['Authorization: Bearer a\tb', 'invalid-request'],
    ['Authorization: Bearer =', 'invalid-request'],
    ['Authorization: Bearer ä', 'invalid-request'],
    // A repeated field is malformed, even if both values are equal or the schemes differ.
    ...[`Bearer ${TOKEN}`, 'Basic YTpi', ''].map((second): [string, string] => [
      `Authorization: Bearer ${TOKEN}\r\nauthorization: ${second}`,
      'invalid-request',
    ]),
  ];
  for (const [fields, outcome] of cases) {
    const reply = await raw(
      `GET /api/v1/schedule HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${fields}\r\n\r\n`,
    );
    const name = fields.replaceAll(TOKEN, 'TOKEN');
    const [, status, code] = /^HTTP\/1\.1 (\d+) (?:[\s\S]*"code":"([^"]+)")?/.exec(reply) ?? [];
    t.equal(status === '200' ? status : code, outcome, name);
    if (outcome === 'invalid-request') t.match(reply, /"detail":"[^"]*Authorization header/, name);
  }
});
