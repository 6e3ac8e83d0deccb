/** Absurd rules end soon, even when all their events are delivered to the builder. */
import { test } from 'tap';
import { OCCURRENCES_MAX } from '../../../src/base/limits.js';
import { Normaliser, positionOf } from '../../../src/normalise/normalise.js';
import { SnapshotBuilder } from '../../../src/snapshot/builder.js';
import { RowIntake } from '../../../src/snapshot/row-intake.js';
import { CalendarReader } from '../../../src/source/calendar/calendar-reader.js';
import { FieldTable } from '../../../src/source/field-map.js';
import type { RowSink } from '../../../src/source/source.js';
import { SLOW } from '../../hard/size.js';
import { calendarOf, eventOf } from './calendars.js';
import { leastMs } from './floor.js';

const RULES = {
  identifiers: 'uuid',
  from: '2026-01-01',
  to: '2027-12-31',
  timeZone: 'Europe/Berlin',
} as const;

/** An absurd rule may cost as much as this many times the events of {@link WRITTEN_OUT}. */
const RATIO_MAX = 2;

interface Delivered {
  readonly events: number;
  readonly codes: readonly string[];
  readonly details: readonly string[];
}

function deliver(text: string): Delivered {
  const builder = new SnapshotBuilder({ identifiers: 'uuid' });
  const intake = new RowIntake(builder, 'uuid', new Normaliser({ identifiers: 'uuid' }));
  const delivered = { codes: [] as string[], details: [] as string[] };
  const sink: RowSink = {
    row: (row) => intake.add(row, positionOf),
    fault: ({ code, detail }) => {
      delivered.codes.push(code);
      delivered.details.push(detail);
    },
  };
  const reader = new CalendarReader('test', new FieldTable(sink, 'icalendar', RULES), RULES);
  reader.push(Buffer.from(text));
  reader.finish();
  for (const _step of reader.rest()) reader.records;
  return { events: builder.eventCount, ...delivered };
}

function upTo(last: number, first = 0): string {
  return Array.from({ length: last - first + 1 }, (_, n) => n + first).join(',');
}

/** `1,-1,2,-2` */
function bothEnds(last: number, first = 1): string {
  return Array.from({ length: last - first + 1 }, (_, n) => `${n + first},-${n + first}`).join(',');
}

/** Every weekday with all its numbers. */
function numberedDays(first: number): string {
  const numbers = bothEnds(53, first).split(',');
  return ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'].flatMap((day) => numbers.map((n) => n + day)).join(',');
}

/** As many events as a rule may give, each written out. */
const WRITTEN_OUT = calendarOf(
  ...Array.from({ length: OCCURRENCES_MAX }, (_, n) => {
    const day = String(1 + (n % 28)).padStart(2, '0');
    return ['BEGIN:VEVENT', `UID:${n}`, `DTSTART:202601${day}T080000Z`, 'END:VEVENT'];
  }).flat(),
);

const EACH_SECOND = `BYHOUR=${upTo(23)};BYMINUTE=${upTo(59)};BYSECOND=${upTo(59)}`;

