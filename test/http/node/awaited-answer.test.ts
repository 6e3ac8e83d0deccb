/**
 * Answers in a later turn than their request: direct if nothing happens in between, otherwise by Node's
 * response. Inside, because limits of connections are milliseconds.
 */
import { EventEmitter } from 'node:events';
import { Server, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type Test, test } from 'tap';
import type { LaneHandler } from '../../../src/http/handler.js';
import type { Awaited, Lane } from '../../../src/http/node/lane.js';
import { CONNECTION_BOUNDS } from '../../../src/http/server/connections.js';
import { HttpServer, type HttpServerOptions } from '../../../src/http/server/server.js';
import { timeForAFault, until } from '../../waiting/until.js';
import { serve as serveHandler, setUp, token } from '../harness.js';

const FAST = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfast';
const get = (path = '/', more = ''): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;

/** An answer that waits until a test sends it. */
interface Waiting extends Awaited {
  readonly lane: Lane;
  res: ServerResponse | null;
  send(): void;
}

interface Served {
  readonly server: HttpServer;
  /** The awaited requests, oldest first. */
  readonly waiting: Waiting[];
  /** A client with its received bytes; it knows whether its connection is closed. */
  connect(): { readonly socket: Socket; readonly received: () => string; readonly closed: Promise<void> };
}

/** Requests are awaited until a test answers them, except `/now` and `/made`. `/asked` requests a response at once. */
async function serve(t: Test, options: HttpServerOptions = {}): Promise<Served> {
  const waiting: Waiting[] = [];
  const handler: LaneHandler = Object.assign(
    (_req: unknown, res: ServerResponse) => {
      res.end('node');
    },
    {
      lane(request: Lane) {
        const { url } = request.req;
        if (url === '/now') {
          request.answer(FAST);
          return;
        }
        if (url === '/made') {
          request.makeResponse(request.req).end('node');
          return;
        }
        const one: Waiting = {
          req: request.req,
          lane: request,
          res: null,
          takeResponse(res) {
            t.equal(one.res, null, 'told once');
            one.res = res;
          },
          send() {
            if (one.res === null) request.answer(FAST);
            else one.res.end('late');
          },
        };
        waiting.push(one);
        request.awaitAnswer(one);
        if (url === '/asked') request.makeResponse(request.req);
      },
    },
  );
  const server = new HttpServer(handler, { overloadMs: 0, ...options });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close({ deadlineMs: 0 }));
  return {
    server,
    waiting,
    connect() {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      t.teardown(() => socket.destroy());
      let received = '';
      socket.on('data', (chunk: Buffer) => {
        received += chunk.toString('latin1');
      });
      socket.on('error', () => {});
      socket.on('end', () => socket.end());
      const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
      return { socket, received: () => received, closed };
    },
  };
}

/** The bodies of answers, or the status if it is not 200. */
const bodiesOf = (text: string): string[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)[\s\S]*?\r\n\r\n(node|fast|late)?/g)].map(([, status = '', body]) =>
    status === '200' ? String(body) : status,
  );

test('while an answer is awaited, other events do no harm', async (t) => {
  const { waiting, connect: open } = await serve(t);
  const { socket, received } = open();
  for (let n = 1; n <= 3; n++) {
    socket.write(get());
    await until(() => waiting.length === n);
    const { lane, req, send } = waiting.at(-1) as Waiting;
    t.equal(lane.isAwaited, true);
    // For each request separately, because a later fault could appear in another answer.
    t.strictSame(
      waiting.map((each) => lane.hasAnswered(each.req)),
      waiting.map((each) => each.req !== req),
    );
    send();
    t.equal(lane.isAwaited, false);
    t.equal(lane.hasAnswered(req), true);
    await until(() => bodiesOf(received()).length === n);
  }
  socket.write(get('/now'));
  await until(() => bodiesOf(received()).length === 4);
  t.strictSame(bodiesOf(received()), ['fast', 'fast', 'fast', 'fast']);
  t.strictSame(
    waiting.map(({ res }) => res),
    [null, null, null],
  );
});

