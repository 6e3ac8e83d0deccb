/** Recurrences equal a slow expansion, over two clock changes. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { Temporal } from 'temporal-polyfill';
import { size } from '../../hard/size.js';
import { type OracleRule, occurrencesOf, ruleText } from '../../oracle/recurrences.js';
import { eventOf, readCalendar } from './calendars.js';
import { placed } from './placed.js';

const LAST_DAY = Temporal.PlainDate.from('2026-12-31');
const DAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];

const some = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined, freq: 2 });
const listOf = <T>(value: fc.Arbitrary<T>, maxLength = 3): fc.Arbitrary<T[]> =>
  fc.uniqueArray(value, { minLength: 1, maxLength });
const signed = (max: number): fc.Arbitrary<number> =>
  fc.tuple(fc.integer({ min: 1, max }), fc.boolean()).map(([n, isLast]) => (isLast ? -n : n));

const rule: fc.Arbitrary<OracleRule> = fc
  .record({
    freq: fc.constantFrom('YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY'),
    interval: some(fc.integer({ min: 1, max: 5 })),
    count: some(fc.integer({ min: 1, max: 60 })),
    untilDays: some(fc.integer({ min: 0, max: 700 })),
    byMonth: some(listOf(fc.integer({ min: 1, max: 12 }), 4)),
    byWeekNo: some(listOf(signed(53))),
    byYearDay: some(listOf(signed(366), 6)),
    byMonthDay: some(listOf(signed(31), 6)),
    days: some(listOf(fc.constantFrom(...DAYS), 4)),
    ordinals: fc.array(fc.constantFrom(0, 0, 1, 2, -1, -2, 5), { minLength: 4, maxLength: 4 }),
    byHour: some(listOf(fc.integer({ min: 0, max: 23 }))),
    byMinute: some(listOf(fc.constantFrom(0, 10, 30, 45))),
    bySetPos: some(listOf(signed(4))),
    wkst: some(fc.constantFrom(...DAYS)),
  })
  .map(({ freq, untilDays, days, ordinals, ...given }) => {
    const mayHaveOrdinals = (freq === 'MONTHLY' || freq === 'YEARLY') && given.byWeekNo === undefined;
    const until = Temporal.Instant.from('2025-01-01T12:00:00Z').add({ hours: 24 * (untilDays ?? 0) });
    // Combinations that section 3.3.10 allows.
    return {
      ...given,
      freq: freq as OracleRule['freq'],
      count: untilDays === undefined ? given.count : undefined,
      until: untilDays === undefined ? undefined : until,
      byWeekNo: freq === 'YEARLY' ? given.byWeekNo : undefined,
      byYearDay: freq === 'YEARLY' || freq === 'HOURLY' ? given.byYearDay : undefined,
      byMonthDay: freq === 'WEEKLY' ? undefined : given.byMonthDay,
      byDay: days?.map((day, n) => (mayHaveOrdinals ? (ordinals[n] || '') + day : day)),
    } as OracleRule;
  });

interface Seen {
  occurrences: number;
  many: number;
  gaps: number;
  overlaps: number;
}

/** Compares a rule with its slow expansion. Times that clocks skip or show twice are counted alike. */
function compare(given: OracleRule, at: Temporal.PlainDateTime, zone: string, seen: Seen): void {
  const written = at.toString({ smallestUnit: 'second' }).replace(/[-:]/g, '');
  const text = eventOf(`DTSTART;TZID=${zone}:${written}`, 'DURATION:PT1H', `RRULE:${ruleText(given)}`);
  // Clocks change on neither end of the window.
  const { events, rejections, notes } = readCalendar(text, { from: '2024-01-01', to: '2026-12-30' });
  const expected = occurrencesOf(given, at, zone, LAST_DAY).filter(
    ({ instant }) => instant < Date.parse('2026-12-30T00:00:00Z'),
  );
  const found = events.map(({ DTSTART }) => DTSTART);
  const times = expected.map(({ instant }) => new Date(instant).toISOString());
  const [fault] = rejections;
  if (expected.length > 10_000) {
    assert.equal(fault?.code, 'too-many-occurrences');
    assert.deepEqual(found, times.slice(0, 10_000));
    return;
  }
  if (fault?.code === 'malformed-recurrence') {
    // Days that do not exist in any month.
    assert.equal(expected.length, 1, ruleText(given));
    return;
  }
  assert.deepEqual(rejections, [], ruleText(given));
  assert.deepEqual(found, times, ruleText(given));
  const gaps = expected.filter(({ kind }) => kind === 'gap').length;
  const overlaps = expected.filter(({ kind }) => kind === 'overlap').length;
  assert.deepEqual(notes.ambiguousTimes, { gaps, overlaps }, `${ruleText(given)} from ${written} in ${zone}`);
  seen.occurrences += found.length;
  seen.gaps += gaps;
  seen.overlaps += overlaps;
  if (found.length > 5) seen.many++;
}

const newSeen = (): Seen => ({ occurrences: 0, many: 0, gaps: 0, overlaps: 0 });

test('generated rules agree with a slow expansion, in five zones', (t) => {
  const seen = newSeen();
  fc.assert(
    fc.property(rule, placed, (given, { at, zone }) => compare(given, at, zone, seen)),
    { numRuns: size(110, 5000), seed: 41 },
  );
  t.ok(seen.occurrences > 1000 && seen.many > 25, JSON.stringify(seen));
  t.ok(seen.gaps > 3 && seen.overlaps > 3, JSON.stringify(seen));
  t.end();
});

const shortRule = fc
  .record({
    isMinutely: fc.boolean(),
    // Primes and divisors of an hour: some meet the hour of a clock change each day, others drift over it.
    interval: fc.constantFrom(7, 15, 20, 30, 37, 60, 90, 1440),
    count: some(fc.integer({ min: 1, max: 8000 })),
    byMonth: some(listOf(fc.constantFrom(3, 4, 10, 11), 3)),
    byMonthDay: some(listOf(signed(31), 20)),
    byDay: some(listOf(fc.constantFrom('SU', 'SU', 'SA', 'MO'), 3)),
    byHour: some(listOf(fc.integer({ min: 0, max: 4 }), 4)),
    byMinute: some(listOf(fc.integer({ min: 0, max: 59 }), 20)),
    bySecond: some(listOf(fc.integer({ min: 0, max: 59 }), 4)),
    bySetPos: some(listOf(signed(3))),
  })
  .map(({ isMinutely, interval, ...given }) => ({
    ...given,
    freq: isMinutely ? 'MINUTELY' : 'SECONDLY',
    interval: isMinutely ? interval : interval * 60 + (given.bySecond === undefined ? 0 : 1),
  })) as fc.Arbitrary<OracleRule>;

test('generated rules of minutes and seconds agree with a slow expansion, in five zones', (t) => {
  const seen = newSeen();
  fc.assert(
    fc.property(shortRule, placed, (given, { at, zone }) => compare(given, at, zone, seen)),
    { numRuns: size(60, 3000), seed: 43 },
  );
  t.ok(seen.occurrences > 5000 && seen.many > 15, JSON.stringify(seen));
  t.ok(seen.gaps > 5 && seen.overlaps > 5, JSON.stringify(seen));
  t.end();
});
