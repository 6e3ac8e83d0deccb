/** Other parsers read the written answers: ical.js, Python's icalendar and csv. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import ICAL from 'ical.js';
import { type Test, test } from 'tap';
import { generateEvents } from '../../bench/generate.mjs';
import type { View } from '../../src/answer/view.js';
import type { TimetableEvent, TimetableRecord } from '../../src/base/model/event.js';
import type { FormatName } from '../../src/base/model/format.js';
import { loadImage } from '../../src/refresh/thread/load-image.js';
import { parseSourceArgument, sourceOfSpec } from '../../src/source/spec.js';
import { createNormaliser, isRejection } from '../normalise/objects.js';
import { nastyTexts } from './nasty-texts.js';
import { bytesOf, listOf, readOf, STRICT, viewOfEvents } from './reading.js';
import { findDataSets, NO_DATA, recordsOf } from './real-sets.js';

/** Python's icalendar reads 1,000 events in a second. */
const CALENDAR_EVENTS_MAX = 1000;

/** The properties of an event in a calendar. */
interface CalendarEvent {
  readonly uid: string;
  readonly start: string;
  /** Null if the event has no length. */
  readonly end: string | null;
  readonly summary: string;
  readonly location: string;
  readonly description: string;
  readonly categories: string;
}

const READ_CALENDAR = `
import json, sys, icalendar
calendar = icalendar.Calendar.from_ical(open(sys.argv[1], 'rb').read())
stamp = lambda event, name: event[name].dt.strftime('%Y%m%dT%H%M%SZ') if name in event else None
text = lambda event, name: str(event.get(name, ''))
print(json.dumps([{
  'uid': text(event, 'UID'),
  'start': stamp(event, 'DTSTART'),
  'end': stamp(event, 'DTEND'),
  'summary': text(event, 'SUMMARY'),
  'location': text(event, 'LOCATION'),
  'description': text(event, 'DESCRIPTION'),
  'categories': ','.join(str(each) for each in event['CATEGORIES'].cats) if 'CATEGORIES' in event else '',
} for event in calendar.walk('VEVENT')]))
`;

const READ_CSV = `
import csv, json, sys
csv.field_size_limit(10 ** 9)
print(json.dumps(list(csv.reader(open(sys.argv[1], newline='', encoding='utf-8'), strict=True))))
`;

/** Debian installs its packages for its own Python, which may not be the first. */
const PYTHON = ['python3', '/usr/bin/python3'];
const pythonWith = (module: string): string | undefined =>
  PYTHON.find((python) => spawnSync(python, ['-c', `import ${module}`]).status === 0);
const CALENDAR_PYTHON = pythonWith('icalendar');
const CSV_PYTHON = pythonWith('csv');

