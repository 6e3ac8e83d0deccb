/** Versions of events that do not recur, calendars that cancel, and values beside a DTSTART with a zone. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import type { ReadRules } from '../../../src/base/model/read-rules.js';
import { openHere } from '../../app/open-here.js';
import { testFolder } from '../../base/files/test-folder.js';
import { calendarOf, readCalendar } from './calendars.js';

const WINDOW = { from: '2026-09-01', to: '2027-02-01' };

function event(uid: string, ...lines: string[]): string[] {
  return ['BEGIN:VEVENT', `UID:${uid}`, ...lines, 'END:VEVENT'];
}

/** A lesson at 8 o'clock of a day in October. */
function lesson(uid: string, day: number, ...lines: string[]): string[] {
  return event(uid, `DTSTART:202610${day}T080000Z`, `DTEND:202610${day}T090000Z`, ...lines);
}

/** What is served of calendars in one file: starts and titles, and how many records were left out. */
async function served(t: Test, texts: readonly string[], rules: Partial<ReadRules> = {}) {
  const path = join(testFolder(t), 'lessons.ics');
  writeFileSync(path, texts.join(''));
  const timetable = openHere({ source: path, calendarFrom: WINDOW.from, calendarTo: WINDOW.to, ...rules });
  const { rejected, types } = await timetable.ready.then(({ rejected: count }) => ({
    rejected: count,
    types: timetable.types(),
  }));
  const { events } = timetable.find();
  await timetable.close();
  return { events: events.map(({ time, title }) => `${time.slice(5, 13)} ${title}`), rejected, types };
}

const calendar = (...events: string[][]): string => calendarOf(...events.flat());
const cancelling = (...events: string[][]): string => calendarOf('METHOD:CANCEL', ...events.flat());

test('of events with one UID, the highest SEQUENCE counts, in any order, at any start', async (t) => {
  const first = lesson('a', 12, 'SUMMARY:first');
  const second = lesson('a', 12, 'SUMMARY:second', 'SEQUENCE:1');
  const third = lesson('a', 14, 'SUMMARY:third', 'SEQUENCE:2', 'CATEGORIES:Lab');
  const other = lesson('b', 13, 'SUMMARY:other', 'CATEGORIES:Lecture');
  for (const order of [
    [first, second, third, other],
    [third, other, second, first],
    [second, third, first, other],
    [other, first, third, second],
  ]) {
    t.strictSame(await served(t, [calendar(...order)]), {
      events: ['10-13T08 other', '10-14T08 third'],
      rejected: 2,
      types: ['Lab', 'Lecture'],
    });
  }
  t.strictSame((await served(t, [calendar(first, second)])).events, ['10-12T08 second']);
  t.strictSame((await served(t, [calendar(second, first)])).events, ['10-12T08 second']);
  const before = lesson('a', 12, 'SUMMARY:first', 'CATEGORIES:Exam');
  t.strictSame((await served(t, [calendar(before, second)])).types, [], 'nothing is left of a version');
});

test('equal SEQUENCEs at several starts are several events', async (t) => {
  const events = [12, 13, 14].map((day) => lesson('same', day, `SUMMARY:${day}`));
  const again = lesson('same', 13, 'SUMMARY:again');
  t.strictSame(await served(t, [calendar(...events, again)]), {
    events: ['10-12T08 12', '10-13T08 13', '10-14T08 14'],
    rejected: 1,
    types: [],
  });
  const later = lesson('same', 20, 'SUMMARY:later', 'SEQUENCE:1');
  const found = await served(t, [calendar(...events, later)]);
  t.strictSame([found.events, found.rejected], [['10-20T08 later'], 3]);
});

test('the id of a field map finds the version to take back, too', async (t) => {
  const text = calendar(
    lesson('a', 12, 'SUMMARY:first'),
    lesson('b', 12, 'SUMMARY:other'),
    lesson('a', 14, 'SUMMARY:second', 'SEQUENCE:1'),
    lesson('c', 15, 'SUMMARY:gone'),
    lesson('c', 15, 'STATUS:CANCELLED', 'SEQUENCE:1'),
  );
  for (const id of ['UID', '{UID}-{DTSTART}']) {
    const { events } = await served(t, [text], { fieldMap: { id }, identifiers: 'any' });
    t.strictSame(events, ['10-12T08 other', '10-14T08 second'], id);
  }
});

