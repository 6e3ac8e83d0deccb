/** One transaction that changes more rows of a followed table than are read by key, while the service answers. */
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'tap';
import { FOLLOWED_CHANGES_MAX } from '../../src/base/limits.js';
import { get } from '../app/threads.js';
import { hs256, SECRET } from '../auth/tokens.js';
import { startService } from '../refresh/built.js';
import { eventsTable, skip, startServer } from '../source/postgres/server.js';
import { until } from '../waiting/until.js';
import { HARD, size } from './size.js';

const TIMEOUT_MS = 900_000;
const ROUNDS = size(1, 5);
const EVENTS = FOLLOWED_CHANGES_MAX + 5000;
/** Rows that are read by key, and more than that. */
const SIZES = HARD ? [20_000, EVENTS] : [EVENTS];
const AUTHORIZATION = `Bearer ${hs256({ sub: 'a', exp: 4_000_000_000 })}`;

test(`transactions of up to ${EVENTS} rows are served whole`, { skip, timeout: TIMEOUT_MS }, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  await server.sql(`${eventsTable('events', EVENTS)} CREATE PUBLICATION lectern FOR TABLE events;`);
  const service = await startService({
    source: server.url(),
    table: 'events',
    follow: true,
    port: 0,
    hs256Secret: SECRET,
    // The last transaction removes almost everything.
    shrinkPercentMax: 100,
  });
  t.teardown(() => service.close());
  t.equal((await service.ready).events, EVENTS);
  const { timetable } = service;
  const failures: string[] = [];
  timetable.on('error', ({ message }) => failures.push(message));
  const changed = (): number => timetable.find({ type: 'changed', limit: 1 }).total;
  const seen = new Set<number>();
  timetable.on('published', () => seen.add(changed()));
  const reads = { all: 0, failed: 0 };
  let isOver = false;
  const read = async (): Promise<void> => {
    while (!isOver) {
      const { status } = await get(`${service.baseUrl}/schedule?limit=50`, { authorization: AUTHORIZATION });
      reads.all++;
      if (status !== 200) reads.failed++;
      // The client pauses between requests.
      await delay(5);
    }
  };
  const reading = read();
  const tookMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const rows of SIZES) {
      const title = `${rows} in round ${round}`;
      await server.sql(
        `UPDATE events SET type = 'changed', title = $1 WHERE id IN (SELECT id FROM events ORDER BY id LIMIT ${rows})`,
        [title],
      );
      const beganMs = performance.now();
      await until(changed, (seen) => seen > 0);
      tookMs.push(performance.now() - beganMs);
      t.equal(changed(), rows, title);
      await server.sql("UPDATE events SET type = 'LEC' WHERE type = 'changed'");
      await until(changed, (seen) => seen === 0);
    }
  }
  await server.sql('DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY id OFFSET 10)');
  await until(
    () => timetable.summary?.events,
    (seen) => seen === 10,
  );
  isOver = true;
  await reading;
  t.strictSame(
    [...seen].sort((a, b) => a - b),
    [0, ...SIZES],
    'no publication shows a part of a transaction',
  );
  t.equal(reads.failed, 0, `${reads.all} reads`);
  t.strictSame(failures, []);
  t.equal((await server.sql('SELECT FROM pg_replication_slots')).length, 1);
  t.comment(`served after ${tookMs.map(Math.round).join(', ')} ms`);
});
