/** Warnings of a load about fields without values and names that are not fields, in the log and in `inspect`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { startService } from '../../src/app/service.js';
import { MemorySource } from '../../src/index.js';
import { SECRET } from '../auth/tokens.js';
import { runHere } from '../cli/run-here.js';
import { keptLog } from './threads.js';

const GOOD = {
  id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  time: '2026-09-14T08:00:00Z',
  endTime: '2026-09-14T09:00:00Z',
};
const FULL = {
  ...GOOD,
  roomId: GOOD.id,
  courseId: GOOD.id,
  studyGroup: 'G',
  type: 'LEC',
  lecturerId: GOOD.id,
};

/** The warnings of a service that loads some records and then others. */
async function warningsOf(
  ...loads: readonly (readonly object[])[]
): Promise<(readonly [string, Readonly<Record<string, unknown>>])[]> {
  const { log, lines } = keptLog();
  const [first = [], ...others] = loads;
  const source = new MemorySource([...first]);
  const service = await startService({ port: 0, hs256Secret: SECRET, watch: false, source }, { log });
  await service.ready;
  for (const records of others) {
    source.replace([...records]);
    await service.timetable.refresh();
  }
  await service.close();
  // On a busy machine the first load takes so long that a warning of it comes.
  return lines
    .filter(({ level, message }) => level === 'warn' && message !== 'still waiting for the source')
    .map(({ message, fields }) => [message, { ...fields }] as const);
}

async function inspected(t: Test, records: readonly object[], ...options: string[]): Promise<string> {
  const file = join(t.testdir({}), 'events.ndjson');
  writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  return (await runHere(t, ['inspect', file, ...options])).stdout;
}

test('filters that find nothing are reported once, and again when they change', async (t) => {
  t.same(await warningsOf([FULL]), []);
  const told = await warningsOf(
    [{ ...FULL, lecturerId: null, type: null }],
    [{ ...FULL, lecturerId: null, type: null, title: 'x' }],
    [{ ...FULL, lecturerId: null }],
    [FULL],
  );
  t.match(told, [
    ['fields without values', { fields: ['type', 'lecturerId'], reason: /filters on them find nothing/ }],
    ['fields have lost their values', { fields: ['title'] }],
    ['fields without values', { fields: ['lecturerId'] }],
  ]);
  t.equal(told.length, 3);
});

test('output fields that lose their values are reported once for each loss', async (t) => {
  const named = { ...FULL, title: 'x', lecturer: 'y' };
  const other = { ...named, id: GOOD.id.replace('2', '3') };
  const bare = [named, other].map((event) => ({ ...event, title: null, lecturer: null }));
  const told = await warningsOf(
    bare,
    [named, other],
    [named, ...bare.slice(1)],
    bare,
    bare.map((event) => ({ ...event, roomName: 'z' })),
    [other, ...bare.slice(0, 1)],
    bare,
  );
  const lost = 'fields have lost their values';
  const reason = 'no event has a title or a lecturer any more';
  t.strictSame(
    told.filter(([message]) => message === lost).map(([, { source: _, ...fields }]) => fields),
    Array.from({ length: 2 }, () => ({ fields: ['title', 'lecturer'], reason })),
  );
});

test('inspect says which filters find nothing', async (t) => {
  t.notMatch(await inspected(t, [FULL]), /^warning/m);
  const text = await inspected(t, [{ ...FULL, lecturerId: null }, { id: 1 }]);
  t.match(text, /^warning: no event has a lecturerId; a filter on it finds nothing$/m);
  t.equal(text.match(/^warning/gm)?.length, 1);
});

test('fields that are not served are in the log record of the publication, at most twenty by name', async (t) => {
  const { log, lines } = keptLog();
  const names = Array.from({ length: 25 }, (_, n) => [`name${n}`, 1]);
  const source = new MemorySource([FULL, { ...FULL, id: 'x', colour: 'red' }, { ...FULL, colour: 'red' }]);
  const service = await startService({ port: 0, hs256Secret: SECRET, watch: false, source }, { log });
  await service.ready;
  source.replace([{ ...FULL, lecturrer: 'x', title: 'new', ...Object.fromEntries(names) }]);
  await service.timetable.refresh();
  source.replace([{ ...FULL, title: 'newer' }]);
  await service.timetable.refresh();
  await service.close();
  const published = lines
    .filter(({ message }) => message === 'timetable published')
    .map(({ fields }) => fields);
  t.equal(published.length, 3);
  t.strictSame((published[0] as Record<string, unknown>).notServed, [{ name: 'colour', records: 2 }]);
  t.match(published[1], { notServedFields: 26 });
  const listed = (published[1] as { notServed: { name: string }[] }).notServed;
  t.equal(listed.length, 20);
  t.strictSame(listed[0], { name: 'lecturrer', records: 1, suggestion: 'lecturer' });
  t.notOk('notServed' in (published[2] as object));
});

test('inspect lists fields that are not served, as text and as JSON', async (t) => {
  const records = [
    { ...FULL, lecturrer: 'x', 'a\u001b[31m\u202e': 1, ['y'.repeat(60)]: 1, ['z'.repeat(200)]: 1 },
    { id: 'x', lecturrer: 'x' },
  ];
  const text = await inspected(t, records);
  t.match(text, /^fields that are not served:$/m);
  t.match(text, /^ {2}"lecturrer" in 2 records; did you mean lecturer\?$/m);
  t.match(text, /^ {2}"a\\u001b\[31m\\u202e" in 1 record$/m);
  t.match(text, /^ {2}"y{40}…" in 1 record$/m);
  t.match(text, /^ {2}and 1 occurrence of further names$/m);
  const json = JSON.parse(await inspected(t, records, '--json')) as { summary: object };
  t.match(json.summary, {
    unserved: { fields: [{ name: 'lecturrer', records: 2, suggestion: 'lecturer' }], others: 1 },
  });
  t.notMatch(await inspected(t, [FULL]), /not served/);
});
