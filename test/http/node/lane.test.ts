/**
 * Requests answered without Node's response, and the connection afterwards. Inside, because no client sees
 * which way its answer took.
 */
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EventEmitter, once } from 'node:events';
import { createServer, Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Test, test } from 'tap';
import { HEADER_FIELDS_MAX } from '../../../src/base/limits.js';
import { OriginFields } from '../../../src/http/answer/answer-fields.js';
import type { LaneHandler } from '../../../src/http/handler.js';
import type { Lane } from '../../../src/http/node/lane.js';
import { refuseDirectly } from '../../../src/http/server/refusal.js';
import { HttpServer, type HttpServerOptions } from '../../../src/http/server/server.js';
import { timeForAFault } from '../../waiting/until.js';
import { serve, setUp, token } from '../harness.js';

/** Records how a request was answered; its path decides: at once, later, or through a response. */
function sayingTheWay(): LaneHandler {
  return Object.assign(
    (_req: unknown, res: { end(text: string): void }) => {
      res.end('node');
    },
    {
      lane(request: Lane) {
        const { url } = request.req;
        if (url === '/made') request.makeResponse(request.req).end('made');
        else if (url === '/late') {
          const res = request.makeResponse(request.req);
          // The answer comes after the requests behind it.
          setTimeout(() => res.end('late'), 20);
        } else
          request.answer(
            `HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n${request.req.method === 'HEAD' ? '' : 'fast'}`,
          );
      },
    },
  );
}

async function listen(t: Test, options: HttpServerOptions = {}, handler = sayingTheWay()): Promise<number> {
  const server = new HttpServer(handler, { overloadMs: 0, ...options });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close({ deadlineMs: 0 }));
  return port;
}

const get = (path = '/', more = ''): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;

/** The bodies of the answers; each text is sent after all answers to the earlier ones. */
async function ask(port: number, ...texts: string[]): Promise<string[]> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  let wake: () => void = () => {};
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
    wake();
  });
  let requests = 0;
  const bodies = (): string[] => received.match(/(?<=\r\n\r\n)(node|fast|made|late)/g) ?? [];
  for (const text of texts) {
    requests += text.match(/\r\n\r\n/g)?.length ?? 0;
    socket.write(text, 'latin1');
    // Bytes sent in pieces arrive in pieces.
    await new Promise((resolve) => setTimeout(resolve, 20));
    while (bodies().length < requests) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  socket.destroy();
  return bodies();
}

/** A connection that stays open. */
function open(t: Test, port: number): { ask(text: string): Promise<string> } {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  return {
    ask(text) {
      socket.write(text, 'latin1');
      return new Promise((resolve) => {
        socket.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1').slice(-4)));
      });
    },
  };
}

test('requests on the lane are answered directly, and other requests by Node', async (t) => {
  const port = await listen(t);
  const cases: [name: string, ways: string[], ...texts: string[]][] = [
    ['one request', ['fast'], get()],
    ['one after the other', ['fast', 'fast', 'fast'], get(), get(), get()],
    ['at once', ['fast', 'fast', 'fast'], get() + get() + get()],
    ['in pieces', ['fast'], get().slice(0, 20), get().slice(20)],
    ['behind one that needs a response', ['made', 'fast'], get('/made'), get()],
    ['behind one that takes its time', ['late', 'node', 'fast'], get('/late') + get(), get()],
    ['one that is the last', ['node'], get('/', 'Connection: close\r\n')],
    ['behind others, the last', ['fast', 'node'], get(), get('/', 'Connection: close\r\n')],
    ['HTTP/1.0', ['node'], 'GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n'],
    ['another protocol', ['node'], get('/', 'Connection: upgrade\r\nUpgrade: websocket\r\n')],
  ];
  for (const [name, ways, ...texts] of cases) t.strictSame(await ask(port, ...texts), ways, name);
});

test('a closing or traced server makes a response for each request', async (t) => {
  const onMessage = (): void => {};
  for (const name of ['http.server.request.start', 'http.server.response.finish']) {
    const port = await listen(t);
    t.strictSame(await ask(port, get()), ['fast']);
    const known = open(t, port);
    t.equal(await known.ask(get()), 'fast');
    subscribe(name, onMessage);
    t.ok(channel(name).hasSubscribers);
    t.strictSame(await ask(port, get(), get()), ['node', 'node'], name);
    t.equal(await known.ask(get()), 'node', 'on a connection from before, too');
    unsubscribe(name, onMessage);
    t.equal(await known.ask(get()), 'fast');
    t.strictSame(await ask(port, get()), ['fast']);
  }
  const port = await listen(t);
  const prototype = Server.prototype as { emit?: EventEmitter['emit'] };
  // As tracing tools do.
  prototype.emit = function emit(this: EventEmitter, ...args: Parameters<EventEmitter['emit']>) {
    return EventEmitter.prototype.emit.apply(this, args);
  };
  t.strictSame(await ask(port, get()), ['node'], 'emit');
  delete prototype.emit;
  t.strictSame(await ask(port, get()), ['fast']);

  const server = new HttpServer(sayingTheWay(), { overloadMs: 0 });
  const drained = await server.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close({ deadlineMs: 0 }));
  t.strictSame(await ask(drained.port, get()), ['fast']);
  server.drain();
  t.strictSame(await ask(drained.port, get()), ['node']);
});

