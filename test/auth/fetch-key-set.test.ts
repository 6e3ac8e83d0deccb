/** One GET of a key set. Inside, because the service repeats a failed one only after its cooldown. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { type Test, test } from 'tap';
import { fetchKeySet } from '../../src/auth/remote-keys.js';
import { KEY_SET_BYTES_MAX, UPSTREAM_REDIRECTS_MAX } from '../../src/base/limits.js';

async function serve(t: Test, listener: RequestListener): Promise<URL> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`);
}

test('a key set is fetched, directly or after a redirect', async (t) => {
  const url = await serve(t, (req, res) => {
    if (req.url === '/keys') res.writeHead(302, { Location: '/moved' }).end();
    else res.writeHead(200, { 'Content-Type': 'text/plain' }).end('{"keys":[1]}');
  });
  t.same(await fetchKeySet(url), { keys: [1] });
});

test('an answer that is not a key set, or never ends, is given up with a reason that quotes nothing', async (t) => {
  const cases: [name: string, listener: RequestListener, message: RegExp, waitMsMax?: number][] = [
    ['an error', (_, res) => res.writeHead(500).end('hidden'), /answer is 500 .*expected 200/],
    ['empty, 204', (_, res) => res.writeHead(204).end(), /answer is 204/],
    ['no JSON', (_, res) => res.end('hidden'), /is not JSON$/],
    ['no UTF-8', (_, res) => res.end(Buffer.from([0x22, 0xff, 0x22])), /is not JSON$/],
    [
      'too large, as it says',
      (_, res) => res.end(Buffer.alloc(KEY_SET_BYTES_MAX + 1)),
      /more than 1048576 bytes/,
    ],
    [
      'too large, without an end',
      (_, res) => {
        const chunk = Buffer.alloc(65_536, ' ');
        const more = (): void => void (res.destroyed || res.write(chunk, () => setImmediate(more)));
        more();
      },
      /more than 1048576 bytes/,
    ],
    [
      'compressed',
      (_, res) => res.setHeader('Content-Encoding', 'gzip').end(gzipSync('{"keys":[]}')),
      /compressed/,
    ],
    [
      'cut short',
      (_, res) => res.writeHead(200, { 'Content-Length': 99 }).write('{', () => res.destroy()),
      /closed/,
    ],
    ['no answer', () => {}, /within 0\.3 s/, 300],
    [
      'a drop now and then',
      (_, res) => void setInterval(() => res.write(' '), 50).unref(),
      /within 0\.3 s/,
      300,
    ],
    ['a loop', (_, res) => res.writeHead(301, { Location: '/keys' }).end(), /form a loop/],
    [
      'redirects without end',
      (req, res) => res.writeHead(307, { Location: `${req.url}x` }).end(),
      new RegExp(`more than ${UPSTREAM_REDIRECTS_MAX} times`),
    ],
    ['a file', (_, res) => res.writeHead(302, { Location: 'file:///etc/passwd' }).end(), /scheme file/],
    ['nowhere', (_, res) => res.writeHead(302).end(), /does not say where/],
  ];
  await Promise.all(
    // The time is short only where the limit is tested, because a busy machine is slow.
    cases.map(async ([name, listener, message, waitMsMax = 30_000]) => {
      const url = await serve(t, listener);
      await t.rejects(fetchKeySet(url, undefined, waitMsMax), { message }, name);
      await t.rejects(fetchKeySet(url, undefined, waitMsMax), { message: /^(?!.*hidden)/ }, name);
    }),
  );
});

test('an answer that is too large is given up early', async (t) => {
  const script = fileURLToPath(new URL('../../test/auth/flooding-issuer.mjs', import.meta.url));
  const floods: [name: string, message: RegExp][] = [
    ['chunks', /chunks of a few bytes/],
    ['interim answers', /more than 8 interim answers/],
    ['header field', /header fields of the answer are too large/],
    ['header fields', /header fields of the answer are too large/],
    ['chunk extension', /not valid HTTP|closed/],
    ['trailers', /not valid HTTP|closed|too large/],
  ];
  for (const [name, message] of floods) {
    const issuer = fork(script, [name], { execArgv: [], env: {} });
    t.teardown(() => issuer.kill());
    const [port] = (await once(issuer, 'message')) as [number];
    const closed = once(issuer, 'message') as Promise<[{ sentBytes: number }]>;
    await t.rejects(fetchKeySet(new URL(`http://127.0.0.1:${port}/`), undefined, 30_000), { message }, name);
    const [{ sentBytes }] = await closed;
    t.comment(`${name}: ${sentBytes} bytes`);
    // Most of them wait in buffers of the system. Without the early end, they would be gigabytes.
    t.ok(sentBytes < 64 * 2 ** 20, `${name}: ${sentBytes} bytes`);
    issuer.kill();
  }
});

test('an issuer that does not answer is given up, and a fetch can be aborted', async (t) => {
  const url = await serve(t, () => {});
  await t.rejects(fetchKeySet(new URL('http://127.0.0.1:9/keys')), { message: /refused/ });
  const abort = new AbortController();
  // Time for the request to begin.
  setTimeout(() => abort.abort(new Error('enough')), 20);
  await t.rejects(fetchKeySet(url, abort.signal), { message: 'enough' });
});
