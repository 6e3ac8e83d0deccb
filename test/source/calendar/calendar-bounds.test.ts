/** Work and memory of a whole calendar are bounded, and a fault names the bound that was reached. */
import { test } from 'tap';
import {
  CALENDAR_PROPERTIES_MAX,
  CALENDAR_STEPS_MAX,
  EVENT_STEPS_MAX,
  NAME_UNITS_MAX,
} from '../../../src/base/limits.js';
import { loadImage } from '../../../src/refresh/thread/load-image.js';
import { CalendarReader } from '../../../src/source/calendar/calendar-reader.js';
import { readZoneRules } from '../../../src/source/calendar/event-timing.js';
import { WAITING_BYTES_MAX } from '../../../src/source/calendar/kept-events.js';
import { FieldTable } from '../../../src/source/field-map.js';
import { readRecords } from '../../../src/source/formats/read-records.js';
import type { Source } from '../../../src/source/source.js';
import { inPieces } from '../collect.js';
import { calendarOf, eventOf, readCalendar } from './calendars.js';
import { cpuMs } from './floor.js';

const WINDOW = { from: '2026-01-01', to: '2028-12-31' } as const;
const NEVER = 'FREQ=SECONDLY;BYSETPOS=2';

const zone = (tzid: string, rule: string, offset = '+0100'): string[] => [
  'BEGIN:VTIMEZONE',
  `TZID:${tzid}`,
  'BEGIN:STANDARD',
  'DTSTART:19700101T000000',
  `TZOFFSETFROM:${offset}`,
  `TZOFFSETTO:${offset}`,
  ...(rule === '' ? [] : [`RRULE:${rule}`]),
  'END:STANDARD',
  'END:VTIMEZONE',
];
const event = (uid: string, ...lines: readonly string[]): string[] => [
  'BEGIN:VEVENT',
  `UID:${uid}`,
  ...lines,
  'END:VEVENT',
];
const starts = (text: string): (string | undefined)[] =>
  readCalendar(text, WINDOW).events.map(({ DTSTART }) => DTSTART);

test('an EXRULE excludes every occurrence in the window, however many it has', (t) => {
  const hourly = eventOf('DTSTART:20260101T090000Z', 'RRULE:FREQ=DAILY', 'EXRULE:FREQ=HOURLY');
  const { events, rejections } = readCalendar(hourly, WINDOW);
  t.strictSame([events.length, rejections], [0, []]);
  // The events that are served count, not those that are excluded.
  const late = eventOf(
    'DTSTART:20260101T000000Z',
    'RRULE:FREQ=HOURLY',
    'EXRULE:FREQ=HOURLY;UNTIL=20280630T000000Z;BYHOUR=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19',
  );
  const kept = readCalendar(late, WINDOW);
  t.equal(kept.events.length, 8059);
  t.equal(
    kept.events.filter(({ DTSTART = '' }) => DTSTART < '2028-06-30' && Number(DTSTART.slice(11, 13)) < 20)
      .length,
    0,
  );
  t.strictSame(kept.rejections, []);
  t.end();
});

test('an event with an EXRULE that cannot be expanded to its end is left out and reported', (t) => {
  const read = readCalendar(
    eventOf('DTSTART:20260101T090000Z', 'RRULE:FREQ=DAILY', 'EXRULE:FREQ=SECONDLY'),
    WINDOW,
  );
  t.strictSame(read.events, []);
  t.match(read.rejections, [
    {
      code: 'too-many-occurrences',
      detail: `EXRULE "FREQ=SECONDLY" was expanded for ${EVENT_STEPS_MAX} steps, the limit; the event is left out`,
    },
  ]);
  t.end();
});

