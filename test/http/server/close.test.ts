/** How a server ends its connections. Inside, because its deadline is set. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'tap';
import { HttpServer } from '../../../src/http/server/server.js';
import { timeForAFault, until } from '../../waiting/until.js';

const BODY = Buffer.alloc(4 * 1024 * 1024, 'x');
const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

test('closing waits for answers that slow readers have not taken, pipelined ones included', async (t) => {
  const server = new HttpServer((_req, res) => {
    res.writeHead(200, ['Content-Length', String(BODY.length)]);
    res.end(BODY);
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect(port, '127.0.0.1');
  socket.pause();
  socket.write(REQUEST.repeat(4));
  // No event tells that the answers fill the buffers of both kernels.
  await timeForAFault(150);
  const closed = server.close({ deadlineMs: 10_000 });
  await timeForAFault(150);
  let received = 0;
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length;
  });
  socket.resume();
  await closed;
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  t.ok(received > 4 * BODY.length, `${received} bytes came through`);
});

for (const way of ['close', 'drain'] as const) {
  test(`an answer in slices is not cut off between two slices: ${way}`, async (t) => {
    const SLICES = 100;
    const slice = BODY.subarray(0, 64 * 1024);
    const server = new HttpServer((_req, res) => {
      res.writeHead(200, ['Content-Length', String(SLICES * slice.length)]);
      let made = 0;
      const next = (): void => {
        // While the next slice is made, nothing is left to write.
        const later = (): void => void setTimeout(next, way === 'close' ? 2 : 15);
        if (made++ === SLICES) res.end();
        else if (res.write(slice)) later();
        else res.once('drain', later);
      };
      next();
    });
    const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
    t.teardown(() => server.close({ deadlineMs: 0 }));
    let received = 0;
    const socket = connect(port, '127.0.0.1');
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    socket.write(REQUEST);
    await until(
      () => received,
      (seen) => seen > 0,
    );
    if (way === 'close') await server.close({ deadlineMs: 10_000 });
    else server.drain();
    await ended;
    t.ok(received > SLICES * slice.length, `${received} bytes came through`);
  });
}

test('closing ends idle and unused connections at once, and endless requests at the deadline', async (t) => {
  const server = new HttpServer((_req, res) => {
    res.writeHead(200, ['Content-Length', String(BODY.length)]);
    res.end(BODY);
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const unused = connect(port, '127.0.0.1');
  const idle = connect(port, '127.0.0.1');
  const stuck = connect(port, '127.0.0.1');
  for (const socket of [unused, idle, stuck]) socket.on('error', () => {});
  const ends = [unused, idle, stuck].map(
    (socket) => new Promise<number>((resolve) => socket.once('close', () => resolve(performance.now()))),
  );
  unused.resume();
  idle.write(REQUEST);
  let received = 0;
  await new Promise<void>((resolve) => {
    idle.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > BODY.length) resolve();
    });
  });
  stuck.pause();
  stuck.write(REQUEST.repeat(3));
  // Nothing is read, so nothing tells that the answers have begun.
  await timeForAFault(100);
  const began = performance.now();
  await server.close({ deadlineMs: 600 });
  const endedMs = performance.now() - began;
  t.ok(endedMs >= 550, `the one that does not read was waited for: ${endedMs} ms`);
  stuck.resume();
  const [unusedEnd, idleEnd] = await Promise.all(ends);
  for (const ended of [unusedEnd, idleEnd])
    t.ok((ended as number) - began < endedMs, 'unused and idle ones at once');
});

test('connections that wait in the accept queue are answered before the port closes', async (t) => {
  const server = new HttpServer((_req, res) => res.end('here'));
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  // All requests are sent without a turn of the event loop in between.
  const answers = Array.from(
    { length: 50 },
    () =>
      new Promise<string>((resolve) => {
        const socket = connect(port, '127.0.0.1');
        let text = '';
        socket.setEncoding('latin1').on('data', (chunk: string) => {
          text += chunk;
        });
        socket.on('error', (error) => {
          text += error.message;
        });
        socket.on('close', () => resolve(text));
        socket.write(REQUEST);
      }),
  );
  // Until then there is no connection.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  await Promise.all([server.close(), ...answers]);
  for (const answer of await Promise.all(answers)) {
    t.match(answer, /^HTTP\/1\.1 200 [\s\S]*\r\nConnection: close\r\n[\s\S]*here/);
  }
  const late = connect(port, '127.0.0.1');
  const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException];
  t.equal(error.code, 'ECONNREFUSED');
});
