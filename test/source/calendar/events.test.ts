/** The values made from the properties of an event. */
import { test } from 'tap';
import { derivedIdentifier } from '../../../src/base/model/derived-identifier.js';
import { CalendarReader } from '../../../src/source/calendar/calendar-reader.js';
import { FieldTable } from '../../../src/source/field-map.js';
import { calendarOf, eventOf, readCalendar } from './calendars.js';

const WINDOW = { from: '2026-01-01', to: '2027-12-31' };
const BERLIN = { ...WINDOW, timeZone: 'Europe/Berlin' };

/** `2026-09-14T06:00Z/07:30Z` */
function spans(text: string, rules: object = BERLIN): string[] {
  const { events, rejections } = readCalendar(text, rules);
  const times = events.map(({ DTSTART = '', DTEND = '' }) => {
    const isOneDay = DTSTART.slice(0, 10) === DTEND.slice(0, 10);
    return `${DTSTART.slice(0, 16)}Z/${DTEND.slice(isOneDay ? 11 : 0, 16)}Z`;
  });
  return [...times, ...rejections.map(({ code, detail }) => `${code}: ${detail}`)];
}

/** Time properties of one event, and their meaning in Europe/Berlin. */
const TIMES: readonly (readonly [name: string, lines: readonly string[], expected: readonly string[]])[] = [
  ['UTC', ['DTSTART:20260914T060000Z', 'DTEND:20260914T073000Z'], ['2026-09-14T06:00Z/07:30Z']],
  ['a duration', ['DTSTART:20260914T060000Z', 'DURATION:PT1H30M'], ['2026-09-14T06:00Z/07:30Z']],
  [
    'weeks, over a change of the clock',
    ['DTSTART;TZID=Europe/Berlin:20261020T080000', 'DURATION:P1W'],
    ['2026-10-20T06:00Z/2026-10-27T07:00Z'],
  ],
  [
    'hours, over a change of the clock',
    ['DTSTART;TZID=Europe/Berlin:20261020T080000', 'DURATION:PT168H'],
    ['2026-10-20T06:00Z/2026-10-27T06:00Z'],
  ],
  ['a time without an end has no length', ['DTSTART:20260914T060000Z'], ['2026-09-14T06:00Z/06:00Z']],
  [
    'a date without an end is one day',
    ['DTSTART;VALUE=DATE:20260914'],
    ['2026-09-13T22:00Z/2026-09-14T22:00Z'],
  ],
  [
    'a day of 25 hours',
    ['DTSTART;VALUE=DATE:20261025', 'DTEND;VALUE=DATE:20261026'],
    ['2026-10-24T22:00Z/2026-10-25T23:00Z'],
  ],
  [
    'a date that ends on itself is one day',
    ['DTSTART;VALUE=DATE:20260914', 'DTEND;VALUE=DATE:20260914'],
    ['2026-09-13T22:00Z/2026-09-14T22:00Z'],
  ],
  ['a floating time', ['DTSTART:20260914T080000', 'DTEND:20260914T093000'], ['2026-09-14T06:00Z/07:30Z']],
  [
    'a name of Windows',
    ['DTSTART;TZID="W. Europe Standard Time":20260914T080000'],
    ['2026-09-14T06:00Z/06:00Z'],
  ],
  [
    'a name behind a prefix',
    ['DTSTART;TZID=/mozilla.org/20050126_1/America/New_York:20260914T080000'],
    ['2026-09-14T12:00Z/12:00Z'],
  ],
  ['small letters', ['dtstart;tzid=europe/berlin:20260914t080000'], ['2026-09-14T06:00Z/06:00Z']],
  [
    'start and end in two zones',
    ['DTSTART;TZID=Europe/Berlin:20260914T080000', 'DTEND;TZID=America/New_York:20260914T080000'],
    ['2026-09-14T06:00Z/12:00Z'],
  ],
  ['a time that clocks skip', ['DTSTART;TZID=Europe/Berlin:20260329T023000'], ['2026-03-29T01:30Z/01:30Z']],
  [
    'a time that clocks show twice',
    ['DTSTART;TZID=Europe/Berlin:20261025T023000'],
    ['2026-10-25T00:30Z/00:30Z'],
  ],
];

test('all forms of event times are read', (t) => {
  for (const [name, lines, expected] of TIMES) t.strictSame(spans(eventOf(...lines)), expected, name);
  t.end();
});