test('an abbreviation is read if a VTIMEZONE of the calendar defines it, and rejected otherwise', (t) => {
  const lesson = event('a', 'DTSTART;TZID=BST:20260601T090000');
  t.strictSame(starts(calendarOf(...zone('BST', ''), ...lesson)), ['2026-06-01T08:00:00.000Z']);
  t.strictSame(
    starts(calendarOf(...lesson, ...zone('BST', ''))),
    ['2026-06-01T08:00:00.000Z'],
    'after the event',
  );
  t.strictSame(
    starts(
      calendarOf(...zone('Europe/Berlin', ''), ...event('a', 'DTSTART;TZID=Europe/Berlin:20260601T090000')),
    ),
    ['2026-06-01T07:00:00.000Z'],
    'the name of a place means its zone',
  );
  const { events, rejections } = readCalendar(calendarOf(...lesson), WINDOW);
  t.strictSame(events, []);
  t.match(rejections, [
    {
      code: 'malformed-time',
      position: { line: 4 },
      detail:
        'DTSTART "20260601T090000" cannot be read: its TZID "BST" is an abbreviation that may mean several zones, and no VTIMEZONE defines it',
    },
  ]);
  t.throws(() => readCalendar(calendarOf(), { timeZone: 'EST' }), { code: 'option-invalid' });
  t.end();
});

test('a fault names what is wrong with the VTIMEZONE', (t) => {
  const { rejections } = readCalendar(
    calendarOf(...zone('x', '', '+1'), ...event('a', 'DTSTART;TZID=x:20260601T090000')),
    WINDOW,
  );
  t.match(rejections, [
    {
      detail:
        /its TZID "x" is not a known zone, and its VTIMEZONE cannot be used: its TZOFFSETFROM and TZOFFSETTO/,
    },
  ]);
  t.end();
});

test('all time zones and events of a source share its steps', (t) => {
  const observances = [
    { start: '19700101T000000', offsetFrom: '+0100', offsetTo: '+0100', rules: [NEVER], dates: [] },
  ];
  const steps = { left: 1_200_000 };
  t.match(readZoneRules(observances, steps), /^its rules take more than \d+ steps/);
  t.match(readZoneRules(observances, steps), /^its rules take more than \d+ steps/);
  t.match(readZoneRules(observances, steps), /^all rules of the source have taken \d+ steps/);
  t.ok(steps.left <= 0);
  t.match(readZoneRules(observances, steps), /^all rules of the source have taken \d+ steps/);
  t.end();
});

test('faults of rules and zones name the limit of the source once its steps are taken', (t) => {
  const rejections: string[] = [];
  let events = 0;
  const sink = {
    row: () => {
      events++;
    },
    fault: ({ detail }: { detail: string }) => {
      rejections.push(detail);
    },
  };
  const steps = { left: EVENT_STEPS_MAX / 2 };
  const reader = new CalendarReader(
    'test',
    new FieldTable(sink, 'icalendar'),
    { identifiers: 'uuid', ...WINDOW },
    undefined,
    steps,
  );
  const text = calendarOf(
    ...event('early', 'DTSTART;TZID=A:20260601T090000'),
    ...Array.from({ length: 2000 }, (_, n) => zone(`Z${n}`, NEVER)).flat(),
    ...zone('A', ''),
    ...event('single', 'DTSTART:20260601T090000Z'),
    ...event('daily', 'DTSTART:20260101T090000Z', 'RRULE:FREQ=DAILY'),
  );
  const spentMs = cpuMs(() => {
    reader.push(Buffer.from(text));
    reader.finish();
    for (const _step of reader.rest()) reader.records;
  });
  // 2,000 zones with their own steps would take a minute.
  t.ok(spentMs < 5000, `${spentMs} ms`);
  t.equal(events, 2, 'the single event and the start of the daily one');
  t.match(rejections, [
    new RegExp(
      `its VTIMEZONE cannot be used: all rules of the source have taken ${CALENDAR_STEPS_MAX} steps`,
    ),
    `RRULE "FREQ=DAILY" was not expanded to its end, because all rules of the source have taken ${CALENDAR_STEPS_MAX} steps, the limit; later occurrences are left out`,
  ]);
  t.end();
});

