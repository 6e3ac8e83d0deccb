/** Starts of generated events, many of them at times that clocks skip or show twice. */
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';

/** Each changes its clocks twice in the days that are read. */
const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'America/St_Johns',
];
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

/** A time of day that clocks of the zone skip or show twice, some days before they do. */
const beforeChange = (zone: string): fc.Arbitrary<Temporal.PlainDateTime> => {
  const places: { first: Temporal.PlainDateTime; minutes: number }[] = [];
  for (
    let at = Temporal.ZonedDateTime.from(`2025-01-01T00:00[${zone}]`).getTimeZoneTransition('next');
    at !== null && at.year < 2027;
    at = at.getTimeZoneTransition('next')
  ) {
    const after = at.toPlainDateTime();
    const before = at.subtract({ seconds: 1 }).toPlainDateTime().add({ seconds: 1 });
    const first = Temporal.PlainDateTime.compare(before, after) < 0 ? before : after;
    places.push({ first, minutes: Math.abs(before.until(after).total('minutes')) });
  }
  return fc
    .record({
      place: fc.constantFrom(...places),
      share: fc.double({ min: 0, max: 0.99, noNaN: true }),
      days: fc.constantFrom(0, 1, 2, 3, 7, 14, 28, 60),
    })
    .map(({ place: { first, minutes }, share, days }) =>
      first.add({ minutes: Math.floor((share * minutes) / 15) * 15 }).subtract({ days }),
    );
};
/** A start in a zone. */
export const placed: fc.Arbitrary<{ zone: string; at: Temporal.PlainDateTime }> = fc
  .constantFrom(...ZONES)
  .chain((zone) =>
    fc.record({ zone: fc.constant(zone), at: fc.oneof(start, { weight: 3, arbitrary: beforeChange(zone) }) }),
  );