/** Faults of one event, with a part of the detail. */
const FAULTS: readonly (readonly [lines: readonly string[], code: string, detail: RegExp])[] = [
  [['SUMMARY:x'], 'missing-field', /DTSTART is missing/],
  [['DTSTART:20260931T060000Z'], 'malformed-time', /2026-09 has no day 31/],
  [['DTSTART:20261301T060000Z'], 'malformed-time', /month 13 does not exist/],
  [['DTSTART:20260914T250000Z'], 'malformed-time', /hour 25 does not exist/],
  [['DTSTART:20260914T060060Z'], 'malformed-time', /second 60 cannot be represented/],
  [['DTSTART:20260914T060000+0200'], 'malformed-time', /not an iCalendar date or date-time/],
  [['DTSTART:2026-09-14T06:00:00Z'], 'malformed-time', /not an iCalendar date or date-time/],
  [['DTSTART:20260914T060000ZZ'], 'malformed-time', /not an iCalendar date or date-time/],
  [
    ['DTSTART;TZID=Mars/Olympus:20260914T060000'],
    'malformed-time',
    /TZID "Mars\/Olympus" is not a known zone/,
  ],
  [['DTSTART:20260914T060000Z', 'DTEND:20260914T050000Z'], 'end-before-start', /DTEND is before DTSTART/],
  [['DTSTART:20260914T060000Z', 'DURATION:-PT1H'], 'end-before-start', /DURATION is negative/],
  [['DTSTART:20260914T060000Z', 'DURATION:1 hour'], 'malformed-time', /not an iCalendar duration/],
  [['DTSTART:20260914T060000Z', 'DURATION:P999999999W'], 'malformed-time', /longer than a century/],
  [
    ['DTSTART:20260914T060000Z', 'DTEND;VALUE=DATE:20260915'],
    'malformed-time',
    /not both dates or both times/,
  ],
  [['DTSTART:20260914T060000Z', 'DTSTART:20260915T060000Z'], 'malformed-record', /DTSTART is given twice/],
  [
    ['DTSTART:20260914T060000Z', 'and a broken fold'],
    'malformed-record',
    /line 7 is not an iCalendar property/,
  ],
  [['DTSTART:20260914T060000Z', 'X-A;B="c:d'], 'malformed-record', /quote of its parameters is not closed/],
  [['DTSTART:20260914T060000Z', 'RRULE:FREQ=SOMETIMES'], 'malformed-recurrence', /FREQ is unknown/],
  [['DTSTART:20260914T060000Z', 'RRULE:COUNT=3'], 'malformed-recurrence', /no FREQ/],
  [['DTSTART:20260914T060000Z', 'RRULE:FREQ=DAILY;COUNT=0'], 'malformed-recurrence', /COUNT/],
  [['DTSTART:20260914T060000Z', 'RRULE:FREQ=DAILY;INTERVAL=-1'], 'malformed-recurrence', /INTERVAL/],
  [['DTSTART:20260914T060000Z', 'RRULE:FREQ=DAILY;UNTIL=tomorrow'], 'malformed-recurrence', /UNTIL/],
  [
    ['DTSTART:20260914T060000Z', 'RRULE:FREQ=DAILY;BYHOUR=24'],
    'malformed-recurrence',
    /BYHOUR is out of range/,
  ],
  [
    ['DTSTART:20260914T060000Z', 'RRULE:FREQ=DAILY;BYDAY=1MO'],
    'malformed-recurrence',
    /cannot be combined with FREQ=DAILY/,
  ],
  [
    ['DTSTART:20260914T060000Z', 'RRULE:FREQ=WEEKLY;BYEASTER=1'],
    'malformed-recurrence',
    /is not part of a rule/,
  ],
  [
    ['DTSTART:20260914T060000Z', 'RRULE:FREQ=DAILY', 'EXDATE:nonsense'],
    'malformed-time',
    /EXDATE "nonsense"/,
  ],
  [['DTSTART:20260914T060000Z', 'RDATE:20260230T060000Z'], 'malformed-time', /RDATE .* has no day 30/],
];

