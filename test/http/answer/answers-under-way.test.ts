/**
 * Snapshots that are replaced while clients read them slowly. Inside, because snapshots are counted, not
 * seen.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Test, test } from 'tap';
import type { Read } from '../../../src/answer/answer.js';
import type { Body } from '../../../src/answer/body.js';
import type { View } from '../../../src/answer/view.js';
import { SNAPSHOTS_SENT_MAX } from '../../../src/base/limits.js';
import { CELL } from '../../../src/base/metrics/cells.js';
import { Meter } from '../../../src/base/metrics/meter.js';
import { AnswersUnderWay } from '../../../src/http/answer/answers-under-way.js';
import type { Exchange } from '../../../src/http/exchange.js';
import { timeForAFault, until } from '../../waiting/until.js';
import { collectGarbage } from '../collect-garbage.js';
import { bearer, serve, setUp, type TestViews, viewsOf } from '../harness.js';

/** More than the system accepts of an answer that is not read. */
const BYTES = 24 * 1024 * 1024;
const SLICE_BYTES = 64 * 1024;
const PUBLICATIONS = 8;
const READ_BYTES = 16 * 1024;
const READ_EVERY_MS = 20;
/** Requests sent together. */
const MANY = 8;

/** Publishes snapshots one after another, and reports which are still in memory. */
class Publications {
  readonly views: TestViews = viewsOf();
  readonly #memories: WeakRef<ArrayBufferLike>[] = [];

  publish(how: keyof typeof CHUNKS): void {
    const memory = Buffer.alloc(BYTES, 'x');
    this.#memories.push(new WeakRef(memory.buffer));
    const chunks = CHUNKS[how](memory);
    const body: Body = { byteLength: BYTES, makeChunks: () => chunks };
    const read: Read = {
      format: null,
      isRelative: false,
      modifiedMs: null,
      entityTag: () => 'W/"x"',
      execute: () => ({ total: 1, count: 1, nextCursor: null, body }),
    };
    const { view } = this.views;
    if (view === null) throw new Error('the test views have a view');
    const { summary } = view;
    const all: View['all'] = () => ({ read });
    this.views.view = { summary, version: view.version, contentId: summary.id, all } as unknown as View;
  }

  async alive(): Promise<number> {
    for (let n = 0; n < 3; n++) {
      collectGarbage();
      // Weak references are emptied some time after a collection.
      await delay(10);
    }
    return this.#memories.filter((memory) => memory.deref() !== undefined).length;
  }
}

function slicesOf(memory: Buffer): Iterable<Uint8Array> {
  return {
    *[Symbol.iterator]() {
      for (let at = 0; at < BYTES; at += SLICE_BYTES)
        yield Buffer.from(memory.subarray(at, at + SLICE_BYTES));
    },
  };
}

/** Requests everything and reads it in small steps. */
async function slowReader(t: Test, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.on('readable', () => {});
  socket.write(
    `GET /api/v1/schedule/all HTTP/1.1\r\nHost: a\r\nAuthorization: ${bearer().Authorization}\r\n\r\n`,
  );
  await once(socket, 'readable');
  const timer = setInterval(() => socket.read(Math.min(READ_BYTES, socket.readableLength)), READ_EVERY_MS);
  t.teardown(() => {
    clearInterval(timer);
    socket.destroy();
  });
  return socket;
}

const CHUNKS = {
  'in one piece': (memory: Buffer): Uint8Array[] => [memory],
  'in three pieces': (memory: Buffer): Uint8Array[] => [
    memory.subarray(0, 1),
    memory.subarray(1, BYTES - 1),
    memory.subarray(BYTES - 1),
  ],
  'made while sent': slicesOf,
};
const KINDS = Object.keys(CHUNKS) as (keyof typeof CHUNKS)[];

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}

for (const how of KINDS) {
  test(`slow readers of many snapshots keep few snapshots in memory: ${how}`, async (t) => {
    const publications = new Publications();
    const meter = new Meter();
    const { port } = await serve(t, setUp({ views: publications.views, meter }).handler);
    const readers: Socket[] = [];
    for (let n = 0; n < PUBLICATIONS; n++) {
      publications.publish(how);
      readers.push(await slowReader(t, port));
    }
    const cutOff = PUBLICATIONS - SNAPSHOTS_SENT_MAX;
    await Promise.all(readers.slice(0, cutOff).map(closed));
    t.equal(meter.get(CELL.slowReaders), cutOff, 'and all are counted');
    t.strictSame(
      readers.map((reader) => reader.destroyed),
      readers.map((_, n) => n < cutOff),
      'those of the oldest are cut off, and no others',
    );
    t.equal(await publications.alive(), SNAPSHOTS_SENT_MAX);
  });
}

test('clients that left or have read everything do not affect others', async (t) => {
  const publications = new Publications();
  const meter = new Meter();
  const { port, send } = await serve(t, setUp({ views: publications.views, meter }).handler);
  publications.publish('in one piece');
  const first = await slowReader(t, port);
  for (let n = 0; n < PUBLICATIONS; n++) {
    publications.publish(KINDS[n % KINDS.length] ?? 'in one piece');
    const { body } = await send('/api/v1/schedule/all', { headers: bearer() });
    t.equal(body.length, BYTES);
    const leaver = await slowReader(t, port);
    leaver.destroy();
    await timeForAFault(20);
  }
  t.equal(first.destroyed, false, 'one that reads from the oldest goes on');
  t.equal(meter.get(CELL.slowReaders), 0);
});

test('a connection with many waiting answers has one listener for all', async (t) => {
  const publications = new Publications();
  let asked = 0;
  const server = createServer(setUp({ views: publications.views }).handler)
    .on('request', () => asked++)
    .listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  publications.publish('in one piece');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = connect(port, '127.0.0.1');
  client.on('error', () => {});
  t.teardown(() => client.destroy());
  const [socket] = await accepted;
  const head = `GET /api/v1/schedule/all HTTP/1.1\r\nHost: a\r\nAuthorization: ${bearer().Authorization}\r\n\r\n`;
  const before = socket.listenerCount('close');
  const read = once(server, 'request');
  // In one piece, because node reads no more requests while so much waits to be written.
  client.write(head.repeat(MANY));
  await read;
  await until(
    () => asked,
    (seen) => seen === MANY,
  );
  const more = socket.listenerCount('close') - before;
  t.ok(more > 0 && more < MANY / 2, `${more} more listeners`);
  client.destroy();
  await closed(socket);
});

test('closing does not wait for answers to clients that left', async (t) => {
  const underWay = new AnswersUnderWay(() => {});
  const server = createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const [req] = (await once(server, 'request')) as [IncomingMessage];
  client.destroy();
  await closed(req.socket);
  // This answer stays queued, like the answer to a pipelined request.
  const res = new ServerResponse(req);
  res.end(Buffer.alloc(1000));
  t.ok(res.writableLength > 0, 'it would wait for good');
  underWay.add({ req, makeResponse: () => res, lane: null } as unknown as Exchange, {});
  t.equal(underWay.snapshotCount, 0);
});