test('each event of an undefined zone is rejected separately, however many there are', (t) => {
  const count = Math.ceil(WAITING_BYTES_MAX / 400);
  const rejections: { detail: string; code: string }[] = [];
  let events = 0;
  const sink = {
    row: () => {
      events++;
    },
    fault: ({ detail, code }: { detail: string; code: string }) => {
      rejections.push({ detail, code });
    },
  };
  const reader = new CalendarReader('test', new FieldTable(sink, 'icalendar'), {
    identifiers: 'uuid',
    ...WINDOW,
  });
  reader.push(Buffer.from('BEGIN:VCALENDAR\r\n'));
  for (let n = 0; n < count; n += 1000) {
    const lines = Array.from({ length: Math.min(1000, count - n) }, (_, place) =>
      event(`${n + place}`, 'DTSTART;TZID=Campus:20260601T090000').join('\r\n'),
    );
    reader.push(Buffer.from(`${lines.join('\r\n')}\r\n`));
  }
  const early = rejections.length;
  reader.push(
    Buffer.from(
      `${event('weekly', 'DTSTART:20260601T090000Z', 'RRULE:FREQ=WEEKLY;COUNT=3').join('\r\n')}\r\n`,
    ),
  );
  reader.push(Buffer.from('END:VCALENDAR\r\n'));
  reader.finish();
  for (const _step of reader.rest()) reader.records;
  t.equal(events, 3, 'others are served');
  t.equal(rejections.length, count);
  t.ok(early > 0 && early < count, `${early} of ${count} were rejected early`);
  t.strictSame([...new Set(rejections.map(({ code }) => code))], ['malformed-time']);
  const [first] = rejections;
  t.match(
    first?.detail,
    /TZID "Campus" is not a known zone, and no VTIMEZONE defines it so far; the event cannot wait for a later VTIMEZONE/,
  );
  t.match(rejections.at(-1)?.detail, /TZID "Campus" is not a known zone, and no VTIMEZONE defines it$/);
  t.end();
});

test('a name of a calendar that is too long for its events is left out and reported', (t) => {
  const long = calendarOf(
    `X-WR-CALNAME:${'x'.repeat(NAME_UNITS_MAX + 1)}`,
    ...event('a', 'DTSTART:20260914T080000Z'),
  );
  const { events, rejections } = readCalendar(long, WINDOW);
  t.equal(events[0]?.['X-WR-CALNAME'], undefined);
  t.match(rejections, [
    { code: 'malformed-text', detail: /^X-WR-CALNAME has 1025 characters; expected at most 1024/ },
  ]);
  t.end();
});

test('the longest name of a calendar fits into ordinary events, even if JSON escapes every character', async (t) => {
  const texts = ['SUMMARY', 'LOCATION', 'CATEGORIES', 'ATTENDEE'].map(
    (name) => `${name}:${'x'.repeat(1000)}`,
  );
  const lines = event('a', 'DTSTART:20260914T080000Z', 'DTEND:20260914T090000Z', ...texts);
  // A control character takes six bytes in JSON.
  const bytes = Buffer.from(calendarOf(`X-WR-CALNAME:${'\u0001'.repeat(NAME_UNITS_MAX)}`, ...lines));
  const source: Source = {
    name: 'test',
    load: async (sink, options = {}) => {
      const reading = { ...options, sourceName: 'test', bytesTotal: null };
      return { ...(await readRecords(inPieces(bytes, 0), sink, reading)), version: null };
    },
  };
  const { image } = await loadImage(source, { identifiers: 'uuid' });
  t.strictSame([image.summary.events, image.summary.rejected], [1, 0]);
});

test('an event with too many properties, or a name of a time zone that is too long, is rejected', (t) => {
  const properties = Array.from({ length: CALENDAR_PROPERTIES_MAX + 1 }, (_, n) => `X-${n}:x`);
  const start = 'DTSTART:20260914T080000Z';
  const many = readCalendar(calendarOf(...event('a', start, ...properties)), WINDOW);
  t.match(many.rejections, [{ code: 'malformed-record', detail: /more than 256 different properties/ }]);
  const zoned = `RDATE;TZID=${'z'.repeat(300)}:20260915T080000,20260916T080000`;
  const long = readCalendar(calendarOf(...event('a', start, zoned)), WINDOW);
  t.match(long.rejections, [{ code: 'malformed-time', detail: /the TZID of RDATE has 300 characters/ }]);
  t.end();
});