test('a faulty event is rejected with its line, and all others stay', (t) => {
  const good = (n: number): string[] => [
    'BEGIN:VEVENT',
    `UID:g${n}`,
    'DTSTART:20260914T060000Z',
    'END:VEVENT',
  ];
  for (const [lines, code, detail] of FAULTS) {
    const alone = readCalendar(eventOf(...lines), BERLIN);
    t.strictSame(alone.events, [], lines.join(' '));
    t.match(alone.rejections, [{ code, detail, position: { record: 1, line: 4 } }], lines.join(' '));
    t.equal(alone.rejections.length, 1);
    const between = calendarOf(...good(1), 'BEGIN:VEVENT', 'UID:b', ...lines, 'END:VEVENT', ...good(2));
    const read = readCalendar(between, BERLIN);
    t.equal(read.events.length, 2);
    t.match(read.rejections, [{ code, position: { record: 2, line: 8 } }]);
  }
  t.end();
});

test('times without a zone are rejected if the calendar has none; the message names the option', (t) => {
  for (const line of ['DTSTART:20260914T080000', 'DTSTART;VALUE=DATE:20260914']) {
    const { events, rejections } = readCalendar(eventOf(line), WINDOW);
    t.equal(events.length, 0);
    t.match(rejections, [{ code: 'malformed-time', field: 'time', detail: /--time-zone Europe\/Berlin/ }]);
    const own = calendarOf('X-WR-TIMEZONE:Europe/Berlin', 'BEGIN:VEVENT', 'UID:1', line, 'END:VEVENT');
    t.equal(readCalendar(own, WINDOW).events.length, 1, 'the zone of the calendar serves');
    const [event] = readCalendar(own, { ...WINDOW, timeZone: 'America/New_York' }).events;
    t.match(event?.DTSTART, /T12:00|T04:00/, 'the given zone wins');
  }
  t.end();
});

test('columns are properties with unescaped values', (t) => {
  const [event] = readCalendar(
    calendarOf(
      'X-WR-CALNAME:CS\\, first year',
      'BEGIN:VEVENT',
      'UID:42@example.edu',
      'DTSTART:20260914T060000Z',
      'SUMMARY;LANGUAGE=fr:Alg\u00e8bre \\; \\"1\\"\\nPart 2',
      'LOCATION:Hall 1\\, East',
      'DESCRIPTION:long',
      '  and folded',
      '\t tab',
      'CATEGORIES:Lecture\\, weekly,Exam',
      'CATEGORIES:Other',
      'ATTENDEE;CN="Doe, John":mailto:john@example.edu',
      "ORGANIZER;CN=Ada^'L^';ROLE=CHAIR:mailto:ada@example.edu",
      'x-course:C-17',
      'STATUS:CONFIRMED',
      'END:VEVENT',
    ),
  ).events;
  t.strictSame(event, {
    'X-WR-CALNAME': 'CS, first year',
    UID: '42@example.edu',
    SUMMARY: 'Alg\u00e8bre ; \\"1\\"\nPart 2',
    LOCATION: 'Hall 1, East',
    DESCRIPTION: 'long and folded tab',
    CATEGORIES: 'Lecture, weekly',
    ATTENDEE: 'Doe, John',
    PERSON: 'Ada"L"',
    ORGANIZER: 'Ada"L"',
    'X-COURSE': 'C-17',
    STATUS: 'CONFIRMED',
    id: derivedIdentifier('id', '42@example.edu 2026-09-14T06:00:00.000Z'),
    DTSTART: '2026-09-14T06:00:00.000Z',
    DTEND: '2026-09-14T06:00:00.000Z',
  });
  t.end();
});

test('the lecturer is the organiser or otherwise an attendee, by name or address', (t) => {
  const personOf = (...lines: string[]): string | undefined =>
    readCalendar(eventOf('DTSTART:20260914T060000Z', ...lines)).events[0]?.PERSON;
  t.equal(personOf('ORGANIZER:MAILTO:ada@example.edu'), 'ada@example.edu');
  t.equal(personOf('ATTENDEE;CN=John:mailto:j@x', 'ATTENDEE;CN=Jane:mailto:k@x'), 'John');
  t.equal(personOf('SUMMARY:x'), undefined);
  t.end();
});

