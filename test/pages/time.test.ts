/** Local days and times of the pages, against a slow version that reads Intl's texts, over changes of the clock. */
import fc from 'fast-check';
import { test } from 'tap';
import { dayOf, type Lesson } from '../../pages/lessons.js';
import {
  addDays,
  addMonths,
  dayStart,
  instantOf,
  isDate,
  offsetAt,
  wallTime,
  weekdayOf,
  weekNumber,
  weekStart,
} from '../../pages/time.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Two with changes at different dates, one of half an hour, one at midnight, one without changes. */
const ZONES = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'America/Santiago', 'Asia/Tokyo'];
/** Around both changes of 2026 in these zones. */
const CHANGES = [
  '2026-03-08',
  '2026-03-29',
  '2026-04-05',
  '2026-09-06',
  '2026-10-04',
  '2026-10-25',
  '2026-11-01',
];

const formats = new Map(
  ZONES.map((zone) => [
    zone,
    new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' }),
  ]),
);

/** `2026-10-25 02:30:00` */
const slowWall = (instant: number, zone: string): string => formats.get(zone)?.format(instant) ?? '';

/** Walks from quarter to quarter. */
function slowDayStart(date: string, zone: string): number {
  let instant = Date.parse(`${date}T00:00:00Z`) - 30 * HOUR_MS;
  while (slowWall(instant, zone).slice(0, 10) < date) instant += 15 * MINUTE_MS;
  return instant;
}

test('days of five zones begin where Intl says, also when clocks change', (t) => {
  for (const zone of ZONES) {
    for (const change of CHANGES) {
      for (const date of [-1, 0, 1].map((days) => addDays(change, days))) {
        t.equal(dayStart(date, zone), slowDayStart(date, zone), `${date} in ${zone}`);
      }
    }
  }
  t.end();
});

test('times on the clock are those of Intl', (t) => {
  const from = Date.UTC(2026, 0, 1);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 365 * 24 * 60 }), fc.constantFrom(...ZONES), (minutes, zone) => {
      const instant = from + minutes * MINUTE_MS;
      const { date, minute } = wallTime(instant, zone);
      const clock = `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
      return `${date} ${clock}:00` === slowWall(instant, zone);
    }),
    { seed: 36, numRuns: 2000 },
  );
  t.end();
});

test('a time on the clock becomes the instant with this time', (t) => {
  for (const zone of ZONES) {
    for (const change of CHANGES) {
      for (let minute = 0; minute < 1440; minute += 30) {
        const instant = instantOf(change, minute, zone);
        const { date, minute: found } = wallTime(instant, zone);
        // A skipped time is moved forward by the length of the gap.
        if (date !== change || found !== minute) {
          t.ok(
            offsetAt(instant, zone) > offsetAt(instant - 2 * HOUR_MS, zone),
            `${change} ${minute} ${zone}`,
          );
        }
      }
    }
  }
  t.end();
});

test('a lesson keeps its length on a day on which clocks go back', (t) => {
  // From 01:30 to 02:30 after the change: two hours, one of them twice on the clock.
  const start = Date.UTC(2026, 9, 24, 23, 30);
  const lesson: Lesson = {
    ...{ id: 'a', ids: ['a'], title: 'Night', kind: '', course: null, rooms: [], lecturers: [], groups: [] },
    ...{ start, end: start + 2 * HOUR_MS },
  };
  const [span] = dayOf([lesson], '2026-10-25', 'Europe/Berlin').spans;
  t.match(span, { from: 90, to: 150 }, 'both on the clock');
  const repeated = { ...lesson, start: Date.UTC(2026, 9, 25, 0, 45), end: Date.UTC(2026, 9, 25, 1, 15) };
  const [short] = dayOf([repeated], '2026-10-25', 'Europe/Berlin').spans;
  t.match(short, { from: 165, to: 195 }, 'it would end before it begins');
  t.same(dayOf([lesson], '2026-10-26', 'Europe/Berlin').spans, []);
  t.end();
});

test('weeks, months and dates', (t) => {
  t.equal(weekdayOf('2026-10-05'), 1);
  t.equal(weekStart('2026-10-11', 1), '2026-10-05');
  t.equal(weekStart('2026-10-11', 7), '2026-10-11');
  t.equal(weekStart('2026-10-10', 6), '2026-10-10');
  t.equal(addMonths('2026-12-31', 1), '2027-01-01');
  t.equal(addMonths('2026-01-15', -1), '2025-12-01');
  for (const [date, week] of [
    ['2026-01-01', 1],
    ['2027-01-01', 53],
    ['2024-12-30', 1],
    ['2026-10-07', 41],
  ] as const) {
    t.equal(weekNumber(date), week, date);
  }
  t.ok(isDate('2028-02-29'));
  for (const text of ['2026-02-29', '2026-2-1', 'today', '', '2026-13-01']) t.notOk(isDate(text), text);
  t.end();
});
