/** Lessons through the library: records of one lessonId, and records with several values. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'tap';
import type { IdentifierMode } from '../../src/base/model/event.js';
import type {
  RecordLoad,
  RecordLoadOptions,
  RecordSource,
  ScheduleQuery,
  Timetable,
  TimetableOptions,
} from '../../src/index.js';
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

const CELLS = `id;date;start;end;title;room;groups;teachers
11;2026-10-05;08:00;09:30;Optics;B 1;"PH5, PH4";"Dirac; Curie"
12;2026-10-05;08:00;09:30;Logic;B 2;PH4;Boole
13;2026-10-05;10:00;11:30;Ethics;"B 1, B 2";PH5;Dirac
`;
const CELL_MAP = {
  time: '{date}T{start}:00Z',
  endTime: '{date}T{end}:00Z',
  roomId: { from: 'room', split: ',' },
  studyGroup: { from: 'groups', split: ',' },
  lecturer: { from: 'teachers', split: ';' },
};

test('each of several values in a cell is found, free, listed and in conflict', async (t) => {
  const path = join(t.testdir(), 'cells.csv');
  await writeFile(path, CELLS);
  const timetable = await timetableOf(path, { fieldMap: CELL_MAP });
  const lessonsOf = (query: ScheduleQuery): (string | null)[] => [
    ...new Set(timetable.find(query).events.map(({ title }) => title)),
  ];
  t.strictSame(lessonsOf({ studyGroup: 'PH4' }), ['Logic', 'Optics']);
  t.strictSame(lessonsOf({ studyGroup: 'PH5' }).sort(), ['Ethics', 'Optics']);
  const clashes = timetable.conflicts().conflicts;
  t.strictSame(
    clashes.map(({ by, key, events }) => [by, key, new Set(events.map(({ title }) => title)).size]),
    [['group', 'PH4', 2]],
    'a lesson never conflicts with itself',
  );
  const freeAt = (startTime: string): (string | null)[] =>
    timetable
      .free({ by: 'room', startTime, endTime: startTime.replace(':00:', ':30:') })
      .free.map(({ id }) => id);
  t.strictSame([freeAt('2026-10-05T08:00:00Z'), freeAt('2026-10-05T10:00:00Z')], [[], []]);
  t.strictSame(
    timetable.directory('groups').entries.map(({ name }) => name),
    ['PH4', 'PH5'],
  );
  await timetable.close();
});

/** Gives all records first, and then the changes that a test sets. */
class Changing implements RecordSource {
  readonly name = 'changing records';
  #version = 1;
  readonly #records: readonly object[];
  delta: { readonly upserts: readonly object[]; readonly removals: readonly string[] } | null = null;

  constructor(records: readonly object[]) {
    this.#records = records;
  }

