/** Several sources at the first load, and after a restart. */
import { join } from 'node:path';
import { test } from 'tap';
import { open, record, startAddresses, states, titles } from './addresses.js';

test('at the first load an unreadable address is left out and reported, if refreshes follow', async (t) => {
  const upstream = await startAddresses(t, 3);
  upstream.moods[1] = 'down';
  const { timetable, told } = open(t, { source: upstream.spec });
  await timetable.ready;
  t.equal(timetable.all().total, 5);
  t.strictSame(states(timetable), ['ok', 'missing', 'ok']);
  t.equal(timetable.status, 'degraded');
  t.match(told, [/^missing: .*500/]);
  t.strictSame(upstream.asked(), ['0 200', '1 down', '2 200']);
  upstream.moods[1] = 'good';
  t.match(await timetable.refresh(), { result: 'published' });
  t.strictSame(upstream.asked(), ['0 304', '1 200', '2 304']);
  t.equal(timetable.all().total, 7);
  t.equal(timetable.status, 'ok');
});

test('some sources must be readable at the first load', async (t) => {
  const upstream = await startAddresses(t, 2);
  const folder = t.testdir({
    good: record('good', ''),
    files: { 'a.ndjson': record('a', ''), 'b.ndjson': '{', 'c.ndjson': '<' },
  });
  const path = join(folder, 'good');
  const missing = { kind: 'file', path: join(folder, 'missing') } as const;
  const files = { kind: 'folder', path: join(folder, 'files') } as const;
  upstream.moods[0] = 'down';
  for (const [what, source, options, message] of [
    [
      'a named file',
      { kind: 'merged', specs: [{ kind: 'file', path }, missing] },
      { refreshSeconds: 0, watch: true },
      /missing: there is no such file/,
    ],
    ['an address that is never asked again', upstream.spec, { refreshSeconds: 0 }, /500/],
    [
      'files that are never looked at again',
      files,
      { refreshSeconds: 0 },
      /^2 of 3 sources cannot be read: .*b\.ndjson: .*c\.ndjson: /,
    ],
  ] as const) {
    const { timetable } = open(t, { source, ...options });
    await t.rejects(timetable.ready, { message }, what);
  }
  const { timetable } = open(t, { source: files, refreshSeconds: 0, watch: true });
  await timetable.ready;
  t.strictSame(states(timetable), ['ok', 'missing', 'missing']);
  t.equal(timetable.status, 'degraded');
});

test('after a restart the snapshot file has the last good events of each source', async (t) => {
  const upstream = await startAddresses(t, 3);
  const snapshotFile = join(t.testdir({}), 'snapshot');
  const first = open(t, { source: upstream.spec, snapshotFile }).timetable;
  await first.ready;
  await first.close();
  upstream.asked();
  upstream.moods[1] = 'down';
  upstream.versions[2] = 2;
  const { timetable } = open(t, { source: upstream.spec, snapshotFile });
  const published = new Promise<void>((resolve) => {
    timetable.on('loaded', () => resolve());
  });
  await timetable.ready;
  await published;
  t.strictSame(upstream.asked(), ['0 304', '1 down', '2 200']);
  t.strictSame(titles(timetable), [
    'a0 0 v1',
    'a1 1 v1',
    'a2 2 v2',
    'all 2 v2',
    'b0 0 v1',
    'b1 1 v1',
    'b2 2 v2',
  ]);
  t.strictSame(states(timetable), ['ok', 'stale', 'ok']);
  await timetable.close();

  upstream.moods.fill('good');
  const otherRules = open(t, { source: upstream.spec, snapshotFile, identifiers: 'uuid' }).timetable;
  otherRules.ready.catch(() => {});
  await new Promise<void>((resolve) => {
    otherRules.on('loaded', () => resolve());
  });
  t.strictSame(
    upstream.asked(),
    ['0 200', '1 200', '2 200'],
    'records that were read by other rules are read again',
  );
});