test('later requests are answered after the awaited one', async (t) => {
  const cases: [name: string, behind: string, bodies: string[]][] = [
    ['a request', get('/now'), ['late', 'node']],
    ['two', get('/now') + get('/now'), ['late', 'node', 'node']],
    ['the last', get('/now', 'Connection: close\r\n'), ['late', 'node']],
    ['garbage', 'no request at all\r\n\r\n', ['late', '400']],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', ['late', '405']],
  ];
  for (const [name, behind, bodies] of cases) {
    for (const atOnce of [true, false]) {
      const { waiting, connect: open } = await serve(t);
      const { socket, received } = open();
      socket.write(get() + (atOnce ? behind : ''));
      await until(() => waiting.length === 1);
      if (!atOnce) socket.write(behind);
      await until(() => waiting[0]?.res !== null);
      t.equal(waiting[0]?.lane.isAwaited, false);
      await timeForAFault(10);
      t.equal(received(), '', name);
      waiting[0]?.send();
      await until(() => bodiesOf(received()).length === bodies.length);
      t.strictSame(bodiesOf(received()), bodies, `${name}, ${atOnce ? 'at once' : 'later'}`);
      // Acts as if the parser had reached its end.
      await until(() => waiting[0]?.res?.req.closed === true);
      t.equal(waiting[0]?.res?.req.complete, true);
    }
  }
});

test('half of the next request changes nothing until the rest arrives', async (t) => {
  const { waiting, connect: open } = await serve(t);
  const { socket, received } = open();
  const next = get('/now');
  socket.write(get() + next.slice(0, 20));
  await until(() => waiting.length === 1);
  waiting[0]?.send();
  await until(() => bodiesOf(received()).length === 1);
  socket.write(next.slice(20));
  await until(() => bodiesOf(received()).length === 2);
  t.strictSame(bodiesOf(received()), ['fast', 'fast']);
});

test('a client that closes its sending side gets its awaited answer', async (t) => {
  const { waiting, connect: open } = await serve(t);
  const { socket, received, closed } = open();
  socket.end(get());
  await until(() => waiting.length === 1 && waiting[0]?.res !== null);
  waiting[0]?.send();
  await closed;
  t.strictSame(bodiesOf(received()), ['late']);
});

test('a client that left gets nothing, and no other request fails', async (t) => {
  const { server, waiting, connect: open } = await serve(t);
  const { socket, received, closed } = open();
  socket.write(get());
  await until(() => waiting.length === 1);
  socket.resetAndDestroy();
  await closed;
  await until(() => server.counts.open === 0);
  t.equal(waiting[0]?.res?.destroyed, true, 'its response is one that was lost');
  waiting[0]?.send();
  t.equal(received(), '');

  // Now the answer comes before the loss is noticed.
  const { socket: other } = open();
  other.write(get());
  await until(() => waiting.length === 2);
  waiting[1]?.req.socket.destroy();
  waiting[1]?.send();
  t.equal(waiting[1]?.res, null);
  await until(() => server.counts.open === 0);

  // This side closed it, which is no error.
  const { socket: third } = open();
  third.write(get());
  await until(() => waiting.length === 3);
  waiting[2]?.req.socket.destroy();
  await until(() => server.counts.open === 0);
  t.equal(waiting[2]?.res?.destroyed, true);
  waiting[2]?.send();
});

test('draining and closing wait for awaited answers, and then close their connections', async (t) => {
  for (const way of ['drain', 'close'] as const) {
    const { server, waiting, connect: open } = await serve(t);
    const { socket, received, closed } = open();
    // An older connection, because the sweep spares new ones.
    socket.write(get('/now'));
    await until(() => received() !== '');
    socket.write(get());
    await until(() => waiting.length === 1);
    if (way === 'drain') server.drain();
    const ended = way === 'close' ? server.close({ deadlineMs: 5000 }) : Promise.resolve();
    // Time for several checks for idle connections.
    await timeForAFault(300);
    t.equal(waiting[0]?.lane.isAwaited, false);
    waiting[0]?.send();
    await closed;
    await ended;
    t.strictSame(bodiesOf(received()), ['fast', 'late'], way);
    t.match(received().slice(FAST.length), /\r\nConnection: close\r\n/);
  }
});

