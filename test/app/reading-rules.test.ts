/** Field maps, dates, time zones and derived identifiers, for a program and on the command line. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { type Test, test } from 'tap';
import { canonicalIdentities } from '../../src/auth/identity.js';
import { derivedIdentifier } from '../../src/base/model/derived-identifier.js';
import {
  openTimetable,
  type SnapshotSummary,
  type TimetableEvent,
  type TimetableOptions,
} from '../../src/index.js';
import { openHere } from './open-here.js';

const ROWS = [
  { Fach: 'Algebra', Datum: '31.08.2024', Von: '8:00', Bis: '9:30', Raum: 'A 101', Klasse: 'CS-1' },
  { Fach: 'Analysis', Datum: '31.08.2024', Von: '10:00', Bis: '11:30', Raum: 'A 101', Klasse: 'CS-1' },
  { Fach: 'Analysis', Datum: '01.09.2024', Von: '10:00', Bis: '11:30', Raum: 'B 2', Klasse: 'CS-2' },
];
const RULES = {
  identifiers: 'derived',
  dateOrder: 'dmy',
  timeZone: 'Europe/Berlin',
  fieldMap: {
    title: 'Fach',
    time: '{Datum} {Von}',
    endTime: '{Datum} {Bis}',
    roomId: 'Raum',
    studyGroup: 'Klasse',
  },
} as const;

interface Loaded {
  readonly events: readonly TimetableEvent[];
  readonly summary: SnapshotSummary;
}

async function load(options: TimetableOptions, query: object = {}): Promise<Loaded> {
  const timetable = openHere({ watch: false, gate: false, ...options });
  try {
    const summary = await timetable.ready;
    return { events: timetable.find(query).events, summary };
  } finally {
    await timetable.close();
  }
}

async function folderOf(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'lectern-rules-'));
  t.teardown(() => rm(folder, { recursive: true }));
  return folder;
}

test('records with their own columns and dates are served', async (t) => {
  const { events, summary } = await load({ source: ROWS, ...RULES });
  t.equal(summary.rejected, 0);
  t.strictSame(
    events.map(({ time, endTime, title, roomId, studyGroup }) => [time, endTime, title, roomId, studyGroup]),
    [
      [
        '2024-08-31T06:00:00.000Z',
        '2024-08-31T07:30:00.000Z',
        'Algebra',
        derivedIdentifier('roomId', 'A 101'),
        'CS-1',
      ],
      [
        '2024-08-31T08:00:00.000Z',
        '2024-08-31T09:30:00.000Z',
        'Analysis',
        derivedIdentifier('roomId', 'A 101'),
        'CS-1',
      ],
      [
        '2024-09-01T08:00:00.000Z',
        '2024-09-01T09:30:00.000Z',
        'Analysis',
        derivedIdentifier('roomId', 'B 2'),
        'CS-2',
      ],
    ],
  );
});

test('filters, identities and get() accept a text or the UUID derived from it', async (t) => {
  const source = ROWS.map((row, n) => ({ ...row, id: `event ${n}` }));
  const timetable = openHere({ source, ...RULES });
  await timetable.ready;
  const room = derivedIdentifier('roomId', 'A 101');
  for (const roomId of ['A 101', room, room.toUpperCase()])
    t.equal(timetable.find({ roomId }).total, 2, roomId);
  t.equal(timetable.find({ roomId: ['B 2', room] }).total, 3);
  t.equal(timetable.find({ courseId: 'A 101' }).total, 0, 'each field has names of its own');
  t.equal(timetable.get('event 1')?.title, 'Analysis');
  t.equal(timetable.get(derivedIdentifier('id', 'event 1'))?.title, 'Analysis');
  t.equal(timetable.get(''), null);
  await timetable.close();
  t.strictSame(canonicalIdentities({ groupId: ['G 1', room] }, 'derived'), [
    { field: 'groupId', values: [derivedIdentifier('groupId', 'G 1'), room].sort() },
  ]);
});

test('UUIDs stay, numbers count as their digits, and an empty text is no identifier', async (t) => {
  const uuid = '2C3C9BFD-5DA4-5A45-8BDB-5C0FE7902417';
  const times = { time: '2024-09-02T08:00:00Z', endTime: '2024-09-02T09:00:00Z' };
  const { events, summary } = await load({
    source: [
      { id: uuid, ...times, roomId: 17, courseId: '', groupId: 'Gr\u0075\u0308n' },
      { ...times, id: 'a', roomId: 1.5 },
    ],
    identifiers: 'derived',
  });
  t.match(events, [
    {
      id: uuid.toLowerCase(),
      roomId: derivedIdentifier('roomId', '17'),
      courseId: null,
      groupId: derivedIdentifier('groupId', 'Gr\u00fcn'),
    },
  ]);
  t.match(summary.rejections, [{ code: 'wrong-type', field: 'roomId' }]);
});

test('records without an id get the same identifiers in every load and order', async (t) => {
  const row = fc.constantFrom(...ROWS, ...ROWS.map((each) => ({ ...each, Raum: null })));
  const idsOf = async (source: object[]): Promise<string[]> =>
    (await load({ source, ...RULES })).events.map(({ id }) => id).sort();
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 12 }), async (rows) => {
      const ids = await idsOf(rows);
      t.equal(new Set(ids).size, rows.length, 'equal records, too, have one each');
      t.strictSame(await idsOf([...rows].reverse()), ids);
      const fewer = await idsOf(rows.slice(1));
      t.ok(
        fewer.every((id) => ids.includes(id)),
        'what stays keeps its identifier',
      );
    }),
    { seed: 18, numRuns: 25 },
  );
});

test('identifiers come from the canonical content of a record', async (t) => {
  const one = {
    time: '2024-09-02T08:00:00Z',
    endTime: '2024-09-02T09:00:00Z',
    title: 'Caf\u00e9',
    roomId: 'A',
  };
  const same = {
    ...one,
    time: '2024-09-02T10:00:00+02:00',
    title: 'Cafe\u0301',
    note: 'not served',
    type: null,
  };
  const idsOf = async (record: object): Promise<string[]> =>
    (await load({ source: [record], identifiers: 'derived' })).events.map(({ id }) => id);
  const ids = await idsOf(one);
  t.strictSame(await idsOf(same), ids);
  for (const name of [
    'title',
    'roomId',
    'courseId',
    'studyGroup',
    'lecturer',
    'type',
    'groupId',
    'lecturerId',
  ]) {
    t.notSame(await idsOf({ ...one, [name]: 'another' }), ids, name);
  }
  t.notSame(await idsOf({ ...one, endTime: '2024-09-02T09:00:01Z' }), ids);
});

test('of two equal records in two sources, one is served', async (t) => {
  const folder = await folderOf(t);
  const record = { time: '2024-09-02T08:00:00Z', endTime: '2024-09-02T09:00:00Z', title: 'x' };
  const specs = await Promise.all(
    [[record, record], [record]].map(async (records, n) => {
      const path = join(folder, `${n}.json`);
      await writeFile(path, JSON.stringify(records));
      return { kind: 'file', path } as const;
    }),
  );
  const { summary } = await load({ source: { kind: 'merged', specs }, identifiers: 'derived' });
  t.match(summary, { events: 2, rejected: 1, rejectedByCode: { overridden: 1 } });
});

test('times at clock changes are counted', async (t) => {
  const row = (Datum: string, Von: string) => ({ ...ROWS[0], Datum, Von, Bis: '12:00' });
  const source = [row('31.03.2024', '2:30'), row('27.10.2024', '2:30'), row('27.10.2024', '2:45')];
  const { summary } = await load({ source, ...RULES });
  t.strictSame(summary.ambiguousTimes, { gaps: 1, overlaps: 2 });
});

test('an unreadable time is rejected, with the setting that would allow it', async (t) => {
  const { timeZone: _, ...rules } = RULES;
  const good = { ...ROWS[0], Von: '08:00+02:00', Bis: '09:30+02:00' };
  const { summary } = await load({ source: [good, ...ROWS], ...rules });
  t.match(summary, { events: 1, rejectedByCode: { 'malformed-time': 3 } });
  t.match(summary.rejections[0], { detail: /has no offset: .* --time-zone/, more: [{ field: 'endTime' }] });
});

test('a map with missing columns fails the load, and the last timetable stays', async (t) => {
  const folder = await folderOf(t);
  const source = join(folder, 'rows.json');
  await writeFile(source, JSON.stringify(ROWS));
  const timetable = openHere({ source, watch: false, ...RULES });
  await timetable.ready;
  await writeFile(source, JSON.stringify(ROWS.map(({ Fach, ...row }) => ({ ...row, fach: Fach }))));
  const { result, reason } = await timetable.refresh();
  t.equal(result, 'failed');
  t.match(
    reason,
    /rows\.json: .* not exist: "Fach" \(for title; did you mean "fach"\?\)\. The columns are "Datum", /,
  );
  t.equal(timetable.find({}).total, 3);
  await timetable.close();
});

test('of several JSON sources, one must have an optional column of the map', async (t) => {
  const folder = await folderOf(t);
  const times = { time: '2024-09-02T08:00:00Z', endTime: '2024-09-02T09:00:00Z' };
  const paths = ['with.json', 'without.json'].map((name) => join(folder, name)) as [string, string];
  await writeFile(paths[0], JSON.stringify([{ ...times, Fach: 'Algebra' }]));
  await writeFile(paths[1], JSON.stringify([{ ...times, fach: 'Analysis' }]));
  const specs = paths.map((path) => ({ kind: 'file', path }) as const);
  const fieldMap = { title: 'Fach' };
  const { summary } = await load({ source: { kind: 'merged', specs }, identifiers: 'derived', fieldMap });
  t.equal(summary.events, 2);
  const [, without] = specs;
  const twice = { kind: 'merged', specs: [without, without] } as const;
  const message =
    /without\.json.*: the field map names a column that does not exist: "Fach" \(for title; did you mean "fach"/;
  await t.rejects(load({ source: twice as never, identifiers: 'derived', fieldMap }), { message });
  const named = { ...twice, lecturerIds: { x: 'y' } };
  await t.rejects(load({ source: named as never, identifiers: 'derived', fieldMap }), { message });
});

test('a snapshot file made with other reading rules is served at the start, then rebuilt', async (t) => {
  const folder = await folderOf(t);
  const source = join(folder, 'rows.json');
  const snapshotFile = join(folder, 'image');
  await writeFile(source, JSON.stringify(ROWS));
  const open = async (more: Partial<TimetableOptions>): Promise<unknown[]> => {
    const timetable = openHere({
      source,
      snapshotFile,
      watch: false,

      ...RULES,
      ...more,
    });
    const loaded = new Promise((resolve) => timetable.on('loaded', ({ result }) => resolve(result)));
    await timetable.ready;
    const first = timetable.find({}).events[0]?.time;
    const result = await loaded;
    const last = timetable.find({}).events[0]?.time;
    await timetable.close();
    return [first, result, last];
  };
  const [berlin, utc] = ['2024-08-31T06:00:00.000Z', '2024-08-31T08:00:00.000Z'];
  t.strictSame(await open({}), [berlin, 'published', berlin]);
  t.strictSame(await open({}), [berlin, 'unchanged', berlin]);
  t.strictSame(await open({ timeZone: 'UTC' }), [berlin, 'published', utc]);
  t.strictSame(await open({ timeZone: 'UTC' }), [utc, 'unchanged', utc]);
  t.strictSame(await open({}), [utc, 'published', berlin]);
});

test("a program's source is asked with its own version under any rules", async (t) => {
  const asked: (string | null)[] = [];
  const source = {
    name: 'rows',
    load({ previous }: { previous: string | null }) {
      asked.push(previous);
      return previous === 'v1' ? ({ notModified: true } as const) : { records: ROWS, version: 'v1' };
    },
  };
  const timetable = openHere({ source, ...RULES });
  await timetable.ready;
  t.match(await timetable.refresh(), { result: 'unchanged' });
  t.strictSame(asked, [null, 'v1']);
  await timetable.close();
});

const FAULTS: readonly [options: object, message: RegExp][] = [
  [{ fieldMap: { titlle: 'x' } }, /fieldMap is invalid: there is no field "titlle": did you mean title\?/],
  [{ fieldMap: ['x'] }, /fieldMap is invalid: it must be field=column/],
  [
    { timeZone: 'BST' },
    /timeZone is "BST": there is no such time zone, and an abbreviation may mean several; it must be an IANA time zone/,
  ],
  [{ timeZone: 'Berlin' }, /timeZone is "Berlin": there is no such time zone; did you mean Europe\/Berlin\?/],
  [{ timeZone: 'Mars/Olympus' }, /it must be an IANA time zone, such as Europe\/Berlin/],
  [{ dateOrder: 'ydm' }, /dateOrder is "ydm": it must be ymd, dmy or mdy/],
  [{ calendarFrom: '2024-02-30' }, /calendarFrom is "2024-02-30": 2024-02 has no day 30/],
  [{ calendarTo: '1.9.2024' }, /calendarTo is "1\.9\.2024": it must be a date, such as 2026-09-01/],
  [{ calendarFrom: '2024-09-01', calendarTo: '2024-09-01' }, /^calendarFrom must be before calendarTo$/],
  [{ identifiers: 'name' }, /identifiers is "name": it must be uuid, any or derived/],
];

for (const [options, message] of FAULTS) {
  test(`wrong options are refused: ${JSON.stringify(options)}`, async (t) => {
    t.throws(() => openTimetable({ source: [], ...options }), { code: 'option-invalid', message });
  });
}