  load({ previous }: RecordLoadOptions): RecordLoad {
    if (previous === null || this.delta === null)
      return { records: this.#records, version: `${this.#version}` };
    this.#version++;
    return { ...this.delta, version: `${this.#version}` };
  }
}

test('a change or a removal of a record takes all of its rows', async (t) => {
  const record = (id: string, studyGroup: unknown) => ({ id, ...EIGHT, roomId: 'A', studyGroup });
  const source = new Changing([
    record('1', ['a', 'b', 'c']),
    record('2', ['a']),
    record('3', 'a'),
    { ...record('4', ['a', 'b']), lessonId: 'shared' },
    { ...record('5', ['a', 'b']), lessonId: 'shared' },
  ]);
  const timetable = await timetableOf(source);
  const groups = (): string[] =>
    timetable
      .find()
      .events.map(({ studyGroup }) => `${studyGroup}`)
      .sort();
  const idsOf = (studyGroup: string): string[] => timetable.find({ studyGroup }).events.map(({ id }) => id);
  t.equal(groups().join(''), 'aaaaabbbc');
  const before = idsOf('b');
  source.delta = {
    upserts: [record('1', ['b', 'd']), record('3', ['e', 'f'])],
    removals: ['4'],
  };
  await timetable.refresh();
  t.equal(groups().join(''), 'aabbdef');
  t.ok(
    idsOf('b').every((id) => before.includes(id)),
    'the id of a value that stays is the same',
  );
  source.delta = { upserts: [record('1', 'z'), { ...record('3', ['e']), roomId: 7 }], removals: ['2', '9'] };
  await timetable.refresh();
  t.equal(groups().join(''), 'abez');
  t.equal(idsOf('z')[0], '1', 'a text is one value');
  source.delta = { upserts: [], removals: ['1', '3', '5'] };
  await timetable.refresh();
  t.equal(groups().join(''), '');
  await timetable.close();
});

test('a refused row names the id of its record, and a good change mends it', async (t) => {
  const bad = { id: '1', ...EIGHT, studyGroup: ['a', 'x'.repeat(2000)] };
  const source = new Changing([bad]);
  const timetable = await timetableOf(source);
  t.match(await timetable.ready, {
    events: 1,
    rejected: 1,
    rejections: [{ id: '1', position: { id: '1' } }],
  });
  source.delta = { upserts: [{ ...bad, studyGroup: ['a', 'b'] }], removals: [] };
  await timetable.refresh();
  t.match(timetable.summary, { events: 2, rejected: 0 });
  await timetable.close();
});

/** The VEVENTs of a timetable, without the times of their last change. */
const calendarOf = (timetable: Timetable): string[] =>
  Buffer.from(timetable.findBytes({}, 'ics'))
    .toString()
    .replace(/^(?:DTSTAMP|LAST-MODIFIED):.*\r\n/gm, '')
    .split('BEGIN:VEVENT\r\n')
    .slice(1);

test('a calendar has a lesson once, with its rooms, lecturers and groups', async (t) => {
  const path = join(t.testdir(), 'cells.csv');
  await writeFile(path, CELLS);
  const timetable = await timetableOf(path, { fieldMap: CELL_MAP });
  const lines = (unit: string): string[] =>
    unit.split('\r\n').filter((line) => line !== '' && !line.startsWith('END:'));
  t.strictSame(calendarOf(timetable).map(lines).sort(), [
    [
      'UID:11',
      'DTSTART:20261005T080000Z',
      'DTEND:20261005T093000Z',
      'SUMMARY:Optics',
      'LOCATION:B 1',
      'DESCRIPTION:Curie\\, Dirac\\nPH4\\, PH5',
    ],
    [
      'UID:12',
      'DTSTART:20261005T080000Z',
      'DTEND:20261005T093000Z',
      'SUMMARY:Logic',
      'LOCATION:B 2',
      'DESCRIPTION:Boole\\nPH4',
    ],
    [
      'UID:13',
      'DTSTART:20261005T100000Z',
      'DTEND:20261005T113000Z',
      'SUMMARY:Ethics',
      'LOCATION:B 1\\, B 2',
      'DESCRIPTION:Dirac\\nPH5',
    ],
  ]);
  await timetable.close();
});

test('a lesson at several times has an event and a UID for each', async (t) => {
  const records = [EIGHT, NINE].map((times, n) => ({ id: `${n}`, ...times, lessonId: 'L' }));
  const timetable = await timetableOf(records);
  t.strictSame(
    calendarOf(timetable).map((unit) => unit.split('\r\n')[0]),
    ['UID:L', 'UID:L/20261005T090000Z/20261005T103000Z'],
  );
  await timetable.close();
});

test('a list goes out as CSV or calendar and comes in again as the same timetable', async (t) => {
  const folder = t.testdir();
  const path = join(folder, 'cells.csv');
  await writeFile(path, CELLS);
  const before = await timetableOf(path, { fieldMap: CELL_MAP });
  const [csv, ics] = [join(folder, 'out.csv'), join(folder, 'out.ics')];
  await writeFile(csv, before.findBytes({}, 'csv'));
  await writeFile(ics, before.findBytes({}, 'ics'));
  const again = await timetableOf(csv);
  t.strictSame(again.find().events, before.find().events);
  t.equal((await again.ready).id, (await before.ready).id, 'the same content, lessons included');
  const fieldMap = { icalendar: { roomId: { from: 'LOCATION', split: ',' } } };
  const calendar = await timetableOf(ics, { fieldMap });
  const shown = (timetable: Timetable): string[] =>
    [
      ...new Set(timetable.find().events.map(({ time, title, roomId }) => `${time} ${title} ${roomId}`)),
    ].sort();
  t.strictSame(shown(calendar), shown(before));
  t.strictSame(
    calendarOf(calendar)
      .map((unit) => /SUMMARY:(.*)\r\nLOCATION:(.*)\r/.exec(unit)?.slice(1))
      .sort(),
    calendarOf(before)
      .map((unit) => /SUMMARY:(.*)\r\nLOCATION:(.*)\r/.exec(unit)?.slice(1))
      .sort(),
    'each lesson is one event again',
  );
  for (const timetable of [before, again, calendar]) await timetable.close();
});

/** Texts with all that a calendar escapes or folds. */
const someText = fc
  .string({ unit: fc.constantFrom(...'abcXYZ 7,;:\\"\'&<áÜ漢🎓'), minLength: 1, maxLength: 90 })
  .map((text) => text.trim() || 'x');
const someRecord = fc.record({
  id: fc.uuid(),
  hour: fc.integer({ min: 0, max: 5 }),
  hours: fc.integer({ min: 0, max: 2 }),
  title: someText,
  roomId: fc.option(someText.map((text) => text.slice(0, 20))),
  studyGroup: fc.option(someText),
  lecturer: fc.option(someText),
  type: fc.option(someText),
});

const nameOf = ({ name }: { readonly name: string | null }): string | null => name;

/** A list goes out in a format and comes in again. */
async function roundTrip(
  path: string,
  source: TimetableOptions['source'],
  identifiers: IdentifierMode,
): Promise<[before: Timetable, again: Timetable]> {
  const before = await timetableOf(source, { identifiers });
  await writeFile(path, before.findBytes({}, path.endsWith('csv') ? 'csv' : 'ics'));
  return [before, await timetableOf(path, { identifiers })];
}

test('a calendar read again has the same ids, times, titles, rooms, groups, lecturers and types', async (t) => {
  const path = join(t.testdir(), 'out.ics');
  const samples = fc.sample(fc.array(someRecord, { minLength: 1, maxLength: 40 }), { seed: 35, numRuns: 20 });
  for (const [n, sample] of samples.entries()) {
    const records = sample.map(({ hour, hours, ...others }) => {
      const [time, endTime] = [hour, hour + hours].map((each) => `2026-10-05T${10 + each}:00:00Z`);
      return { time, endTime, ...others };
    });
    const identifiers = n % 2 === 0 ? 'any' : 'derived';
    const [before, again] = await roundTrip(path, records, identifiers);
    assert.deepEqual(again.find().events, before.find().events);
    await before.close();
    await again.close();
  }
  const [before, again] = await roundTrip(path, 'fixtures/demo.ndjson.gz', 'derived');
  const untitled = new Set(before.find().events.flatMap(({ id, title }) => (title === null ? [id] : [])));
  const kept = (timetable: Timetable): object[] =>
    timetable
      .find()
      .events.map(({ roomId, courseId, groupId, title, ...others }) =>
        untitled.has(others.id) ? others : { ...others, title },
      );
  t.strictSame(
    kept(again),
    kept(before),
    'the demo, but for titles that it lacks, and ids of rooms, courses and groups',
  );
  const rooms = (timetable: Timetable): unknown[] =>
    timetable.directory('rooms').entries.map(({ name, events }) => ({ name, events }));
  t.strictSame(rooms(again), rooms(before));
  await before.close();
  await again.close();
});

test('a CSV list read again has the same events and lessons, and no names of identifiers', async (t) => {
  const records = [
    { id: '1', ...EIGHT, roomId: 'B 1', courseId: 'Optics', groupId: 'g', studyGroup: 'PH4', lessonId: 'L' },
    {
      id: '2',
      ...EIGHT,
      roomId: 'B 2',
      courseId: 'Optics',
      studyGroup: '',
      lecturer: 'Doe, "J"',
      lessonId: 'L',
    },
  ];
  const [before, again] = await roundTrip(join(t.testdir(), 'out.csv'), records, 'derived');
  t.strictSame(again.find().events, before.find().events);
  t.equal(String(again.findBytes({}, 'csv')), String(before.findBytes({}, 'csv')), 'lessons included');
  t.strictSame(before.directory('rooms').entries.map(nameOf), ['B 1', 'B 2']);
  t.strictSame(again.directory('rooms').entries.map(nameOf), [null, null]);
  await before.close();
  await again.close();
});

test('the description is read only in a calendar of Lectern', async (t) => {
  const path = join(t.testdir(), 'out.ics');
  const [before, own] = await roundTrip(path, [{ id: '1', ...EIGHT, studyGroup: 'PH4' }], 'any');
  t.match(String(before.findBytes({}, 'ics')), '\r\nDESCRIPTION;X-LECTERN=GROUP:PH4\r\n');
  const text = String(before.findBytes({}, 'ics')).replace(/^PRODID:.*$/m, 'PRODID:-//Another//EN');
  await writeFile(path, text);
  const other = await timetableOf(path);
  const groups = [own, other].map((each) => each.find().events[0]?.studyGroup);
  t.strictSame(groups, ['PH4', null]);
  for (const timetable of [before, own, other]) await timetable.close();
});
