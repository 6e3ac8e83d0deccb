/** Clients that do not read, do not send, or are too many, tested with limits of milliseconds instead of seconds. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'tap';
import {
  PIPELINED_WAITING_MAX,
  READERS_CUT_OFF_MANY,
  REQUESTS_IN_FLIGHT_MAX,
} from '../../../src/base/limits.js';
import type { RequestHandler } from '../../../src/http/handler.js';
import type { ConnectionBounds } from '../../../src/http/server/connections.js';
import { HttpServer } from '../../../src/http/server/server.js';
import { timeForAFault, until } from '../../waiting/until.js';

const PATIENCE: ConnectionBounds = {
  lookMs: 20,
  readerWindowMs: 400,
  readerBytesMin: 64 * 1024,
  idleMsMax: 10_000,
  lingerMsMax: 100,
};
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const LARGE = Buffer.alloc(64 * 1024 * 1024, 'x');

async function listen(
  t: { teardown(end: () => Promise<void>): unknown },
  handler: RequestHandler,
  bounds: Partial<ConnectionBounds> = {},
  connectionsMax?: number,
): Promise<{ server: HttpServer; open(): Promise<Socket> }> {
  const server = new HttpServer(handler, { connectionsMax, bounds: { ...PATIENCE, ...bounds } });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close({ deadlineMs: 0 }));
  return {
    server,
    async open() {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
      return socket;
    },
  };
}

/** Unlike `once`, it does not reject if the server resets the connection, as it does when bytes were left unread. */
const closed = (socket: Socket): Promise<unknown> =>
  new Promise((resolve) => {
    socket.once('close', resolve);
    if (socket.closed) resolve(null);
  });

const large: RequestHandler = (_req, res) => {
  res.writeHead(200, ['Content-Length', String(LARGE.length)]);
  res.end(LARGE);
};

test('a client that does not read a large answer is cut off; one that reads steadily is not', async (t) => {
  const { server, open } = await listen(t, large);
  const stalled = await open();
  stalled.pause();
  stalled.write(GET);
  const steady = await open();
  let received = 0;
  steady.on('data', (chunk: Buffer) => {
    received += chunk.length;
    steady.pause();
    // A client that reads steadily, but slowly.
    setTimeout(() => steady.resume(), 1);
  });
  steady.write(GET);
  const beganMs = performance.now();
  await until(() => server.counts.slowReaders === 1);
  const tookMs = performance.now() - beganMs;
  t.ok(tookMs >= 380, `cut off after ${tookMs.toFixed(0)} ms`);
  await until(() => received > LARGE.length || steady.destroyed);
  t.ok(received > LARGE.length, `${received} bytes`);
  t.match(server.counts, { open: 1, slowReaders: 1, silent: 0, dropped: 0, flooded: 0 });
  steady.destroy();
});

test('when many are cut off at once, further clients that do not read are cut off sooner', async (t) => {
  const { server, open } = await listen(t, large, { lookMs: 50, readerWindowMs: 1000 });
  const stall = async (): Promise<void> => {
    const socket = await open();
    socket.pause();
    socket.write(GET);
  };
  const many = 3 * READERS_CUT_OFF_MANY;
  await Promise.all(Array.from({ length: many }, stall));
  // They have been stalled for a third of their time when the last one comes.
  await timeForAFault(300);
  await stall();
  await until(() => server.counts.slowReaders >= READERS_CUT_OFF_MANY);
  await until(() => server.counts.open === 0);
  t.match(server.counts, { open: 0, slowReaders: many + 1 });
});

test('a client is cut off once, even when the event loop is late', async (t) => {
  const blockMs = 2 * PATIENCE.lookMs;
  const { server, open } = await listen(t, (req, res) => {
    const { socket } = req;
    const reset = socket.resetAndDestroy;
    socket.resetAndDestroy = () => {
      const untilMs = performance.now() + blockMs;
      reset.call(socket);
      while (performance.now() < untilMs);
      return socket;
    };
    large(req, res);
  });
  const sockets = await Promise.all(Array.from({ length: 5 }, open));
  for (const socket of sockets) socket.pause().write(GET);
  await until(() => server.counts.slowReaders > 0 && server.counts.open === 0);
  t.equal(server.counts.slowReaders, sockets.length);
});