test('cancelled events and other components are left out', (t) => {
  const text = calendarOf(
    ...['BEGIN:VEVENT', 'UID:1', 'DTSTART:20260914T060000Z', 'STATUS:CANCELLED', 'END:VEVENT'],
    ...['BEGIN:VTODO', 'UID:2', 'DTSTART:20260914T060000Z', 'BEGIN:VALARM', 'END:VALARM', 'END:VTODO'],
    ...['BEGIN:VJOURNAL', 'UID:3', 'DTSTART:20260914T060000Z', 'END:VJOURNAL'],
    ...['BEGIN:VFREEBUSY', 'UID:4', 'DTSTART:20260914T060000Z', 'END:VFREEBUSY'],
    ...[
      'BEGIN:VEVENT',
      'UID:5',
      'DTSTART:20260914T060000Z',
      'BEGIN:VALARM',
      'SUMMARY:alarm',
      'TRIGGER:-PT5M',
    ],
    ...['END:VALARM', 'SUMMARY:lesson', 'END:VEVENT'],
  );
  const { events, rejections } = readCalendar(text);
  t.match(events, [{ UID: '5', SUMMARY: 'lesson', TRIGGER: undefined }]);
  t.equal(events.length, 1);
  t.strictSame(rejections, []);
  t.end();
});

const VTIMEZONE = [
  'BEGIN:VTIMEZONE',
  'TZID:Campus',
  'BEGIN:STANDARD',
  'DTSTART:16011028T030000',
  'RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10',
  'TZOFFSETFROM:+0200',
  'TZOFFSETTO:+0100',
  'END:STANDARD',
  'BEGIN:DAYLIGHT',
  'DTSTART:16010325T020000',
  'RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3',
  'TZOFFSETFROM:+0100',
  'TZOFFSETTO:+0200',
  'END:DAYLIGHT',
  'END:VTIMEZONE',
];

test('a VTIMEZONE may define an unknown name, even after the events', (t) => {
  const lines = [
    '19990701T080000',
    '20260328T080000',
    '20260329T023000',
    '20260330T080000',
    '20261025T023000',
    '20261026T080000',
  ].flatMap((start, n) => ['BEGIN:VEVENT', `UID:${n}`, `DTSTART;TZID=Campus:${start}`, 'END:VEVENT']);
  const berlin = lines.map((line) => line.replace('Campus', 'Europe/Berlin'));
  const startsOf = (...all: string[]): (string | undefined)[] =>
    readCalendar(calendarOf(...all)).events.map(({ DTSTART }) => DTSTART);
  const expected = startsOf(...berlin);
  t.equal(expected.length, 6);
  t.strictSame(startsOf(...VTIMEZONE, ...lines), expected);
  t.strictSame(startsOf(...lines, ...VTIMEZONE), expected);
  const broken = VTIMEZONE.map((line) => line.replace('TZOFFSETTO:+0200', 'TZOFFSETTO:two hours'));
  const { events, rejections } = readCalendar(calendarOf(...broken, ...lines));
  t.equal(events.length, 0);
  t.match(rejections[0], { code: 'malformed-time', detail: /TZID "Campus"/ });
  const known = VTIMEZONE.map((line) => line.replace('Campus', 'Asia/Tokyo'));
  const tokyo = readCalendar(
    calendarOf(...known, ...lines.map((line) => line.replace('Campus', 'Asia/Tokyo'))),
  );
  t.equal(tokyo.events[1]?.DTSTART, '2026-03-27T23:00:00.000Z', 'a name of IANA wins');
  t.end();
});

test('several calendars in one source keep their own names and zones', (t) => {
  const one = (name: string, offset: string): string =>
    calendarOf(
      `X-WR-CALNAME:${name}`,
      ...VTIMEZONE.map((line) => line.replace(/TZOFFSET(FROM|TO):.*/, `TZOFFSET$1:${offset}`)),
      ...['BEGIN:VEVENT', `UID:${name}`, 'DTSTART;TZID=Campus:20260914T080000', 'END:VEVENT'],
    );
  const { events, reader } = readCalendar(one('A', '+0300') + one('B', '-0500'));
  t.match(events, [
    { 'X-WR-CALNAME': 'A', DTSTART: '2026-09-14T05:00:00.000Z' },
    { 'X-WR-CALNAME': 'B', DTSTART: '2026-09-14T13:00:00.000Z' },
  ]);
  t.equal(reader.selfDelimiting, false, 'a cut between them would not show');
  t.equal(readCalendar(one('A', '+0300')).reader.selfDelimiting, true);
  t.end();
});

