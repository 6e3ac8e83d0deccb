/** Threads that hang or fail are replaced from outside. Reaches inside, because a real service waits for 33 s. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type Test, test } from 'tap';
import { describeHealth } from '../../../src/answer/describe-health.js';
import { openTimetable } from '../../../src/index.js';
import { DatabaseThread } from '../../../src/refresh/thread/database-thread.js';
import { ThreadPulse } from '../../../src/refresh/thread/task-thread.js';
import { until } from '../../waiting/until.js';
import { int16, int32, message } from './false-server.js';
import { eventsTable, skip, startServer, type TestServer } from './server.js';
import { streamProxy } from './stream-proxy.js';

const RULES = { identifiers: 'uuid' } as const;

/** A proxy in front of a database, which can insert bytes into the stream of changes. */
async function intruder(t: Test, port: number): Promise<{ url: string; send(bytes: Buffer): void }> {
  const { url, streams } = await streamProxy(t, port);
  return {
    url,
    send(bytes) {
      for (const stream of streams) stream.write(bytes);
    },
  };
}

const logData = (...parts: readonly (string | Buffer)[]): Buffer =>
  message('d', 'w', Buffer.alloc(24), ...parts);

/**
 * A change whose values overlap: each pair of columns is a text of 8 MiB and a value of a negative length, which leads
 * back to the text. 16,000 such texts are decoded.
 */
function overlappingChange(): Buffer {
  const count = 32_000;
  const textBytes = 8 * 1024 * 1024;
  const column = Buffer.concat([Buffer.from([0]), Buffer.from('c\0'), int32(25), int32(-1)]);
  const columns = Buffer.concat(Array.from({ length: count }, () => column));
  const relation = logData('R', int32(7), 's\0t\0d', int16(count), columns);
  const text = Buffer.concat([Buffer.from('t'), int32(textBytes), Buffer.alloc(textBytes, 0x78)]);
  const back = Buffer.concat([Buffer.from('b'), int32(-(text.length + 5))]);
  return Buffer.concat([relation, logData('I', int32(7), 'N', int16(count), text, back)]);
}

async function followed(t: Test): Promise<TestServer> {
  const server = await startServer((end) => t.teardown(end));
  await server.sql(`${eventsTable('events', 50)} CREATE PUBLICATION lectern FOR TABLE events;`);
  return server;
}

test('a followed database that keeps its thread busy for ever does not stop the service', {
  skip,
}, async (t) => {
  const server = await followed(t);
  const { url, send } = await intruder(t, server.port);
  const source = { kind: 'postgres', url, table: 'events', follow: true } as const;
  const databases = new DatabaseThread(source, RULES, 2);
  let asked = 0;
  const watch = databases.watch(() => asked++);
  const { signal } = new AbortController();
  const next = () => databases.next({ previous: null, served: null, signal });
  const first = await next();
  t.ok('whole' in first);
  if ('whole' in first) await first.end(true);
  const before = asked;
  send(overlappingChange());
  await until(() => asked > before);
  await t.rejects(next(), /cannot read .* the thread that reads the database did not answer/);
  const again = await next();
  t.ok('whole' in again, 'the next thread reads the table whole');
  send(overlappingChange());
  const beganMs = performance.now();
  watch.close();
  t.ok(performance.now() - beganMs < 10_000, 'a close does not wait for the thread');
});