test('a connection with requests on the lane is closed when idle, but never while it waits for an answer', async (t) => {
  const times = { headersMs: 2000, requestMs: 2000, keepAliveMs: 100, lookMs: 50 };
  let end: () => void = () => {};
  const handler = Object.assign(sayingTheWay(), {
    lane(request: Lane) {
      if (request.req.url === '/') request.answer('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfast');
      else {
        const res = request.makeResponse(request.req);
        end = () => res.end('made');
      }
    },
  });
  const port = await listen(t, { times }, handler);
  // A second is added to the announced time.
  const idleMs = times.keepAliveMs + 1000;
  const opened = (): { closed: Promise<number>; send(text: string): void } => {
    const socket = connect(port, '127.0.0.1').resume();
    t.teardown(() => socket.destroy());
    let sentMs = 0;
    return {
      closed: new Promise((resolve, reject) => {
        socket.on('error', reject);
        socket.on('close', () => resolve(performance.now() - sentMs));
      }),
      send(text) {
        sentMs = performance.now();
        socket.write(text);
      },
    };
  };
  const idle = opened();
  idle.send(get());
  t.ok((await idle.closed) >= idleMs - 20, 'one request');

  const waiting = opened();
  waiting.send(get());
  waiting.send(get('/wait'));
  const state = await Promise.race([
    waiting.closed,
    // Time in which it could wrongly be closed.
    new Promise((resolve) => setTimeout(() => resolve('open'), idleMs + 400)),
  ]);
  t.equal(state, 'open', 'while its answer is made');
  end();
  t.ok((await waiting.closed) >= 2 * idleMs, 'and behind it');

  const mixed = opened();
  mixed.send(get());
  await timeForAFault(idleMs / 2);
  mixed.send(get());
  t.ok((await mixed.closed) >= idleMs - 20, 'the time begins anew with each request');
});

test('a response is made once, for its own request, and not after an answer', async (t) => {
  const seen: string[] = [];
  const handler = Object.assign(sayingTheWay(), {
    lane(request: Lane) {
      const { req } = request;
      if (req.url === '/fast') {
        request.answer('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfast');
        t.throws(() => request.makeResponse(req), /no longer in progress/);
        seen.push('fast');
        return;
      }
      const res = request.makeResponse(req);
      t.throws(() => request.makeResponse(req), /no longer in progress/, 'once');
      t.throws(() => request.makeResponse({ ...req } as typeof req), /no longer in progress/);
      res.end('made');
      setImmediate(() => {
        t.throws(() => request.req, /no request/);
        seen.push('made');
      });
    },
  });
  const port = await listen(t, {}, handler);
  t.strictSame(await ask(port, get('/fast'), get('/'), get('/fast')), ['fast', 'made', 'fast']);
  t.strictSame(seen, ['fast', 'made', 'fast']);
});

test('a client that closes its sending side after a request gets an answer; garbage after a request is refused', async (t) => {
  const { handler } = setUp();
  const { port, raw } = await serve(t, handler);
  const authorised = get('/api/v1/schedule?type=Lab', `Authorization: Bearer ${token()}\r\n`);
  for (let n = 0; n < 4; n++) {
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      let received = '';
      socket.on('data', (chunk: Buffer) => {
        received += chunk.toString('utf8');
      });
      socket.on('error', reject);
      socket.on('close', () => resolve(received));
      // The token is known only after the first request.
      socket.write(authorised);
      setTimeout(() => socket.end(authorised), 30);
    });
    t.equal(text.match(/HTTP\/1\.1 200 OK\r\n/g)?.length, 2);
    const garbled = await raw(`${authorised}${authorised}no request at all\r\n\r\n`);
    t.match(
      garbled,
      /HTTP\/1\.1 200 OK\r\n[\s\S]*HTTP\/1\.1 200 OK\r\n[\s\S]*HTTP\/1\.1 400 Bad Request\r\n/,
    );
  }
});