const folder = mkdtempSync(join(tmpdir(), 'lectern-parsers-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

function readByPython<T>(python: string, program: string, bytes: Buffer): T {
  const file = join(folder, 'list');
  writeFileSync(file, bytes);
  const { stdout, stderr, status } = spawnSync(python, ['-c', program, file], {
    maxBuffer: 2 ** 30,
    encoding: 'utf8',
    env: { ...process.env, PYTHONIOENCODING: 'utf-8' },
  });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as T;
}

function readByIcalJs(bytes: Buffer): CalendarEvent[] {
  const calendar = new ICAL.Component(ICAL.parse(bytes.toString('utf8')));
  return calendar.getAllSubcomponents('vevent').map((event) => {
    const value = (name: string): string => String(event.getFirstPropertyValue(name) ?? '');
    const stamp = (name: string): string => value(name).replace(/[-:]/g, '');
    return {
      uid: value('uid'),
      start: stamp('dtstart'),
      end: stamp('dtend') || null,
      summary: value('summary'),
      location: value('location'),
      description: value('description'),
      categories: event.getFirstProperty('categories')?.getValues().join(',') ?? '',
    };
  });
}

/** iCalendar has one kind of line break, and no other control characters but tabs. */
const calendarText = (text: string | null): string =>
  (text ?? '').replace(/\r\n?/g, '\n').replace(/\p{Cc}/gu, (character) => {
    return character === '\t' || character === '\n' || character >= '\u0080' ? character : '';
  });

function calendarEventOf(event: TimetableEvent): CalendarEvent {
  const [start, end] = [event.time, event.endTime].map((time) => time.replace(/\.\d+|[-:]/g, ''));
  const known = [event.lecturer, event.studyGroup].filter((text) => text);
  return {
    uid: calendarText(event.id),
    start: start ?? '',
    end: end === start ? null : (end ?? null),
    summary: calendarText(event.title || event.type),
    location: calendarText(event.roomId),
    description: calendarText(known.join('\n')),
    categories: calendarText(event.type),
  };
}

const CSV_HEADER = 'id,time,endTime,title,roomId,courseId,studyGroup,lecturer,type,groupId'.split(',');

function allAs(view: View, format: FormatName, eventsMax: number): Buffer {
  return bytesOf(readOf(view.all([['limit', `${eventsMax}`]], STRICT)).execute(format));
}

function eventsOf(view: View, eventsMax: number): TimetableEvent[] {
  return listOf(readOf(view.all([['limit', `${eventsMax}`]], STRICT)).execute('json')) as TimetableEvent[];
}

function assertCalendars(view: View, python: string | null | undefined = CALENDAR_PYTHON): void {
  const bytes = allAs(view, 'ics', CALENDAR_EVENTS_MAX);
  const expected = eventsOf(view, CALENDAR_EVENTS_MAX).map(calendarEventOf);
  assert.deepEqual(readByIcalJs(bytes), expected);
  if (python === undefined || python === null) return;
  assert.deepEqual(readByPython(python, READ_CALENDAR, bytes), expected);
}

function assertTable(view: View, eventsMax = 10_000): void {
  if (CSV_PYTHON === undefined) return;
  const rows = readByPython<string[][]>(CSV_PYTHON, READ_CSV, allAs(view, 'csv', eventsMax));
  const events = eventsOf(view, eventsMax).map((event) => Object.values(event).map((value) => value ?? ''));
  assert.deepEqual(rows, [CSV_HEADER, ...events]);
}

function viewOf(records: Iterable<TimetableRecord | Record<string, unknown>>): View {
  const normalise = createNormaliser('uuid');
  const events = [...records].flatMap((record, n) => {
    const event = normalise(record, { record: n + 1 });
    return isRejection(event) ? [] : [event];
  });
  return viewOfEvents(events, 'uuid');
}

function assertAll(t: Test, name: string, view: View): void {
  assertCalendars(view);
  assertTable(view);
  t.pass(name);
}

const withoutPython =
  CALENDAR_PYTHON === undefined &&
  'Python has no icalendar (apt-get install python3-icalendar): calendars were read by ical.js alone';

test('a second parser of calendars is available', { skip: withoutPython }, async (t) => {
  t.ok(CALENDAR_PYTHON);
});

test('a second parser of CSV is available', {
  skip: CSV_PYTHON === undefined && 'there is no Python',
}, async (t) => {
  t.ok(CSV_PYTHON);
});

test('the generated timetable survives writing and reading', async (t) => {
  assertAll(t, 'generated', viewOf(generateEvents({ events: 1500, seed: 3 })));
});

const dataSets = findDataSets();
test('real timetables survive writing and reading', { skip: dataSets.length === 0 && NO_DATA }, async (t) => {
  for (const dataSet of dataSets) assertAll(t, dataSet.name, viewOf(recordsOf(dataSet)));
});

function viewOfTexts(texts: readonly string[]): View {
  const events = texts.map((text, n) => ({
    id: `e${n}`,
    time: n * 60_000,
    endTime: n * 60_000 + (n % 3) * 1_800_000,
    title: text,
    roomId: null,
    courseId: null,
    studyGroup: texts[(n + 1) % texts.length] ?? null,
    lecturer: n % 5 === 0 ? null : text,
    type: n % 7 === 0 ? null : text,
    groupId: null,
    lecturerId: null,
  }));
  return viewOfEvents(events, 'any');
}

/** icalendar 4 misreads a backslash at the end, before the letter n, and before some punctuation. */
function readableByPython(text: string): string {
  return text.replace(/\\(?=\p{Cc}*(?:[nN,;:\\]|$))/gu, '/');
}

test('texts that are hard to write survive writing and reading', async (t) => {
  const texts = fc.sample(nastyTexts, { seed: 17, numRuns: 600 });
  assertTable(viewOfTexts(texts));
  assertCalendars(viewOfTexts(texts), null);
  const readable = texts.map(readableByPython);
  t.ok(readable.filter((text) => text.includes('\\')).length > 15, 'texts with backslashes');
  assertAll(t, 'texts', viewOfTexts(readable));
});

test('names of rooms and courses, and clashes, survive writing and reading', async (t) => {
  const texts = fc
    .sample(nastyTexts, { seed: 18, numRuns: 200 })
    .map(readableByPython)
    .filter((text) => calendarText(text) !== '');
  // Each room has two events at the same time, every third of them without length.
  const events = texts.flatMap((text, n) =>
    [0, 1].map((half) => ({
      ...{ id: `e${2 * n + half}`, time: n * 3_600_000, endTime: n * 3_600_000 + (n % 3) * 1_800_000 },
      ...{
        title: null,
        roomId: `room ${n}`,
        roomName: text,
        courseId: `course ${n}-${half}`,
        courseName: text,
      },
      ...{
        studyGroup: null,
        lecturer: null,
        type: half === 0 ? null : text,
        groupId: null,
        lecturerId: null,
      },
    })),
  );
  const read = readOf(viewOfEvents(events, 'any').all([['clashes', 'mark']], STRICT));
  const bytes = bytesOf(read.execute('ics'));
  const expected = events.map(({ id, time, endTime, roomName, courseName, type }) => {
    const categories = [...(type === null ? [] : [type]), ...(time === endTime ? [] : ['CLASH'])];
    const [start, end] = [time, endTime].map((ms) => new Date(ms).toISOString().replace(/\.\d+|[-:]/g, ''));
    return {
      ...{ uid: id, start, end: time === endTime ? null : end, description: '' },
      ...{ summary: calendarText(courseName), location: calendarText(roomName) },
      categories: categories.map(calendarText).join(','),
    };
  });
  const inOrder = listOf(read.execute('json')).map((event) =>
    expected.find(({ uid }) => uid === (event as TimetableEvent).id),
  );
  assert.deepEqual(readByIcalJs(bytes), inOrder);
  if (CALENDAR_PYTHON !== undefined) {
    assert.deepEqual(readByPython(CALENDAR_PYTHON, READ_CALENDAR, bytes), inOrder);
  }
  t.equal(expected.filter(({ categories }) => categories.endsWith('CLASH')).length > 100, true);
});

test('NDJSON and CSV are sources of the same events', async (t) => {
  const view = viewOf(generateEvents({ events: 1500, seed: 6 }));
  const json = allAs(view, 'json', 10_000);
  for (const format of ['ndjson', 'csv', 'json', 'msgpack'] as const) {
    const file = join(folder, `again.${format}`);
    writeFileSync(file, allAs(view, format, 10_000));
    const { image } = await loadImage(sourceOfSpec(parseSourceArgument(file)), { identifiers: 'uuid' });
    t.ok(Buffer.from(image.rows.bytes).equals(json), format);
    t.equal(image.summary.rejected, 0);
  }
});

test('every text comes back from CSV, and an empty text stays different from null', async (t) => {
  // The reader refuses NUL, which CSV cannot hold.
  const text = nastyTexts.map((each) => each.replaceAll('\0', ''));
  const cell = fc.option(fc.oneof({ arbitrary: text, weight: 4 }, fc.constant('')));
  const row = fc.record({ title: cell, studyGroup: cell, lecturer: cell, type: cell });
  const file = join(folder, 'written.csv');
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 30 }), async (rows) => {
      const events = rows.map((texts, n) => ({
        ...{ id: `e${n}`, time: n * 60_000, endTime: n * 60_000, ...texts },
        ...{ roomId: n % 2 === 0 ? null : 'r"1', courseId: null, groupId: null, lecturerId: null },
      }));
      const view = viewOfEvents(events, 'any');
      writeFileSync(file, allAs(view, 'csv', 10_000));
      const { image } = await loadImage(sourceOfSpec(parseSourceArgument(file)), { identifiers: 'any' });
      assert.deepEqual(JSON.parse(Buffer.from(image.rows.bytes).toString()), eventsOf(view, 10_000));
    }),
    { seed: 29, numRuns: 60 },
  );
  t.pass('every generated timetable');
});

test('no line of a calendar is longer than 75 octets', async (t) => {
  const view = viewOf(generateEvents({ events: 2000, seed: 4 }));
  const lines = allAs(view, 'ics', 2000).toString().split('\r\n');
  t.ok(Math.max(...lines.map((line) => Buffer.byteLength(line))) <= 75);
});
