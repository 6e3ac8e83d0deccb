/** Limits, broken requests, listening and closing. Inside, because its limits are set. */
import { request, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'tap';
import { PLAIN_FIELDS } from '../../../src/http/answer/answer-fields.js';
import { answerClientError, HttpServer } from '../../../src/http/server/server.js';
import { until } from '../../waiting/until.js';
import { bearer, serve, setUp, token } from '../harness.js';

function parse(reply: string): { status: number; head: string; body: unknown } {
  const split = reply.indexOf('\r\n\r\n');
  const head = reply.slice(0, split);
  return { status: Number(head.slice(9, 12)), head, body: JSON.parse(reply.slice(split + 4)) };
}

test('unreadable messages get a problem document, and the connection is closed', async (t) => {
  const { raw } = await serve(t, setUp().handler);
  const get = 'GET /api/v1/schedule HTTP/1.1\r\nHost: a\r\n';
  const cases: [name: string, bytes: string, status: number, code: string][] = [
    ['garbage', 'hello\r\n\r\n', 400, 'invalid-request'],
    ['bytes that are not ASCII', 'GET /\xc3\x9c HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'invalid-request'],
    ['two lengths', `${get}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 400, 'invalid-request'],
    ['a folded line', `${get}A: b\r\n c\r\n\r\n`, 400, 'invalid-request'],
    ['NUL in a header', `${get}A: \0\r\n\r\n`, 400, 'invalid-request'],
    ['headers of 17 KiB', `${get}A: ${'x'.repeat(17 * 1024)}\r\n\r\n`, 431, 'headers-too-large'],
    [
      'a target of 17 KiB',
      `GET /${'x'.repeat(17 * 1024)} HTTP/1.1\r\nHost: a\r\n\r\n`,
      414,
      'request-target-too-long',
    ],
    ['a TLS greeting', '\x16\x03\x01\x02\x00\x01', 400, 'invalid-request'],
  ];
  for (const [name, bytes, status, code] of cases) {
    const reply = parse(await raw(bytes));
    t.equal(reply.status, status, name);
    t.match(reply.head, /\r\nContent-Type: application\/problem\+json\r\n/, name);
    t.match(reply.head, /\r\nConnection: close$/, name);
    t.match(reply.body, { code, status }, name);
  }
});

test('an unknown method gets 501, a malformed request line 400', async (t) => {
  const { raw } = await serve(t, setUp().handler);
  const rest = 'HTTP/1.1\r\nHost: a\r\n\r\n';
  const cases: [bytes: string, status: number, code: string, detail: RegExp][] = [
    [`FOO /x ${rest}`, 501, 'method-not-implemented', /the methods are GET, HEAD, OPTIONS/],
    [`get /api/v1/schedule ${rest}`, 501, 'method-not-implemented', /in capital letters/],
    [`GETX /api/v1/schedule?a=b ${rest}`, 501, 'method-not-implemented', /not known/],
    [`\r\nX-Y / ${rest}`, 501, 'method-not-implemented', /not known/],
    [`F\u00d6O /x ${rest}`, 400, 'invalid-request', /not an HTTP\/1.1 request/],
    ['FOO /x\r\n\r\n', 400, 'invalid-request', /not an HTTP\/1.1 request/],
    ['FOO /x HTTP/3.0\r\n\r\n', 400, 'invalid-request', /not an HTTP\/1.1 request/],
    [`FOO /x y ${rest}`, 400, 'invalid-request', /not an HTTP\/1.1 request/],
    [`FOO ${rest}`, 400, 'invalid-request', /not an HTTP\/1.1 request/],
    ['GET / HTTP/1.1\nHost: a\n\n', 400, 'invalid-request', /does not end with CR LF/],
    ['GET / HTTP/1.1\rHost: a\r\n\r\n', 400, 'invalid-request', /does not end with CR LF/],
    ['GET / HTTP/1.1\r\nHost: a\n\n', 400, 'invalid-request', /does not end with CR LF/],
  ];
  for (const [bytes, status, code, detail] of cases) {
    const reply = parse(await raw(bytes));
    t.match(reply.body, { status, code, detail }, JSON.stringify(bytes));
    t.equal(reply.status, status);
    t.match(reply.head, /\r\nContent-Type: application\/problem\+json\r\n/);
    t.match(reply.head, /\r\nConnection: close$/);
  }
  const second = await raw(`GET /nowhere ${rest}FOO /x ${rest}`);
  t.match(second, /^HTTP\/1.1 404 /, 'a good request before it is answered');
  t.match(
    (await raw(`PROPFIND /api/v1/schedule ${rest.replace('Host: a', 'Host: a\r\nConnection: close')}`)).slice(
      9,
    ),
    /^405 /,
  );
});

test('a request line without a version is refused', async (t) => {
  const { raw } = await serve(t, setUp().handler);
  t.match(await raw('GET /\r\n\r\n'), /^HTTP\/1.1 400 /);
});

test('a request with a body is refused, and its connection is closed', async (t) => {
  const { raw } = await serve(t, setUp().handler);
  const head = `GET /api/v1/schedule?limit=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token()}\r\n`;
  for (const body of [
    'Content-Length: 5\r\n\r\nhello',
    'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  ]) {
    const reply = await raw(head + body);
    t.match(reply, /^HTTP\/1.1 400 [\s\S]*Connection: close\r\n/, body);
    t.equal(reply.split('HTTP/1.1 ').length, 2, 'one answer');
  }
  const pipelined = await raw(`${head}Content-Length: 0\r\n\r\n${head}Connection: close\r\n\r\n`);
  t.equal(pipelined.split('HTTP/1.1 200').length, 3, 'no body, no closing');
});

test('a request that does not arrive in time gets 408', async (t) => {
  const received: Buffer[] = [];
  const ended = new Promise<void>((resolve) => {
    const fake = {
      writable: true,
      writableLength: 0,
      end: (text: string) => {
        received.push(Buffer.from(text));
        resolve();
      },
      destroy() {},
    };
    answerClientError(
      Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
      fake as never,
      PLAIN_FIELDS,
      null,
    );
  });
  await ended;
  t.match(parse(Buffer.concat(received).toString()), { status: 408, body: { code: 'request-timeout' } });
});

test('a connection that is lost or has an unfinished answer gets no error message', async (t) => {
  for (const [state, code] of [
    [{ writable: true, writableLength: 10 }, 'HPE_INVALID_METHOD'],
    [{ writable: false, writableLength: 0 }, 'HPE_INVALID_METHOD'],
    [{ writable: true, writableLength: 0 }, 'ECONNRESET'],
  ] as const) {
    const calls: string[] = [];
    const fake = { ...state, end: () => calls.push('end'), destroy: () => calls.push('destroy') };
    answerClientError(Object.assign(new Error(), { code }), fake as never, PLAIN_FIELDS, null);
    t.same(calls, ['destroy']);
  }
});

test('listen() returns its address, or fails with one line', async (t) => {
  const { handler } = setUp();
  const first = new HttpServer(handler);
  const address = await first.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => first.close());
  t.match(address, { host: '127.0.0.1', origin: `http://127.0.0.1:${address.port}` });
  const cases: [host: string, port: number, message: RegExp][] = [
    [
      '127.0.0.1',
      address.port,
      /^cannot listen on 127\.0\.0\.1:\d+: the port is taken \(EADDRINUSE\); choose another port with --port \(option port\)$/,
    ],
    ['192.0.2.1', 0, /no such address \(EADDRNOTAVAIL\)$/],
    ['127.0.0.1', 65_536, /a port is a number from 0 to 65535/],
  ];
  for (const [host, port, message] of cases) {
    const server = new HttpServer(handler);
    await t.rejects(server.listen({ host, port }), { code: 'address-unavailable', message });
    await server.close();
  }
});

test('close lets running answers finish with Connection: close, and ends idle connections', async (t) => {
  let pending: ServerResponse | undefined;
  const server = new HttpServer((req, res) => {
    if (req.url === '/slow') pending = res;
    else res.end('x');
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const idle = connect(port, '127.0.0.1');
  const idleClosed = new Promise((resolve) => idle.once('close', resolve));
  idle.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await new Promise((resolve) => idle.once('data', resolve));
  const neverUsed = connect(port, '127.0.0.1');
  const neverUsedClosed = new Promise((resolve) => neverUsed.once('close', resolve));
  neverUsed.resume();
  await new Promise((resolve) => neverUsed.once('connect', resolve));

  const slow = new Promise<{ connection: string | undefined; body: string }>((resolve, reject) => {
    request(
      { host: '127.0.0.1', port, path: '/slow', agent: false, headers: { Connection: 'keep-alive' } },
      (res) => {
        let body = '';
        res.on('data', (chunk) => {
          body += chunk;
        });
        res.on('end', () => resolve({ connection: res.headers.connection, body }));
      },
    )
      .on('error', reject)
      .end();
  });
  const answer = await until(() => pending);
  let closed = false;
  const closing = server.close({ deadlineMs: 2000 }).then(() => {
    closed = true;
  });
  t.equal(server.close() instanceof Promise, true, 'can be called again');
  await idleClosed;
  await neverUsedClosed;
  t.equal(closed, false, 'an answer is still in flight');
  answer?.end('done');
  t.same(await slow, { connection: 'close', body: 'done' });
  await closing;
  t.equal(closed, true);
  await t.rejects(
    new Promise((resolve, reject) =>
      connect(port, '127.0.0.1').once('connect', resolve).once('error', reject),
    ),
    { code: 'ECONNREFUSED' },
  );
});

test('unfinished answers are cut at the deadline', async (t) => {
  let waiting = false;
  const server = new HttpServer(() => {
    waiting = true;
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const stuck = connect(port, '127.0.0.1');
  stuck.on('error', () => undefined);
  const cut = new Promise((resolve) => stuck.once('close', resolve));
  stuck.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await until(() => waiting);
  await server.close({ deadlineMs: 100 });
  await cut;
  t.ok(await until(() => server.counts.open === 0));
});

test('a server that never listened closes at once', async (t) => {
  const server = new HttpServer(() => undefined);
  // If it waited for its deadline, the test would not end.
  await server.close({ deadlineMs: 86_400_000 });
  t.match(server.counts, { open: 0 });
});

test('pipelined requests are answered in order', async (t) => {
  const { raw } = await serve(t, setUp().handler);
  const { Authorization } = bearer();
  const get = (path: string, more = '') =>
    `GET /api/v1/schedule/${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${Authorization}\r\n${more}\r\n`;
  const reply = await raw(get('types') + get('nowhere') + get('all?limit=0', 'Connection: close\r\n'));
  t.same(
    [...reply.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]),
    ['200', '404', '400'],
  );
});

test('a connection with too many waiting answers is closed; a few are allowed', async (t) => {
  const large = Buffer.alloc(4 * 1024 * 1024);
  let handled = 0;
  const { raw, port } = await serve(t, (req, res) => {
    handled++;
    res.end(req.url === '/large' ? large : 'x');
  });
  const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
  const small = await raw(get('/').repeat(100) + get('/', 'Connection: close\r\n'));
  t.equal(small.split('HTTP/1.1 200').length, 102, 'a hundred small ones');

  const cut = (bytes: string) =>
    new Promise<void>((resolve) => {
      // Does not read, so that its answers stay in the way.
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.once('close', () => resolve());
      socket.write(bytes);
      socket.pause();
      // The client reads late.
      sleep(300).then(() => socket.resume());
    });
  handled = 0;
  await cut(get('/large').repeat(300));
  t.ok(handled <= 6, `large: ${handled} handled`);
  handled = 0;
  await cut(get('/').repeat(1000));
  t.ok(handled < 1000, `small: ${handled} handled`);
});