test('recurrences have a window, which is reported; other events have none', (t) => {
  const daily = eventOf('DTSTART:20200101T060000Z', 'RRULE:FREQ=DAILY');
  const starts = readCalendar(daily, { from: '2026-09-01', to: '2026-09-03' }).events.map(
    ({ DTSTART }) => DTSTART,
  );
  t.strictSame(starts, ['2026-09-01T06:00:00.000Z', '2026-09-02T06:00:00.000Z']);
  const single = readCalendar(eventOf('DTSTART:19990101T060000Z'), WINDOW);
  t.equal(single.events.length, 1);
  t.equal(single.reader.expanded, undefined);
  const expanded = { from: '2026-01-01', to: '2027-12-31', outside: null };
  t.strictSame(readCalendar(daily, WINDOW).reader.expanded, expanded);
  const today = Date.now();
  const days = readCalendar(daily).events.map(({ DTSTART = '' }) => Date.parse(DTSTART));
  const day = 86_400_000;
  t.ok(days[0] !== undefined && today - days[0] >= 365 * day - day && today - days[0] <= 367 * day);
  t.ok((days.at(-1) ?? 0) - today >= 729 * day && (days.at(-1) ?? 0) - today <= 732 * day);
  t.end();
});

test('recurring events outside the window are counted, with the days that would show them', (t) => {
  const weekly = (uid: string, start: string, rule: string): string[] => [
    'BEGIN:VEVENT',
    `UID:${uid}`,
    `DTSTART:${start}`,
    `RRULE:FREQ=WEEKLY;${rule}`,
    'END:VEVENT',
  ];
  const outsideOf = (...lines: readonly string[]): unknown => {
    const text = calendarOf(...lines);
    const { outside = null } = readCalendar(text, WINDOW).reader.expanded ?? {};
    if (outside === null) return null;
    const { events } = readCalendar(text, { from: outside.from, to: outside.to });
    return { ...outside, served: events.length };
  };
  const past = weekly('past', '20230901T080000Z', 'COUNT=10');
  const until = weekly('until', '20221003T080000Z', 'UNTIL=20221101T000000Z');
  const late = weekly('late', '20300101T080000Z', 'COUNT=1');
  const present = weekly('present', '20260105T080000Z', 'COUNT=3');
  t.strictSame(outsideOf(...past), { events: 1, from: '2023-09-01', to: '2023-11-04', served: 10 });
  t.strictSame(outsideOf(...until), { events: 1, from: '2022-10-03', to: '2022-11-02', served: 5 });
  t.strictSame(outsideOf(...present), null);
  t.strictSame(outsideOf(...present, ...past, ...until, ...late), {
    ...{ events: 3, from: '2022-10-03', to: '2030-01-02' },
    served: 10 + 5 + 1 + 3,
  });
  const evening = ['BEGIN:VEVENT', 'UID:1', 'DTSTART;TZID=America/New_York:20230905T220000'];
  t.strictSame(outsideOf(...evening, 'RRULE:FREQ=DAILY;COUNT=2', 'END:VEVENT'), {
    ...{ events: 1, from: '2023-09-06', to: '2023-09-08' },
    served: 2,
  });
  const excluded = [
    ...present.slice(0, -2),
    'RRULE:FREQ=DAILY;COUNT=1',
    'EXDATE:20260105T080000Z',
    'END:VEVENT',
  ];
  t.strictSame(outsideOf(...excluded), null, 'what is excluded is not outside');
  t.end();
});

test('an expansion runs in short steps', (t) => {
  const lines = Array.from({ length: 300 }, (_, n) => [
    'BEGIN:VEVENT',
    `UID:${n}`,
    'DTSTART:20260105T080000Z',
    'RRULE:FREQ=DAILY;COUNT=100',
    'END:VEVENT',
  ]).flat();
  const reader = new CalendarReader('test', new FieldTable({ row() {}, fault() {} }, 'icalendar'), {
    identifiers: 'uuid',
    ...WINDOW,
  });
  reader.push(Buffer.from(calendarOf(...lines)));
  reader.finish();
  const records = [...reader.rest()].map(() => 0);
  t.ok(records.length > 10, `${records.length} steps`);
  t.equal(reader.records, 300 + 300 * 100);
  t.end();
});