test('a connection is not idle while an answer is awaited', async (t) => {
  const bounds = { ...CONNECTION_BOUNDS, lookMs: 20, idleMsMax: 100 };
  const times = { headersMs: 2000, requestMs: 2000, keepAliveMs: 50, lookMs: 50 };
  // After the first request the idle timeout applies, through Node's timer if a response was made.
  for (const [options, before] of [
    [{ bounds }, '/now'],
    [{ times }, '/now'],
    [{ times }, '/made'],
  ] as const) {
    const { server, waiting, connect: open } = await serve(t, options);
    const { socket, received } = open();
    socket.write(get(before));
    await until(() => bodiesOf(received()).length === 1);
    socket.write(get());
    await until(() => waiting.length === 1);
    await timeForAFault('times' in options ? 1300 : 400);
    t.equal(server.counts.open, 1);
    waiting[0]?.send();
    await until(() => bodiesOf(received()).length === 2);
    await until(() => server.counts.open === 0);
    t.equal(bodiesOf(received())[1], 'fast');
  }
});

test('while the server drains, a response made at once has Connection: close', async (t) => {
  const { server, waiting, connect: open } = await serve(t);
  const { socket, received, closed } = open();
  socket.write(get('/asked'));
  await until(() => waiting.length === 1);
  t.not(waiting[0]?.res, null);
  server.drain();
  waiting[0]?.send();
  await closed;
  t.strictSame(bodiesOf(received()), ['late']);
  t.match(received(), /\r\nConnection: close\r\n/);
});

test('if a response can no longer be made, only the connection is closed', async (t) => {
  const { server, waiting, connect: open } = await serve(t);
  const { socket, received, closed } = open();
  socket.write(get());
  await until(() => waiting.length === 1);
  const prototype = Server.prototype as { emit?: EventEmitter['emit'] };
  prototype.emit = function emit(this: EventEmitter, ...args: Parameters<EventEmitter['emit']>) {
    return args[0] === 'request' || EventEmitter.prototype.emit.apply(this, args);
  };
  t.teardown(() => {
    delete prototype.emit;
  });
  socket.write(get('/now'));
  await closed;
  delete prototype.emit;
  waiting[0]?.send();
  t.throws(() => waiting[0]?.lane.makeResponse(waiting[0].req), /no longer in progress/);
  t.equal(received(), '');
  await until(() => server.counts.open === 0);
});

test('an awaited request may ask for a response later, and is answered once', async (t) => {
  const { waiting, connect: open } = await serve(t);
  const { socket, received } = open();
  socket.write(get());
  await until(() => waiting.length === 1);
  const [one] = waiting as [Waiting];
  t.throws(() => one.lane.makeResponse({ ...one.req } as typeof one.req), /no longer in progress/);
  const res = one.lane.makeResponse(one.req);
  t.equal(one.res, res);
  t.equal(one.lane.endAwaiting(), null);
  t.throws(() => one.lane.awaitAnswer(one), /no longer in progress/);
  res.end('late');
  await until(() => received() !== '');
  socket.write(get('/now'));
  await until(() => bodiesOf(received()).length === 2);
  t.strictSame(bodiesOf(received()), ['late', 'fast']);
});

test("answers for new tokens do not need Node's response object", async (t) => {
  const { handler } = setUp();
  const { send } = await serveHandler(t, handler);
  let responses = 0;
  const { assignSocket } = ServerResponse.prototype;
  ServerResponse.prototype.assignSocket = function assign(socket) {
    responses++;
    assignSocket.call(this, socket);
  };
  t.teardown(() => {
    ServerResponse.prototype.assignSocket = assignSocket;
  });
  const ask = (Authorization: string, method = 'GET', more: object = {}): ReturnType<typeof send> =>
    send('/api/v1/schedule?type=Lab', { method, headers: { Authorization, ...more } });
  for (let n = 0; n < 3; n++) {
    t.equal((await ask(`Bearer ${token({ sub: `visitor ${n}` })}`)).status, 200);
    t.equal((await ask(`Bearer ${token({ sub: `visitor ${n}` }).slice(0, -3)}AAA`)).status, 401);
  }
  t.equal((await ask(`Bearer ${token({ sub: 'somebody' })}`, 'HEAD')).status, 200);
  t.equal(responses, 0);
  // Shows that the counter works.
  const last = await ask(`Bearer ${token({ sub: 'somebody else' })}`, 'GET', { Connection: 'close' });
  t.equal(last.status, 200);
  t.equal(responses, 1);
});
