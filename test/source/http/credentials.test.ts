/** Header fields for addresses: the origins that get them, and changes while the service runs. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { type CredentialOptions, Credentials } from '../../../src/source/http/credentials.js';
import { httpSource } from '../../../src/source/http.js';
import { parseSourceArgument } from '../../../src/source/spec.js';
import { collect, failureOf } from '../collect.js';
import { type Answer, shown, startUpstream } from './upstream.js';

const BODY: Answer = (_, response) => response.end('{"n":1}\n');

test('each origin gets only the header fields that name it', async (t) => {
  const [one, two, three] = [
    await startUpstream(t, BODY),
    await startUpstream(t, BODY),
    await startUpstream(t, BODY),
  ];
  const spec = parseSourceArgument([one.origin, `${two.origin}/b`, three.origin], {
    headers: {
      [`${one.origin}/ Authorization`]: 'Bearer env:TOKEN',
      [`${two.origin} Authorization`]: 'Bearer two',
      [`${two.origin} X-Key`]: 'two',
    },
    environment: { TOKEN: 'one' },
  });
  t.match(spec, {
    specs: [
      { headers: { Authorization: 'Bearer one' } },
      { headers: { Authorization: 'Bearer two', 'X-Key': 'two' } },
      { headers: undefined },
    ],
  });
  const parts = 'specs' in spec ? spec.specs : [];
  for (const part of parts) if (part.kind === 'http') await collect(httpSource(part));
  t.equal(one.requests[0]?.headers.authorization, 'Bearer one');
  t.equal(one.requests[0]?.headers['x-key'], undefined);
  t.match(two.requests[0]?.headers, { authorization: 'Bearer two', 'x-key': 'two' });
  t.equal(three.requests[0]?.headers.authorization, undefined);
});

test('header fields that name no origin, or an origin without a source, are refused', (t) => {
  const cases: [key: string, message: RegExp][] = [
    [
      'X-Key',
      /^header X-Key names no origin, and sources are on several origins: http:\/\/one, http:\/\/two; .*'http:\/\/one X-Key: …'$/,
    ],
    [
      'http://three X-Key',
      /^header X-Key is for http:\/\/three, but no source has this origin; expected one of http:\/\/one/,
    ],
    ['https://one X-Key', /is for https:\/\/one, but no source has this origin/],
    ['http://one/path X-Key', /is not an origin; expected https:\/\/host/],
    ['http://user:secret@one X-Key', /is not an origin/],
  ];
  for (const [key, message] of cases) {
    const act = () => parseSourceArgument(['http://one/', 'http://two/'], { headers: { [key]: 'secret' } });
    t.throws(act, { code: 'option-invalid', message }, key);
  }
  t.end();
});

test('tokens are requested once, and only from safe addresses', (t) => {
  const url = 'https://host/';
  const tokens = { tokenUrl: 'https://issuer/', clientId: 'me', clientSecret: 'top-secret' };
  const cases: [options: Omit<CredentialOptions, 'url'>, message: RegExp][] = [
    ...['issuer', '127.0.0.1.evil.example', '127.evil', 'localhost.evil', '128.0.0.1', '[::2]'].map(
      (host): [Omit<CredentialOptions, 'url'>, RegExp] => [
        { clientCredentials: { ...tokens, tokenUrl: `http://${host}/` } },
        /its scheme is http; expected https/,
      ],
    ),
    [
      { clientCredentials: { ...tokens, tokenUrl: 'https://a:b@issuer/' } },
      /must not hold a user or password/,
    ],
    [
      { clientCredentials: { ...tokens, tokenUrl: 'issuer' } },
      /^the token address of the source is not valid/,
    ],
    [{ clientCredentials: tokens, headers: { authorization: 'x' } }, /expected one of the two/],
    [{ headers: { 'no name': { file: 'x' } } }, /its name is not valid/],
    [{ headers: { Host: { file: 'x' } } }, /must not be set/],
  ];
  for (const [options, message] of cases) {
    t.throws(() => new Credentials({ ...options, url }), { code: 'option-invalid', message }, message.source);
  }
  for (const host of ['localhost', '127.0.0.1:80', '127.1', '127.9.9.9', '[::1]']) {
    const clientCredentials = { ...tokens, tokenUrl: `http://${host}/` };
    t.doesNotThrow(() => new Credentials({ clientCredentials, url }), host);
  }
  t.end();
});

test('a token file is read before the first request, and again after a 401', async (t) => {
  const path = join(t.testdir({}), 'token');
  const write = (content: string): void => {
    writeFileSync(`${path}.new`, content);
    renameSync(`${path}.new`, path);
  };
  let good = 'one';
  const upstream = await startUpstream(t, (request, response) => {
    const isGood = request.headers.authorization === `Bearer ${good}`;
    if (isGood) response.end('{"n":1}\n');
    else response.writeHead(401).end();
  });
  const headers = { Authorization: { file: path, scheme: 'Bearer' } };
  const source = httpSource({ kind: 'http', url: upstream.origin, headers });
  t.match(await failureOf(collect(source)), {
    message: /the file .*token of header Authorization.*no such file/,
  });
  t.equal(upstream.requests.length, 0, 'nothing is sent without it');
  write(' one\n');
  t.equal((await collect(source)).records.length, 1);
  good = 'two';
  write('two');
  t.equal((await collect(source)).records.length, 1, 'renewed');
  t.equal(upstream.requests.length, 3);
  good = 'three';
  for (const bad of ['', 'a\nb', 'x'.repeat(20_000)]) {
    write(bad);
    t.match(await failureOf(collect(source)), { message: /the answer is 401/ });
    t.equal(upstream.requests.at(-1)?.headers.authorization, 'Bearer two', 'the last good one');
  }
  const failure = await failureOf(collect(source));
  t.notMatch(shown(failure), 'two');
});

test('after a redirect to another origin no token is sent or fetched', async (t) => {
  const issuer = await startUpstream(t, (_, response) =>
    response.end(JSON.stringify({ access_token: 'abc', token_type: 'Bearer', expires_in: 60 })),
  );
  const other = await startUpstream(t, (_, response) => response.writeHead(401).end());
  const upstream = await startUpstream(t, (_, response) =>
    response.writeHead(302, { location: other.origin }).end(),
  );
  const clientCredentials = { tokenUrl: `${issuer.origin}/`, clientId: 'me', clientSecret: 'top-secret' };
  const source = httpSource({ kind: 'http', url: upstream.origin, clientCredentials });
  t.match(await failureOf(collect(source)), { message: /configured headers were not sent/ });
  t.equal(upstream.requests[0]?.headers.authorization, 'Bearer abc');
  t.equal(other.requests[0]?.headers.authorization, undefined);
  t.equal(issuer.requests.length, 1);
});