test('an unfinished answer is completed before garbage is refused', async (t) => {
  const body = 'x'.repeat(16 * 1024 * 1024);
  const answer = Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  const cases: [name: string, behind: string, status: string][] = [
    ['garbage', 'no request at all\r\n\r\n', '400 Bad Request'],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', '405 Method Not Allowed'],
  ];
  for (const [name, behind, status] of cases) {
    let waiting = 0;
    const handler = Object.assign(sayingTheWay(), {
      lane(request: Lane) {
        request.answer(answer);
        waiting = request.req.socket.writableLength;
      },
    });
    const port = await listen(t, {}, handler);
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1').pause();
      const chunks: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.on('error', reject);
      socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
      socket.write(get() + behind);
      // The client reads late.
      setTimeout(() => socket.resume(), 100);
    });
    t.ok(waiting > 0, 'some of it had to wait');
    t.equal(text.slice(answer.length, answer.length + 9 + status.length), `HTTP/1.1 ${status}`, name);
  }
});

/** Whether a request refused for overload is answered directly. */
function isRefusedAtOnce(method: string, fields: readonly string[]): boolean {
  let isSent = false;
  const request = {
    req: { method, rawHeaders: fields },
    answer() {
      isSent = true;
      return true;
    },
  };
  return refuseDirectly(request as unknown as Lane, new OriginFields([])) && isSent;
}

test('requests are refused directly only if they can have no body', (t) => {
  const browser = [
    'Host',
    'a',
    'Sec-Fetch-Mode',
    'cors',
    'X-Forwarded-Proto',
    'https',
    'If-Modified-Since',
    '0',
  ];
  const cases: [name: string, method: string, fields: readonly string[], atOnce: boolean][] = [
    ['a browser behind a proxy', 'GET', browser, true],
    ['HEAD', 'HEAD', ['Host', 'a'], true],
    ['POST', 'POST', ['Host', 'a'], false],
    ['a length', 'GET', ['Host', 'a', 'content-LENGTH', '5'], false],
    ['a coding', 'GET', ['Host', 'a', 'Transfer-Encoding', 'chunked'], false],
    ['another protocol', 'GET', ['Host', 'a', 'Upgrade', 'h2c'], true],
    // Node stops collecting fields at some number, but still obeys these fields and all later ones.
    ['very many fields', 'GET', new Array(2 * (HEADER_FIELDS_MAX + 1)).fill('a'), false],
  ];
  for (const [name, method, fields, atOnce] of cases) t.equal(isRefusedAtOnce(method, fields), atOnce, name);
  t.end();
});

test('a fault after an answer ends the connection, and no second answer is sent', async (t) => {
  const { handler, logged } = setUp({ accessLog: 0 });
  const failing = Object.assign((...args: Parameters<typeof handler>) => handler(...args), {
    lane(request: Lane) {
      const { socket } = request.req;
      const { write } = socket;
      // The answer is sent, and then an error occurs.
      socket.write = (...args: unknown[]) => {
        Reflect.apply(write, socket, args);
        throw new Error('behind the answer');
      };
      try {
        handler.lane(request);
      } finally {
        socket.write = write;
      }
    },
  });
  const { raw, send } = await serve(t, failing);
  const Authorization = `Bearer ${token()}`;
  t.equal((await send('/api/v1/schedule', { headers: { Authorization } })).status, 200, 'at first sight');
  const text = await raw(get('/api/v1/schedule?type=Lab', `Authorization: ${Authorization}\r\n`));
  t.equal(text.match(/HTTP\/1\.1 /g)?.length ?? 0, 1);
  t.match(logged, [{ level: 'error', message: 'a request failed' }]);
});

test('a parser that a connection of Lectern has used serves other servers of the process', async (t) => {
  const port = await listen(t);
  const other = createServer((req, res) => res.end(`node ${req.method} ${req.url} ${req.headers.host}`));
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.teardown(() => other.close());
  const { port: otherPort } = other.address() as AddressInfo;
  for (const last of ['', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n']) {
    const before = connect(port, '127.0.0.1');
    t.teardown(() => before.destroy());
    before.write(get());
    await once(before, 'data');
    // After CONNECT, Node releases the parser before the connection is closed.
    if (last === '') before.destroy();
    else before.write(last);
    await (last === '' ? once(before, 'close') : once(before, 'data'));
    const socket = connect(otherPort, '127.0.0.1');
    socket.write(get('/other', 'Connection: close\r\n'));
    t.match(await text(socket), /node GET \/other a$/, last);
  }
  t.same(await ask(port, get(), get('/made')), ['fast', 'made']);
});
