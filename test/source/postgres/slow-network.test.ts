/** A slow network, and one that loses everything for a while. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Test, test } from 'tap';
import { FOLLOWED_SILENT_MS_MAX } from '../../../src/base/limits.js';
import { openTimetable, type Timetable } from '../../../src/index.js';
import { until } from '../../waiting/until.js';
import { eventsTable, skip, startServer, type TestServer } from './server.js';

const TICK_MS = 50;
const HOLE_MS = 15_000;
/** From the end of the hole: pauses between attempts double up to a few seconds. */
const FOLLOWED_AGAIN_MS_MAX = 15_000;

interface Network {
  readonly url: string;
  /** Bytes that a stream of changes gets in a tick. */
  bytesPerTick: number;
  /** While it exists, bytes of new connections wait for its end, as with TCP. Older connections lose theirs for ever. */
  hole: Promise<void> | null;
}

/** A network in front of a database. */
async function network(t: Test, port: number): Promise<Network> {
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    const ownHole = state.hole;
    let isStream = false;
    const carry = async (from: Socket, to: Socket): Promise<void> => {
      for await (const chunk of from as AsyncIterable<Buffer>) {
        // Nothing more comes, and the connection stays open.
        if (state.hole !== null && state.hole !== ownHole) await new Promise(() => {});
        await ownHole;
        if (from === client) isStream ||= chunk.includes('START_REPLICATION');
        const piece = isStream && from === server ? state.bytesPerTick : chunk.length;
        for (let at = 0; at < chunk.length; at += piece) {
          to.write(chunk.subarray(at, at + piece));
          // The speed of the line.
          if (piece < chunk.length) await delay(TICK_MS);
        }
      }
      to.destroy();
    };
    for (const each of [client, server]) sockets.add(each.on('error', () => {}));
    void carry(client, server).catch(() => server.destroy());
    void carry(server, client).catch(() => client.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => {
    for (const each of sockets) each.destroy();
    proxy.close();
  });
  const { port: own } = proxy.address() as AddressInfo;
  const state: Network = {
    url: `postgres://postgres@127.0.0.1:${own}/postgres?sslmode=disable`,
    bytesPerTick: Number.POSITIVE_INFINITY,
    hole: null,
  };
  return state;
}

async function followed(t: Test): Promise<{ server: TestServer; line: Network; timetable: Timetable }> {
  const server = await startServer((end) => t.teardown(end));
  await server.sql(`${eventsTable('events', 50)} CREATE PUBLICATION lectern FOR TABLE events;`);
  const line = await network(t, server.port);
  const source = { kind: 'postgres', url: line.url, table: 'events', follow: true } as const;
  const timetable = openTimetable({ source, gate: false });
  t.teardown(() => timetable.close());
  await timetable.ready;
  return { server, line, timetable };
}

test('a stream whose changes take longer than 10 s to arrive is not given up', { skip }, async (t) => {
  const { server, line, timetable } = await followed(t);
  const faults: string[] = [];
  timetable.on('error', ({ message }) => void faults.push(message));
  line.bytesPerTick = 1000;
  await server.sql("UPDATE events SET title = repeat('x', 6000)");
  const beganMs = performance.now();
  await timetable.refresh();
  t.ok(performance.now() - beganMs > FOLLOWED_SILENT_MS_MAX, 'the changes took their time');
  t.strictSame(faults, []);
});

test('a table is followed again soon after a network lost everything for 15 s', { skip }, async (t) => {
  const { server, line, timetable } = await followed(t);
  const changed = async (title: string): Promise<void> => {
    const before = timetable.summary?.id;
    await server.sql(`UPDATE events SET title = '${title}'`);
    await until(() => timetable.summary?.id !== before);
  };
  const beganMs = performance.now();
  line.hole = delay(HOLE_MS);
  await changed('during the hole');
  await changed('after the hole');
  const tookMs = performance.now() - beganMs;
  t.comment(`followed again after ${(tookMs / 1000).toFixed(1)} s`);
  t.ok(tookMs > HOLE_MS && tookMs < HOLE_MS + FOLLOWED_AGAIN_MS_MAX, `${tookMs} ms`);
});