test('a later cancelled version takes an event back, an earlier one does not', async (t) => {
  const other = lesson('b', 11, 'SUMMARY:other');
  const live = lesson('a', 12, 'SUMMARY:live', 'SEQUENCE:3');
  const left = async (sequence: number, day = 12): Promise<string[]> => {
    const cancelled = lesson('a', day, 'STATUS:CANCELLED', `SEQUENCE:${sequence}`);
    const found = await served(t, [calendar(other, live, cancelled)]);
    t.strictSame(found, await served(t, [calendar(cancelled, live, other)]), 'in any order');
    t.equal(found.rejected, 0);
    return found.events;
  };
  const both = ['10-11T08 other', '10-12T08 live'];
  t.strictSame(await left(4), both.slice(0, 1));
  t.strictSame(await left(3), both.slice(0, 1));
  t.strictSame(await left(4, 20), both.slice(0, 1), 'it was moved before');
  t.strictSame(await left(3, 20), both, 'another event');
  t.strictSame((await served(t, [calendar(other, live, lesson('a', 12, 'STATUS:CANCELLED'))])).events, both);
});

test('METHOD:CANCEL cancels events, series and single occurrences', async (t) => {
  const series = event(
    's',
    'DTSTART;TZID=Europe/Berlin:20261012T100000',
    'DTEND;TZID=Europe/Berlin:20261012T110000',
    'RRULE:FREQ=WEEKLY;COUNT=3',
    'SUMMARY:series',
  );
  const all = calendar(lesson('a', 12, 'SUMMARY:a'), lesson('b', 13, 'SUMMARY:b', 'SEQUENCE:1'), series);
  const weeks = ['10-12T08 series', '10-19T08 series', '10-26T09 series'];
  const left = async (...cancels: string[][]): Promise<string[]> => {
    const [after, before] = [
      [all, cancelling(...cancels)],
      [cancelling(...cancels), all],
    ];
    const { events, rejected } = await served(t, after);
    t.equal(rejected, 0);
    t.strictSame((await served(t, before)).events, events, 'in any order');
    return events;
  };
  t.strictSame(await left(lesson('a', 12, 'SEQUENCE:1')), [weeks[0], '10-13T08 b', ...weeks.slice(1)]);
  t.strictSame(await left(event('a'), event('b')), weeks, 'a UID is enough');
  t.strictSame(await left(event('b', 'SEQUENCE:0')), [
    weeks[0],
    '10-12T08 a',
    '10-13T08 b',
    ...weeks.slice(1),
  ]);
  t.strictSame(await left(event('s', 'SEQUENCE:1', 'DTSTART:20261012T080000Z')), [
    '10-12T08 a',
    '10-13T08 b',
  ]);
  const one = event('s', 'RECURRENCE-ID:20261019T100000', 'SEQUENCE:1');
  t.strictSame(await left(one), [weeks[0], '10-12T08 a', '10-13T08 b', weeks[2]]);
  const alone = readCalendar(cancelling(lesson('x', 12), series), WINDOW);
  t.strictSame([alone.events, alone.rejections], [[], []]);
  const published = readCalendar(calendarOf('METHOD:PUBLISH', ...lesson('x', 12)), WINDOW);
  t.equal(published.events.length, 1);
});

