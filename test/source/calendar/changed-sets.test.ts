/** EXDATE, RDATE and RECURRENCE-ID equal a slow expansion, on generated events around clock changes. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { Temporal } from 'temporal-polyfill';
import { SLOW, size } from '../../hard/size.js';
import { derivedIdentifier } from '../../oracle/derived-identifier.js';
import { localOf, type OracleSet, servedOf } from '../../oracle/recurrence-sets.js';
import { type OracleRule, occurrenceAt, occurrencesOf, ruleText } from '../../oracle/recurrences.js';
import { calendarOf, readCalendar } from './calendars.js';
import { placed } from './placed.js';

const BEFORE = Temporal.PlainDate.from('2026-12-30');
const WINDOW = { from: '2024-01-01', to: BEFORE.toString() };

const rule = fc.record({
  freq: fc.constantFrom('DAILY', 'DAILY', 'WEEKLY', 'HOURLY', 'MONTHLY'),
  interval: fc.constantFrom(1, 1, 2, 3),
  count: fc.integer({ min: 1, max: 60 }),
}) as fc.Arbitrary<OracleRule>;

/** An occurrence, the form in which it is written, and by how much it moves. */
const picks = fc.array(
  fc.record({
    place: fc.nat({ max: 59 }),
    form: fc.constantFrom('utc', 'local', 'day'),
    minutes: fc.oneof(
      fc.integer({ min: -180, max: 180 }),
      fc.constantFrom(-1440, -60, 60, 1440, 10_080, 43_200),
    ),
    isFuture: fc.boolean(),
    isCancelled: fc.constantFrom(true, false, false, false),
  }),
  { maxLength: 6 },
);

const written = (at: Temporal.PlainDateTime): string =>
  at.toString({ smallestUnit: 'second' }).replace(/[-:]/g, '');

test('generated exceptions of rules agree with a slow expansion, in five zones', (t) => {
  const seen = { served: 0, excluded: 0, added: 0, changed: 0, following: 0 };
  fc.assert(
    fc.property(rule, placed, picks, picks, picks, (given, { at, zone }, out, more, changed) => {
      const isShort = given.freq === 'DAILY' || given.freq === 'HOURLY';
      // 60 occurrences of every third day.
      const lastDay = isShort ? at.toPlainDate().add({ days: 180 }) : BEFORE;
      const base = occurrencesOf(given, at, zone, lastDay);
      const instantOf = (place: number): number => base[place % base.length]?.instant ?? 0;
      const timeOf = (name: string, form: string, instant: number): string =>
        form === 'utc'
          ? `${name}:${new Date(instant).toISOString().replace(/[-:]|\.000/g, '')}`
          : `${name};TZID=${zone}:${written(localOf(instant, zone))}`;
      const moved = (instant: number, minutes: number): Temporal.PlainDateTime =>
        localOf(occurrenceAt(localOf(instant, zone).add({ minutes }), zone).instant, zone);

      const [days, times] = [
        out.filter(({ form }) => form === 'day'),
        out.filter(({ form }) => form !== 'day'),
      ];
      const excludedDays = days.map(({ place }) => base[place % base.length]?.local.toPlainDate() ?? BEFORE);
      const added = more.map(({ place, minutes }) => moved(instantOf(place), minutes));
      const changes = new Map<number, OracleSet['changes'][number] & { readonly form: string }>();
      for (const { place, form, minutes, isFuture, isCancelled } of changed) {
        const replaces = instantOf(place);
        changes.set(replaces, { replaces, start: moved(replaces, minutes), isFuture, isCancelled, form });
      }
      const set: OracleSet = {
        zone,
        excluded: times.map(({ place }) => instantOf(place)),
        excludedDays,
        added,
        changes: [...changes.values()],
      };
      const lines = [
        ...['BEGIN:VEVENT', 'UID:1', `DTSTART;TZID=${zone}:${written(at)}`, 'DURATION:PT1H', 'SUMMARY:plain'],
        `RRULE:${ruleText(given)}`,
        ...excludedDays.map((day) => `EXDATE;VALUE=DATE:${day.toString().replaceAll('-', '')}`),
        ...times.map(({ form, place }) => timeOf('EXDATE', form, instantOf(place))),
        ...added.map((local, n) => timeOf('RDATE', more[n]?.form ?? '', occurrenceAt(local, zone).instant)),
        'END:VEVENT',
        ...[...changes.values()].flatMap(({ replaces, start, isFuture, isCancelled, form }, n) => [
          ...['BEGIN:VEVENT', 'UID:1', `DTSTART;TZID=${zone}:${written(start)}`, 'DURATION:PT30M'],
          timeOf(isFuture ? 'RECURRENCE-ID;RANGE=THISANDFUTURE' : 'RECURRENCE-ID', form, replaces),
          ...(isCancelled ? ['STATUS:CANCELLED'] : []),
          ...[`SUMMARY:change ${n}`, 'END:VEVENT'],
        ]),
      ];
      const { events, rejections } = readCalendar(calendarOf(...lines), WINDOW);
      assert.deepEqual(rejections, [], lines.join('\n'));
      const served = servedOf(set, base, BEFORE);
      const expected = served.map(({ instant, original, change }) => [
        new Date(instant).toISOString(),
        new Date(instant + (change === null ? 3_600_000 : 1_800_000)).toISOString(),
        change === null ? 'plain' : `change ${change}`,
        derivedIdentifier('id', `1 ${new Date(original).toISOString()}`),
      ]);
      const found = events.map(({ DTSTART, DTEND, SUMMARY, id }) => [DTSTART, DTEND, SUMMARY, id]);
      assert.deepEqual(found.map(String).sort(), expected.map(String).sort(), lines.join('\n'));
      seen.served += found.length;
      seen.excluded += out.length;
      seen.added += more.length;
      seen.changed += changes.size;
      const shifted = served.filter(({ original, change }) => {
        return change !== null && set.changes[change]?.replaces !== original;
      });
      seen.following += shifted.length;
    }),
    { numRuns: size(20, 5000, 70), seed: 47 },
  );
  t.ok(
    !SLOW ||
      (seen.served > 1000 &&
        seen.excluded > 50 &&
        seen.added > 50 &&
        seen.changed > 50 &&
        seen.following > 100),
    JSON.stringify(seen),
  );
  t.end();
});
