import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { builtModule } from '../refresh/built.js';
import { startPostgresWriter } from '../source/postgres/postgres-writer.js';
import { eventsTable, skip, startServer } from '../source/postgres/server.js';
import { until } from '../waiting/until.js';
import { size } from './size.js';

const FOLLOWER = fileURLToPath(new URL('./postgres-follower.mjs', import.meta.url));
/** `LECTERN_FOLLOW_MINUTES=10` gives the long run. */
const MINUTES = Number(process.env.LECTERN_FOLLOW_MINUTES ?? size(0.25, 3));
const TIMEOUT_MS = MINUTES * 60_000 * 3 + 300_000;
const WRITES_PER_SECOND = 200;
const EVENTS = size(2000, 20_000);
const REST_MS_MAX = 120_000;

type Line = { readonly id?: string; readonly torn?: number; readonly error?: string };

/** The timetable in a separate process, which can be killed. */
function startFollower(url: string) {
  const child = spawn(process.execPath, [FOLLOWER, builtModule('index.js'), url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const state = { id: '', torn: 0, published: 0, errors: [] as string[] };
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as Line;
    if (line.error !== undefined) state.errors.push(line.error);
    if (line.id === undefined) return;
    state.id = line.id;
    state.published++;
    state.torn += line.torn ?? 0;
  });
  return {
    state,
    async kill(signal: NodeJS.Signals): Promise<void> {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill(signal);
      await exited;
    },
  };
}

test(`${WRITES_PER_SECOND} writes a second for ${MINUTES} minutes, with kills: served events equal the table at every pause`, {
  skip,
  timeout: TIMEOUT_MS,
}, async (t) => {
  const { openTimetable } = (await import(builtModule('index.js'))) as typeof import('../../src/index.js');
  const server = await startServer((end) => t.teardown(end), { settings: ['max_replication_slots = 4'] });
  await server.sql(`${eventsTable('events', EVENTS)} CREATE PUBLICATION lectern FOR TABLE events;`);
  let follower = startFollower(server.url());
  t.teardown(() => follower.kill('SIGKILL'));
  const writer = startPostgresWriter(server, {
    events: EVENTS,
    perSecond: WRITES_PER_SECOND,
    seed: 20260914,
  });
  t.teardown(() => writer.stop());

  /** Another timetable loads the whole table. */
  async function expected(): Promise<string> {
    const whole = openTimetable({
      source: { kind: 'postgres', url: server.url(), table: 'events' },
      watch: false,
      gate: false,
    });
    const { id } = await whole.ready;
    await whole.close();
    return id;
  }

  const kills: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['nothing', () => Promise.resolve()],
    ['the stream', () => server.sql('SELECT pg_terminate_backend(pid) FROM pg_stat_replication')],
    [
      'all connections',
      () =>
        server.sql(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lectern'",
        ),
    ],
    [
      'the process',
      () =>
        follower.kill('SIGKILL').then(() => {
          follower = startFollower(server.url());
        }),
    ],
    ['the server, by a crash', () => server.stop('immediate').then(() => server.start())],
    [
      'the structure',
      () =>
        server.sql(
          'ALTER TABLE events ADD COLUMN IF NOT EXISTS extra text; UPDATE events SET extra = extra WHERE false',
        ),
    ],
    ['the server, by a stop', () => server.stop('fast').then(() => server.start())],
  ];
  const endMs = Date.now() + MINUTES * 60_000;
  const totals = { rests: 0, mismatches: 0, torn: 0, published: 0 };
  const pauseMs = Math.max(1500, (MINUTES * 60_000) / 40);
  for (let round = 0; Date.now() < endMs || round < kills.length; round++) {
    const [what, kill] = kills[round % kills.length] as (typeof kills)[number];
    // Writes go on before and after the kill.
    await delay(pauseMs);
    await kill();
    // Writes go on after the kill.
    await delay(pauseMs / 2);
    await writer.pause();
    const id = await expected();
    const beganMs = Date.now();
    // The time is one of the figures.
    while (follower.state.id !== id && Date.now() - beganMs < REST_MS_MAX) await delay(20);
    totals.rests++;
    if (follower.state.id !== id) {
      totals.mismatches++;
      t.fail(`not equal after ${what} was killed: ${follower.state.errors.slice(-2).join('; ')}`);
    }
    totals.published += follower.state.published;
    totals.torn += follower.state.torn;
    Object.assign(follower.state, { published: 0, torn: 0 });
    writer.resume();
  }
  await writer.stop();
  t.comment(`${writer.transactions} transactions, ${totals.published} publications, ${totals.rests} rests`);
  t.equal(totals.mismatches, 0, `${totals.rests} rests`);
  t.equal(totals.torn, 0, 'no publication shows a part of a transaction');
  const slots = await until(
    () => server.sql<{ temporary: boolean }>('SELECT temporary FROM pg_replication_slots'),
    (seen) => seen.length === 1,
  );
  t.strictSame(slots, [{ temporary: true }]);
  await follower.kill('SIGKILL');
  // No slot stays behind a killed process.
  await until(
    () => server.sql('SELECT FROM pg_replication_slots'),
    (seen) => seen.length === 0,
  );
});