test('a client that reads only a few bytes is cut off', async (t) => {
  const { server, open } = await listen(t, large);
  const drip = await open();
  drip.pause();
  drip.write(GET);
  const timer = setInterval(() => drip.read(10), 20);
  await until(() => server.counts.slowReaders === 1);
  clearInterval(timer);
  // The event of its end arrives a moment later.
  await until(() => server.counts.open === 0);
  t.match(server.counts, { slowReaders: 1, silent: 0 });
});

test('empty lines do not keep a connection open', async (t) => {
  const { server, open } = await listen(t, (_req, res) => res.end('x'), { idleMsMax: 200 });
  const [used, unused] = [await open(), await open()];
  used.write(GET);
  await once(used, 'data');
  const timer = setInterval(() => {
    for (const socket of [used, unused]) socket.write('\r\n');
  }, 30);
  await until(() => server.counts.silent === 2);
  clearInterval(timer);
  await until(() => server.counts.open === 0);
  t.match(server.counts, { slowReaders: 0, silent: 2 });
});

test('slow answers and rare requests keep their connection', async (t) => {
  const { server, open } = await listen(
    t,
    (_req, res) => {
      // The answer comes later than the silence allowed.
      setTimeout(() => res.end('late'), 150);
    },
    { readerWindowMs: 60, idleMsMax: 300 },
  );
  const socket = await open();
  for (let n = 0; n < 4; n++) {
    socket.write(GET);
    t.match(String((await once(socket, 'data'))[0]), /^HTTP\/1.1 200 /);
  }
  t.match(server.counts, { open: 1, slowReaders: 0, silent: 0 });
  socket.destroy();
});

test('connections beyond the bound are closed on arrival and counted', async (t) => {
  const { server, open } = await listen(t, (_req, res) => res.end('x'), {}, 2);
  const kept = [await open(), await open()];
  for (const socket of kept) {
    socket.write(GET);
    await once(socket, 'data');
  }
  for (let n = 1; n <= 3; n++) {
    const extra = await open();
    extra.resume();
    await closed(extra);
    await until(() => server.counts.dropped === n);
  }
  t.match(server.counts, { open: 2, dropped: 3 });
  kept[0]?.destroy();
  await until(() => server.counts.open === 1);
  const next = await open();
  next.write(GET);
  t.match(String((await once(next, 'data'))[0]), /^HTTP\/1.1 200 /, 'there is room again');
  for (const socket of [next, kept[1]]) socket?.destroy();
});

test('pipelined requests are handled a few at a time; too many end the connection', async (t) => {
  const waiting: (() => void)[] = [];
  let handled = 0;
  const { server, open } = await listen(t, (_req, res) => {
    const number = handled++;
    waiting.push(() => res.end(`answer ${number}.`));
  });
  const socket = await open();
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString();
  });
  socket.write(GET.repeat(50));
  await until(() => handled === REQUESTS_IN_FLIGHT_MAX);
  await timeForAFault(50);
  t.equal(handled, REQUESTS_IN_FLIGHT_MAX, 'at a time');
  // The last one first: answers still come in the order of the requests.
  while (handled < 50 || waiting.length > 0) {
    waiting.pop()?.();
    await timeForAFault(1);
    if (handled < 50) t.ok(waiting.length <= REQUESTS_IN_FLIGHT_MAX);
  }
  await until(() => text.includes('answer 49.'));
  t.same(
    [...text.matchAll(/answer (\d+)\./g)].map((match) => Number(match[1])),
    Array.from({ length: 50 }, (_, n) => n),
  );
  socket.write(GET.repeat(REQUESTS_IN_FLIGHT_MAX + PIPELINED_WAITING_MAX + 1));
  await closed(socket);
  t.match(server.counts, { open: 0, flooded: 1 });
});

test('a client that sends after the last answer is cut off after a moment', async (t) => {
  const { server, open } = await listen(t, (_req, res) => {
    res.shouldKeepAlive = false;
    res.end('the last');
  });
  const socket = await open();
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString();
  });
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n');
  const timer = setInterval(() => socket.write('x'.repeat(1000)), 5);
  await closed(socket);
  clearInterval(timer);
  t.match(text, /the last$/);
  await until(() => server.counts.open === 0);
  t.match(server.counts, { open: 0, flooded: 0, slowReaders: 0 }, 'it is no flood and no slow reader');
});
