/** Several addresses, files and folders. Some fail; the others continue, and each keeps its last good events. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import type { SourcePart } from '../../src/base/model/source-state.js';
import { type Mood, open, partsOf, record, startAddresses, states, titles } from './addresses.js';

test('failing addresses keep their last events until they work again; the others are refreshed', async (t) => {
  const upstream = await startAddresses(t, 7);
  const { timetable, told } = open(t, { source: upstream.spec });
  await timetable.ready;
  t.strictSame(
    upstream.asked(),
    [0, 1, 2, 3, 4, 5, 6].map((n) => `${n} 200`),
  );
  t.equal(timetable.all().total, 15);
  t.ok(titles(timetable).includes('all 6 v1'), 'the last one wins');

  t.match(await timetable.refresh(), { result: 'unchanged' });
  t.strictSame(
    upstream.asked(),
    [0, 1, 2, 3, 4, 5, 6].map((n) => `${n} 304`),
  );

  upstream.versions[0] = 2;
  const moods: Mood[] = ['good', 'down', 'hangs', 'garbage', 'cut', 'later', 'gone'];
  upstream.moods.splice(0, 7, ...moods);
  const before = Date.now();
  t.match(await timetable.refresh(), { result: 'published' });
  t.strictSame(upstream.asked(), ['0 200', '1 down', '2 hangs', '3 garbage', '4 cut', '5 later', '6 gone']);
  t.strictSame(titles(timetable), [
    ...['a0 0 v2', 'a1 1 v1', 'a2 2 v1', 'a3 3 v1', 'a4 4 v1', 'a5 5 v1', 'a6 6 v1', 'all 6 v1'],
    ...['b0 0 v2', 'b1 1 v1', 'b2 2 v1', 'b3 3 v1', 'b4 4 v1', 'b5 5 v1', 'b6 6 v1'],
  ]);
  t.strictSame(states(timetable), ['ok', 'stale', 'stale', 'stale', 'stale', 'stale', 'stale']);
  t.match(timetable.source, {
    state: 'loaded',
    lastError: null,
    parts: { total: 7, stale: 6, missing: 0, overdue: 0 },
  });
  t.equal(timetable.status, 'ok', 'ten intervals have not passed');
  t.equal(told.length, 6);
  t.match(told.join('\n'), /500.*within 3 s.*HTML or XML.*503/s);
  const failing = partsOf(timetable)[1] as SourcePart;
  t.equal(failing.name, upstream.nameOf(1));
  t.ok((failing.lastSuccessMs as number) < before && (failing.failingSinceMs as number) >= before);

  upstream.versions[0] = 3;
  await timetable.refresh();
  t.strictSame(
    upstream.asked(),
    ['0 200', '1 down', '2 hangs', '3 garbage', '4 cut', '6 gone'],
    'Retry-After is heeded',
  );
  t.equal(told.length, 6, 'nothing is told again');
  t.equal(partsOf(timetable)[1]?.failingSinceMs, failing.failingSinceMs);

  upstream.moods.fill('good');
  upstream.versions.fill(9);
  await timetable.refresh({ force: true });
  t.ok(titles(timetable).every((title) => title.endsWith('v9')));
  t.strictSame(told.slice(6), ['ok', 'ok', 'ok', 'ok', 'ok', 'ok']);
  t.match(timetable.source.parts, { stale: 0, missing: 0, failingSinceMs: null });
});

test('if all sources fail, the load fails like that of a single source', async (t) => {
  const upstream = await startAddresses(t, 3);
  const { timetable, told } = open(t, { source: upstream.spec });
  await timetable.ready;
  upstream.moods.fill('down');
  t.match(await timetable.refresh(), {
    result: 'failed',
    reason: /^3 of 3 sources cannot be read: cannot read http/,
  });
  t.equal(timetable.status, 'degraded');
  t.equal(told.length, 3);
  t.equal(timetable.all().total, 7);
  upstream.moods.fill('good');
  t.match(await timetable.refresh(), { result: 'unchanged' });
  t.equal(timetable.status, 'ok');
});

test('an overridden event returns when the later source drops it, even while the earlier source fails', async (t) => {
  const upstream = await startAddresses(t, 1);
  const folder = t.testdir({ corrections: record('a0', 'corrected') });
  const path = join(folder, 'corrections');
  const source = { kind: 'merged', specs: [...upstream.spec.specs, { kind: 'file', path }] } as const;
  const { timetable } = open(t, { source });
  await timetable.ready;
  t.strictSame(titles(timetable), ['a0 corrected', 'all 0 v1', 'b0 0 v1']);
  upstream.moods[0] = 'down';
  writeFileSync(path, record('b0', 'corrected, too'));
  await timetable.refresh();
  t.strictSame(titles(timetable), ['a0 0 v1', 'all 0 v1', 'b0 corrected, too']);
  t.strictSame(states(timetable), ['stale', 'ok']);
});

test('health names the parts and shows no secret; it is degraded after ten intervals', async (t) => {
  const upstream = await startAddresses(t, 2);
  const { timetable } = open(t, { source: upstream.spec, refreshSeconds: 10 });
  await timetable.ready;
  const { now } = Date;
  upstream.moods[1] = 'garbage';
  await timetable.refresh();
  t.equal(timetable.status, 'ok');
  const { address } = await timetable.serve({ port: 0, dev: true });
  const health = await (await fetch(`${address.origin}/health`)).text();
  t.notMatch(health, 'secret');
  t.match(JSON.parse(health), {
    status: 'ok',
    source: {
      state: 'loaded',
      failingSince: null,
      parts: {
        total: 2,
        stale: 1,
        missing: 0,
        skipped: 0,
        listed: [
          { name: upstream.nameOf(0), state: 'ok', records: 3, failingSince: null, lastError: null },
          {
            name: upstream.nameOf(1),
            state: 'stale',
            records: 3,
            failingSince: /^20.*Z$/,
            lastError: /HTML or XML/,
          },
        ],
      },
    },
  });
  t.intercept(Date, 'now', { value: () => now() + 101_000, configurable: true });
  await timetable.refresh();
  t.equal(timetable.status, 'degraded');
  upstream.moods[1] = 'good';
  await timetable.refresh();
  t.equal(timetable.status, 'ok');
});
