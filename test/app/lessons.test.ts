/** Lessons through the library: records of one lessonId, and records with several values. */
import { test } from 'tap';
import type { Timetable, TimetableOptions } from '../../src/index.js';
import { openHere } from './open-here.js';

const EIGHT = { time: '2026-10-05T08:00:00Z', endTime: '2026-10-05T09:30:00Z' };
const NINE = { time: '2026-10-05T09:00:00Z', endTime: '2026-10-05T10:30:00Z' };

async function timetableOf(
  source: TimetableOptions['source'],
  more: Partial<TimetableOptions> = {},
): Promise<Timetable> {
  const timetable = openHere({ identifiers: 'any', watch: false, gate: false, source, ...more });
  await timetable.ready;
  return timetable;
}

const clashesOf = (timetable: Timetable): string[] =>
  timetable
    .conflicts()
    .conflicts.map(
      ({ by, key, peak, events }) => `${by} ${key} ${peak}: ${events.map(({ id }) => id).join(' ')}`,
    );

test('events of one lessonId never conflict with each other, whatever their course and time', async (t) => {
  const records = [
    { id: '1', ...EIGHT, roomId: 'A', courseId: 'x', lessonId: 'L' },
    { id: '2', ...NINE, roomId: 'A', courseId: 'y', lessonId: 'L' },
  ];
  const alone = await timetableOf(records);
  t.strictSame(clashesOf(alone), []);
  t.notOk('lessonId' in (alone.find().events[0] ?? {}), 'answers do not contain it');
  await alone.close();
  const other = await timetableOf([...records, { id: '3', ...NINE, roomId: 'A', lessonId: 7 }]);
  t.strictSame(clashesOf(other), ['room A 2: 1 2 3'], 'a number is a lessonId, too');
  await other.close();
  const without = await timetableOf(records.map((record) => ({ ...record, lessonId: '' })));
  t.strictSame(clashesOf(without), ['room A 2: 1 2'], 'an empty text is no lesson');
  await without.close();
});

test('a lessonId has at most 200 characters, and can be mapped', async (t) => {
  const records = ['x'.repeat(200), 'x'.repeat(201)].map((unit, n) => ({ id: `${n}`, ...EIGHT, unit }));
  const timetable = await timetableOf(records, { fieldMap: { lessonId: 'unit' } });
  const { events, rejections } = await timetable.ready;
  t.equal(events, 1);
  t.match(rejections, [
    { code: 'malformed-text', field: 'lessonId', detail: /201 characters; expected at most 200/ },
  ]);
  await timetable.close();
});