/** Unrealistic rules, and how many occurrences are served. The report says that some are missing. */
const ABSURD: readonly (readonly [rule: string, start: string, served: number, code: string | null])[] = [
  ['FREQ=SECONDLY', '20260101T000000Z', OCCURRENCES_MAX, 'too-many-occurrences'],
  ['FREQ=HOURLY;BYMINUTE=0,15,30,45', '20260101T000000Z', OCCURRENCES_MAX, 'too-many-occurrences'],
  ['FREQ=SECONDLY;BYSECOND=1,3,5', '20260101T000000Z', OCCURRENCES_MAX, 'too-many-occurrences'],
  ['FREQ=SECONDLY', '19700101T000000Z', OCCURRENCES_MAX, 'too-many-occurrences'],
  ['FREQ=MINUTELY', '20260101T000000Z', OCCURRENCES_MAX, 'too-many-occurrences'],
  ['FREQ=SECONDLY;COUNT=1000000000', '20200101T000000Z', OCCURRENCES_MAX, 'too-many-occurrences'],
  ['FREQ=DAILY;COUNT=1000000000', '20260101T000000Z', 729, null],
  ['FREQ=DAILY;COUNT=20000', '19900101T080000Z', 729, null],
  ['FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31', '20260201T000000Z', 0, 'malformed-recurrence'],
  ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31', '20260201T000000Z', 0, 'malformed-recurrence'],
  ['FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=31', '20260201T000000Z', 0, 'malformed-recurrence'],
  ['FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=31;COUNT=5', '00010201T000000Z', 0, 'malformed-recurrence'],
  ['FREQ=YEARLY;BYMONTH=4,6;BYMONTHDAY=31,-31', '20260430T000000Z', 0, 'malformed-recurrence'],
  ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29', '20260201T000000Z', 1, null],
  ['FREQ=YEARLY;BYMONTH=2,3;BYMONTHDAY=31', '20260331T000000Z', 2, null],
  ['FREQ=SECONDLY;BYSECOND=60', '20260201T000000Z', 1, null],
  ['FREQ=DAILY;INTERVAL=999999999999999', '20260201T000000Z', 1, null],
  ['FREQ=SECONDLY;INTERVAL=999999999999999', '20260201T000000Z', 1, null],
  ['FREQ=YEARLY;COUNT=999999999', '00010101T000000Z', 2, null],
  ['FREQ=YEARLY;BYWEEKNO=53;BYMONTH=6;COUNT=3', '00010101T000000Z', 0, null],
  [`FREQ=YEARLY;${EACH_SECOND}`, '20260101T000000Z', OCCURRENCES_MAX, 'too-many-occurrences'],
  [
    `FREQ=YEARLY;BYYEARDAY=${upTo(366, 1)};BYHOUR=${upTo(23)};BYMINUTE=${upTo(59)};BYSETPOS=-1`,
    '20260101T000000Z',
    2,
    null,
  ],
  [`FREQ=MONTHLY;BYMONTHDAY=${upTo(31, 1)};BYDAY=5MO,-5TU`, '20260101T000000Z', 17, null],
  [`FREQ=SECONDLY;BYSETPOS=${bothEnds(366, 2)}`, '20260101T000000Z', 1, 'too-many-occurrences'],
  [`FREQ=MONTHLY;COUNT=9;BYDAY=${numberedDays(6)}`, '01000101T000000Z', 0, 'too-many-occurrences'],
  [`FREQ=YEARLY;COUNT=999999999;BYDAY=${numberedDays(1)}`, '01000101T000000Z', 0, 'too-many-occurrences'],
  [`FREQ=YEARLY;BYYEARDAY=${bothEnds(366)};COUNT=999999999`, '01000101T000000Z', 0, 'too-many-occurrences'],
  [`FREQ=YEARLY;BYWEEKNO=${bothEnds(53)};BYMONTHDAY=31;BYMONTH=2,3;COUNT=9`, '01000101T000000Z', 0, null],
  [`FREQ=YEARLY;BYYEARDAY=${upTo(366, 1)};${EACH_SECOND}`, '20271230T235959Z', 1, 'too-many-occurrences'],
  [
    `FREQ=DAILY;${EACH_SECOND};BYSETPOS=${bothEnds(366)}`,
    '20260101T000000Z',
    OCCURRENCES_MAX,
    'too-many-occurrences',
  ],
  [`FREQ=HOURLY;INTERVAL=25;COUNT=99999999;BYMONTH=1,2,3`, '01000101T000000Z', 0, 'too-many-occurrences'],
  [
    `FREQ=MINUTELY;COUNT=99999999;BYSECOND=${upTo(59)}`,
    '20251231T000000Z',
    OCCURRENCES_MAX,
    'too-many-occurrences',
  ],
];

test('absurd rules give a bounded number of occurrences and a report, and cost little more than these', (t) => {
  t.equal(deliver(WRITTEN_OUT).events, OCCURRENCES_MAX);
  let slowest = { name: '', spentMs: 0, floorMs: 1 };
  for (const [rule, start, served, code] of ABSURD) {
    const text = eventOf(`DTSTART:${start}`, `RRULE:${rule}`);
    const name = rule.slice(0, 60);
    const { events, codes } = deliver(text);
    t.strictSame({ events, codes }, { events: served, codes: code === null ? [] : [code] }, name);
    // Times are compared in `npm run test:slow`.
    if (!SLOW) continue;
    const { spentMs, floorMs } = leastMs(
      () => deliver(text),
      () => deliver(WRITTEN_OUT),
      RATIO_MAX,
    );
    if (spentMs / floorMs > slowest.spentMs / slowest.floorMs) slowest = { name, spentMs, floorMs };
    t.ok(
      spentMs <= RATIO_MAX * floorMs,
      `${name}: ${spentMs.toFixed(1)} ms against ${floorMs.toFixed(1)} ms`,
    );
  }
  t.comment(`slowest: ${JSON.stringify(slowest)}`);
  t.end();
});
