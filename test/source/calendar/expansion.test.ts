/** Recurrences equal a slow expansion, over two clock changes, and absurd rules end early. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { Temporal } from 'temporal-polyfill';
import { size } from '../../hard/size.js';
import { type OracleRule, occurrencesOf, ruleText } from '../../oracle/recurrences.js';
import { eventOf, readCalendar } from './calendars.js';

const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'Asia/Kathmandu',
];
const LAST_DAY = Temporal.PlainDate.from('2026-12-31');
const DAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];

const start = fc
  .record({
    days: fc.integer({ min: 0, max: 700 }),
    // Clocks change at night.
    hour: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 23 })),
    minute: fc.constantFrom(0, 15, 30, 59),
  })
  .map(({ days, hour, minute }) =>
    Temporal.PlainDateTime.from('2025-01-01T00:00').add({ days }).with({ hour, minute }),
  );

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

test('generated rules agree with a slow expansion, in five zones', {
  timeout: size(120_000, 1_800_000),
}, (t) => {
  const seen = { occurrences: 0, many: 0, gaps: 0 };
  fc.assert(
    fc.property(rule, start, fc.constantFrom(...ZONES), (given, at, zone) => {
      const written = at.toString({ smallestUnit: 'second' }).replace(/[-:]/g, '');
      const text = eventOf(`DTSTART;TZID=${zone}:${written}`, 'DURATION:PT1H', `RRULE:${ruleText(given)}`);
      const { events, rejections } = readCalendar(text, { from: '2024-01-01', to: '2027-01-01' });
      const expected = occurrencesOf(given, at, zone, LAST_DAY).filter(
        (instant) => instant < Date.parse('2027-01-01T00:00:00Z'),
      );
      const found = events.map(({ DTSTART }) => Date.parse(DTSTART ?? ''));
      if (expected.length > 10_000) {
        assert.equal(rejections[0]?.code, 'too-many-occurrences');
        assert.deepEqual(found, expected.slice(0, 10_000));
        return;
      }
      if (rejections[0]?.code === 'malformed-recurrence') {
        // Days that do not exist in any month.
        assert.equal(expected.length, 1, ruleText(given));
        return;
      }
      assert.deepEqual(rejections, []);
      // The last hours of the year differ between zones.
      const until = Date.parse('2026-12-31T00:00:00Z');
      assert.deepEqual(
        found.filter((instant) => instant < until).map((instant) => new Date(instant).toISOString()),
        expected.filter((instant) => instant < until).map((instant) => new Date(instant).toISOString()),
        ruleText(given),
      );
      seen.occurrences += found.length;
      if (found.length > 5) seen.many++;
    }),
    { numRuns: size(150, 5000), seed: 41 },
  );
  t.ok(seen.occurrences > 1000 && seen.many > 30, JSON.stringify(seen));
  t.end();
});