test('a local value is in the zone of its DTSTART, whatever the zone of the service', (t) => {
  const zoned = (name: string, value: string): string => `${name};TZID=Europe/Berlin:${value}`;
  const start = zoned('DTSTART', '20261105T100000');
  const weekly = [start, zoned('DTEND', '20261105T113000'), 'RRULE:FREQ=WEEKLY;COUNT=3'];
  const cases: [name: string, lines: string[], expected: string[]][] = [
    ['EXDATE', [...weekly, 'EXDATE:20261112T100000'], ['05T09', '19T09']],
    ['EXDATE of a day', [...weekly, 'EXDATE;VALUE=DATE:20261112'], ['05T09', '19T09']],
    [
      'EXDATE in four forms',
      [
        ...[start, 'RRULE:FREQ=DAILY;COUNT=5', 'EXDATE:20261105T090000Z', 'EXDATE:20261106T100000'],
        ...[zoned('EXDATE', '20261108T100000'), 'EXDATE;VALUE=DATE:20261109'],
      ],
      ['07T09'],
    ],
    ['RDATE', [start, 'RDATE:20261107T100000,20261108T100000'], ['05T09', '07T09', '08T09']],
    ['a period', [start, 'RDATE;VALUE=PERIOD:20261107T100000/20261107T120000'], ['05T09', '07T09']],
    ['DTEND', [start, 'DTEND:20261105T110000'], ['05T09']],
    ['UNTIL', [start, 'RRULE:FREQ=DAILY;UNTIL=20261106T100000'], ['05T09', '06T09']],
  ];
  for (const timeZone of [undefined, 'Europe/London', 'Pacific/Kiritimati']) {
    for (const [name, lines, expected] of cases) {
      const { events, rejections } = readCalendar(calendarOf(...event('z', ...lines)), {
        ...WINDOW,
        timeZone,
      });
      t.strictSame(rejections, [], name);
      t.strictSame(
        events.map(({ DTSTART = '' }) => DTSTART.slice(8, 13)),
        expected,
        `${name}, ${timeZone}`,
      );
      if (name === 'DTEND') t.equal(events[0]?.DTEND, '2026-11-05T10:00:00.000Z');
      if (name === 'a period') t.equal(events[1]?.DTEND, '2026-11-07T11:00:00.000Z');
    }
    const moved = event('z', 'RECURRENCE-ID:20261112T100000', zoned('DTSTART', '20261113T140000'));
    const inUtc = event('z', 'RECURRENCE-ID:20261112T100000', 'DTSTART:20261113T130000Z');
    for (const override of [moved, inUtc]) {
      const { events } = readCalendar(calendarOf(...event('z', ...weekly), ...override), {
        ...WINDOW,
        timeZone,
      });
      t.strictSame(events.map(({ DTSTART = '' }) => DTSTART.slice(8, 13)).sort(), [
        '05T09',
        '13T13',
        '19T09',
      ]);
    }
  }
  t.end();
});

test('a colour is no type, and what is no name is no name', async (t) => {
  const typeOf = (...lines: string[]): unknown =>
    readCalendar(calendarOf(...lesson('c', 12, ...lines))).events[0]?.CATEGORIES;
  t.equal(typeOf('CATEGORIES:Orange Category, Lecture'), 'Lecture');
  t.equal(typeOf('CATEGORIES:Blue Category', 'CATEGORIES:Green category,Lab\\, wet,Exam'), 'Lab, wet');
  t.equal(typeOf('CATEGORIES:Grüne Kategorie,Catégorie bleue,Categoría azul,Vorlesung'), 'Vorlesung');
  t.equal(typeOf('CATEGORIES:Red Category'), undefined);
  t.equal(typeOf('CATEGORIES:Exam Category'), 'Exam Category');
  const personOf = (line: string): unknown =>
    readCalendar(calendarOf(...lesson('c', 12, line))).events[0]?.PERSON;
  for (const name of ['mailto', ':mailto', 'MAILTO:ada@example.edu', 'ada@example.edu', '" "', 'mailto:'])
    t.equal(
      personOf(`ORGANIZER;CN=${name.replace(/^[^"].*:.*/, '"$&"')}:mailto:ada@example.edu`),
      'ada@example.edu',
      name,
    );
  t.equal(personOf('ORGANIZER;CN=Ada @ Lovelace:mailto:ada@example.edu'), 'Ada @ Lovelace');
  t.equal(personOf('ATTENDEE;CN=Mailton, A.:mailto:ada@example.edu'), 'Mailton');
  const { types } = await served(t, [calendar(lesson('c', 12, 'CATEGORIES:Purple Category,Lecture'))]);
  t.strictSame(types, ['Lecture']);
});

test('LAST-MODIFIED is the time of the last change, and DTSTAMP is not', async (t) => {
  const path = join(testFolder(t), 'lessons.ics');
  writeFileSync(
    path,
    calendar(lesson('a', 12, 'DTSTAMP:20261101T000000Z', 'LAST-MODIFIED:20260801T123000Z')),
  );
  const timetable = openHere({ source: path });
  t.teardown(() => timetable.close());
  await timetable.ready;
  t.match(
    Buffer.from(timetable.findBytes({}, 'ics')).toString(),
    'DTSTAMP:20260801T123000Z\r\nLAST-MODIFIED:20260801T123000Z',
  );
});
