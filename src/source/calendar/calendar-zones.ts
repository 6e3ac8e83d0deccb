/** Time zones by their names in calendars. */
import { ZONE_NAME_UNITS_MAX } from '../../limits.js';
import { DAY_MS } from '../../model/time.js';
import { Zone, ZoneClock } from '../../model/zone.js';
import { WINDOWS_ZONES } from './windows-zones.js';
import type { ZoneRules } from './zone-rules.js';

/** The instant of a local time, and whether clocks skipped it or showed it twice. */
export type ZoneInstant = ReturnType<ZoneClock['instantOf']>;

const DAYS_KEPT_MAX = 16_384;

/** A zone that remembers days without a clock change, so that most events cost one look-up. */
export class CalendarZone {
  readonly #zone: ZoneClock;
  /** For each local day, the offset of its zone; NaN if the offset changes on that day. */
  readonly #days = new Map<number, number>();

  constructor(zone: ZoneClock) {
    this.#zone = zone;
  }

  instantOf(localMs: number): ZoneInstant {
    const day = Math.floor(localMs / DAY_MS);
    let offsetMs = this.#days.get(day);
    if (offsetMs === undefined) {
      // Offsets are below a day, so the instants of a local day lie in the three UTC days around it.
      const before = this.#zone.offsetMsAt((day - 1) * DAY_MS);
      offsetMs = before === this.#zone.offsetMsAt((day + 2) * DAY_MS) ? before : Number.NaN;
      if (this.#days.size >= DAYS_KEPT_MAX) this.#days.clear();
      this.#days.set(day, offsetMs);
    }
    if (Number.isNaN(offsetMs)) return this.#zone.instantOf(localMs);
    return { instantMs: localMs - offsetMs, kind: 'exact' };
  }

  localOf(instantMs: number): number {
    return instantMs + this.#zone.offsetMsAt(instantMs);
  }
}

const UTC_NAMES = /^(?:utc|gmt|z|etc\/utc|etc\/gmt)$/i;

const known = new Map<string, CalendarZone | null>();
/** Zones that are remembered: enough for 600 zone names and as many wrong names. */
const NAMES_KEPT_MAX = 1200;

/** Finds a zone by its IANA or Windows name, but not by an abbreviation. The name may have a prefix such as `/mozilla.org/20050126_1/`. */
export function zoneOfName(name: string): CalendarZone | null {
  const trimmed = name.trim();
  if (trimmed.length > ZONE_NAME_UNITS_MAX) return null;
  const before = known.get(trimmed);
  if (before !== undefined) return before;
  const zone = findZone(trimmed);
  if (known.size >= NAMES_KEPT_MAX) known.clear();
  known.set(trimmed, zone);
  return zone;
}

function findZone(name: string): CalendarZone | null {
  if (UTC_NAMES.test(name)) return ianaZone('UTC');
  const windows = WINDOWS_ZONES.get(name.toLowerCase());
  if (windows !== undefined) return ianaZone(windows);
  const direct = ianaZone(name);
  if (direct !== null || !name.startsWith('/')) return direct;
  const parts = name.split('/').filter((part) => part !== '');
  // America/Argentina/Salta has three parts.
  for (let count = Math.min(3, parts.length); count > 0; count--) {
    const zone = ianaZone(parts.slice(-count).join('/'));
    if (zone !== null) return zone;
  }
  return null;
}

function ianaZone(name: string): CalendarZone | null {
  // Only newer versions of Node accept offsets such as +01:00 as names.
  if (!/^[A-Za-z]/.test(name)) return null;
  try {
    return new CalendarZone(new Zone(name));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** A zone defined by the rules of a VTIMEZONE. */
export class RuledZone extends ZoneClock {
  readonly #rules: ZoneRules;

  constructor(rules: ZoneRules) {
    super();
    this.#rules = rules;
  }

  override offsetMsAt(instantMs: number): number {
    const { instants, offsets, firstOffsetMs } = this.#rules;
    let low = 0;
    let high = instants.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((instants[middle] as number) <= instantMs) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? firstOffsetMs : (offsets[low - 1] as number);
  }
}
