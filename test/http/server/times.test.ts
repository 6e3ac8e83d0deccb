/** node:http gets every limit, and each is enforced. Inside, because its times are set. */
import { connect } from 'node:net';
import { type Test, test } from 'tap';
import {
  CONNECTIONS_CHECKING_INTERVAL_MS,
  HEADERS_BYTES_MAX,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
} from '../../../src/base/limits.js';
import { createBareServer, HttpServer } from '../../../src/http/server/server.js';
import { startNode } from '../../cli/lectern.js';
import { until } from '../../waiting/until.js';

const TIMES = { headersMs: 200, requestMs: 400, keepAliveMs: 300, lookMs: 50 };
/**
 * A time after all of these limits, and long before node's own: 5 s for the next request, 30 s between two
 * checks.
 */
const LATE_MS = 2500;

test('the server has the limits of limits.ts and reads requests strictly', (t) => {
  const server = createBareServer(() => {});
  t.match(server, {
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: CONNECTIONS_CHECKING_INTERVAL_MS,
    maxHeaderSize: HEADERS_BYTES_MAX,
    insecureHTTPParser: false,
    requireHostHeader: false,
    noDelay: true,
  });
  t.end();
});

async function listen(t: Test): Promise<number> {
  const server = new HttpServer((_req, res) => void res.end('answered'), { times: TIMES });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close({ deadlineMs: 0 }));
  return port;
}

interface Closed {
  readonly text: string;
  readonly ms: number;
}

/** Tries again if other work of the machine has delayed it. */
async function closing(t: Test, bytes: string): Promise<Closed> {
  const port = await listen(t);
  return until(
    () => closingOnce(port, bytes),
    ({ ms }) => ms < LATE_MS,
  );
}

/** The bytes received until the connection is closed, and the time until then. */
function closingOnce(port: number, bytes: string): Promise<Closed> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const beganMs = performance.now();
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', reject);
    socket.on('close', () => resolve({ text, ms: performance.now() - beganMs }));
    socket.write(bytes, 'latin1');
  });
}

test('header fields that do not arrive in time get 408', async (t) => {
  const { text, ms } = await closing(t, 'GET / HTTP/1.1\r\nHost: a\r\n');
  t.match(text, /^HTTP\/1\.1 408 Request Timeout\r\n[\s\S]*"code":"request-timeout"/);
  t.ok(ms >= TIMES.headersMs - 10, `${ms} ms`);
});

test('a request is answered before its body arrives; if the body is late, a 408 follows', async (t) => {
  const { text, ms } = await closing(t, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n');
  t.match(text, /^HTTP\/1\.1 200 OK\r\n[\s\S]*answeredHTTP\/1\.1 408 Request Timeout\r\n/);
  t.ok(ms >= TIMES.requestMs - 10, `${ms} ms`);
});

test('an idle connection is closed without an answer', async (t) => {
  const { text, ms } = await closing(t, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  t.match(text, /^HTTP\/1\.1 200 OK\r\n[\s\S]*answered$/);
  t.ok(ms >= TIMES.keepAliveMs - 10, `${ms} ms`);
});

test('requests are read strictly even with --insecure-http-parser', async (t) => {
  const program = `
    import('./src/http/server/server.ts').then(async ({ HttpServer }) => {
      const server = new HttpServer((req, res) => res.end('understood'));
      console.log('port', (await server.listen({ host: '127.0.0.1', port: 0 })).port, 'ready');
    });`;
  const { child, printed } = startNode(['--insecure-http-parser', '-e', program]);
  t.teardown(() => child.kill('SIGKILL'));
  const port = Number(/port (\d+) ready/.exec(await printed('ready'))?.[1]);
  const { text } = await closingOnce(
    port,
    'GET / HTTP/1.1\r\nHost: a\r\na: \x01\r\nConnection: close\r\n\r\n',
  );
  t.match(text, /^HTTP\/1\.1 400 Bad Request\r\n/);
});