test('a fault in the stream of changes is reported, and the table is followed again', { skip }, async (t) => {
  const server = await followed(t);
  const { url, send } = await intruder(t, server.port);
  const source = { kind: 'postgres', url, table: 'events', follow: true } as const;
  const timetable = openTimetable({ source, gate: false });
  t.teardown(() => timetable.close());
  const told: string[] = [];
  timetable.on('error', ({ message }) => told.push(message));
  await timetable.ready;
  send(Buffer.concat([Buffer.from('N'), int32(7), Buffer.from('Mno')]));
  send(Buffer.concat([Buffer.from('T'), int32(2 ** 31 - 1)]));
  await until(() => told.length > 0);
  t.match(told[0], /cannot read .*: the server sent a message RowDescription with the length 2147483647/);
  await until(() => timetable.source.state === 'loaded');
  await server.sql("UPDATE events SET title = 'after the fault'");
  await until(() => timetable.find().events.every(({ title }) => title === 'after the fault'));
  await until(() => timetable.source.followed?.waitingSinceMs === null);
  const [{ ms = 0 } = {}] = await server.sql<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  );
  const behindMs = ms - (timetable.source.followed?.lastCommitMs ?? 0);
  t.ok(behindMs > 0 && behindMs < 60_000, 'the time of the last commit is known');
  t.match(describeHealth(timetable, ''), { source: { followed: { lastCommit: /Z$/, lagSeconds: 0 } } });
});

test('a flood of commits reaches the service as a few messages', { skip }, async (t) => {
  const server = await followed(t);
  const [{ oid = 0 } = {}] = await server.sql<{ oid: number }>("SELECT 'events'::regclass::oid::int AS oid");
  const { url, send } = await intruder(t, server.port);
  const databases = new DatabaseThread({ kind: 'postgres', url, table: 'events', follow: true }, RULES);
  let asked = 0;
  const watch = databases.watch(() => asked++);
  t.teardown(() => watch.close());
  const { signal } = new AbortController();
  const first = await databases.next({ previous: null, served: null, signal });
  if (!('whole' in first)) throw new Error('the first load reads the table whole');
  await first.end(true);
  const key = Buffer.concat([Buffer.from('\x01id\0'), int32(2950), int32(-1)]);
  const id = '00000000-0000-4000-8000-000000000001';
  const commit = (atMs: number): Buffer => {
    const at = Buffer.alloc(8);
    at.writeBigInt64BE(BigInt(atMs) * 1000n);
    return Buffer.concat([
      logData('B', Buffer.alloc(16), int32(7)),
      logData('I', int32(oid), 'N', int16(1), 't', int32(id.length), id),
      logData('C\0', Buffer.alloc(16), at),
    ]);
  };
  const commits = 3000;
  send(logData('R', int32(oid), 'public\0events\0d', int16(1), key));
  send(Buffer.concat(Array.from({ length: commits }, (_, n) => commit(n + 1))));
  const sinceMs = Date.UTC(2000, 0, 1);
  await until(() => databases.state?.lastCommitMs === sinceMs + commits);
  t.ok(asked > 0 && asked < commits / 10, `${asked} messages`);
});

test('a load that ends after its thread was closed starts no other thread', { skip }, async (t) => {
  const url = (await followed(t)).url();
  const databases = new DatabaseThread({ kind: 'postgres', url, table: 'events', follow: true }, RULES);
  const watch = databases.watch(() => {});
  const { signal } = new AbortController();
  const load = await databases.next({ previous: null, served: null, signal });
  if (!('whole' in load)) throw new Error('the first load reads the table whole');
  let started = 0;
  const count = (): number => started++;
  process.on('worker', count);
  t.teardown(() => process.off('worker', count));
  watch.close();
  await t.rejects(load.end(true), /the thread that reads the database ended while the table was read/);
  await load.end(false);
  t.equal(started, 0);
});

test('a thread counts as hanging after the allowed number of missed beats, and not before', async (t) => {
  const busy = new Worker('for (;;);', { eval: true });
  t.teardown(() => busy.terminate());
  await new Promise<void>((resolve) => {
    const pulse = new ThreadPulse(resolve, 0);
    busy.on('message', () => pulse.beat());
  });
  let isSilent = false;
  const good = new Worker(
    "setInterval(() => require('node:worker_threads').parentPort.postMessage(0), 100)",
    { eval: true },
  );
  const pulse = new ThreadPulse(() => {
    isSilent = true;
  }, 1);
  for (let beats = 0; beats < 40; beats++) {
    await once(good, 'message');
    pulse.beat();
  }
  pulse.stop();
  await good.terminate();
  t.notOk(isSilent);
});
