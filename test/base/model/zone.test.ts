/** Local times against Temporal. Inside, because every hour of years is tried without records. */
import { test } from 'tap';
import { Temporal } from 'temporal-polyfill';
import { Zone } from '../../../src/base/model/zone.js';
import { SLOW } from '../../hard/size.js';
import { fastTest } from '../../hard/slow-test.js';

const STEP_MS = SLOW ? 300_000 : 1_500_000;
const HOUR_MS = 3_600_000;

const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Africa/Casablanca',
  'Pacific/Apia',
  'Europe/Dublin',
  'UTC',
];

/** Local times in steps of five minutes, or 25 in `npm test`, around each change of the clock from 1990 to 2040. */
function* localTimesAround(name: string): Generator<number> {
  let at = Temporal.ZonedDateTime.from(`1990-01-01T00:00[${name}]`);
  for (;;) {
    const next = at.getTimeZoneTransition('next');
    if (next === null || next.year > 2040) return;
    const local = next.toPlainDateTime().toZonedDateTime('UTC').epochMilliseconds;
    for (let ms = local - 3 * HOUR_MS; ms <= local + 3 * HOUR_MS; ms += STEP_MS) yield ms;
    at = next;
  }
}

test('local times become the same instants as in Temporal, around every clock change', (t) => {
  const kinds = { exact: 0, gap: 0, overlap: 0 };
  for (const name of ZONES) {
    const zone = new Zone(name);
    let wrong = 0;
    for (const localMs of localTimesAround(name)) {
      const plain = Temporal.PlainDateTime.from(new Date(localMs).toISOString().slice(0, 19));
      const { instantMs, kind } = zone.instantOf(localMs);
      const earlier = plain.toZonedDateTime(name, { disambiguation: 'earlier' });
      const later = plain.toZonedDateTime(name, { disambiguation: 'later' });
      const isExact = earlier.epochMilliseconds === later.epochMilliseconds;
      const isGap = !isExact && !earlier.toPlainDateTime().equals(plain);
      if (kind !== (isExact ? 'exact' : isGap ? 'gap' : 'overlap')) wrong++;
      if (instantMs !== plain.toZonedDateTime(name).epochMilliseconds) wrong++;
      if (
        zone.offsetMsAt(instantMs) !==
        Temporal.Instant.fromEpochMilliseconds(instantMs).toZonedDateTimeISO(name).offsetNanoseconds / 1e6
      )
        wrong++;
      kinds[kind]++;
    }
    t.equal(wrong, 0, name);
  }
  t.ok(
    kinds.exact * STEP_MS > 3e9 && kinds.gap * STEP_MS > 3e8 && kinds.overlap * STEP_MS > 3e8,
    JSON.stringify(kinds),
  );
  t.end();
});

fastTest('an unknown zone is a RangeError', (t) => {
  t.throws(() => new Zone('Europe/Atlantis'), RangeError);
  t.equal(new Zone('europe/berlin').name, 'Europe/Berlin');
  t.end();
});
