/** Local times of IANA time zones, from Node's tables. */
import { DAY_MS, INSTANT_MS_MAX, INSTANT_MS_MIN } from './time.js';

/** Since 1972, clocks have changed only at full minutes of UTC. */
const STEP_MS = 60_000;
const OFFSETS_KEPT_MAX = 16_384;

/** An instant, and how its local time was found (RFC 5545 section 3.3.5). */
export interface LocalInstant {
  readonly instantMs: number;
  /**
   * `gap`: clocks skipped this local time. `overlap`: clocks showed it twice, and the earlier instant is
   * meant.
   */
  readonly kind: 'exact' | 'gap' | 'overlap';
}

/**
 * The number of local times in a load that clocks skipped or showed twice. Such times are read as RFC 5545
 * defines.
 */
export interface AmbiguousTimes {
  /** Times skipped when clocks went forward. */
  gaps: number;
  /** Times shown twice when clocks went back, and read as the earlier instant. */
  overlaps: number;
}

/**
 * Three letters name a clock, not a place, and ICU guesses: `BST` as Dhaka, `EST` without daylight time. The exceptions
 * have one meaning each.
 */
const ABBREVIATION = /^(?!utc|gmt|uct|prc|roc|rok)[a-z]{3}$/i;

export function isZoneAbbreviation(name: string): boolean {
  return ABBREVIATION.test(name);
}

/** Local times by the offsets of a zone. */
export abstract class ZoneClock {
  /** The offset from UTC at an instant. */
  abstract offsetMsAt(instantMs: number): number;

  /** @param localMs the local date and time, treated as UTC */
  instantOf(localMs: number): LocalInstant {
    const before = this.offsetMsAt(localMs - DAY_MS);
    const after = this.offsetMsAt(localMs + DAY_MS);
    const early = localMs - before;
    const isEarly = this.offsetMsAt(early) === before;
    if (before === after && isEarly) return { instantMs: early, kind: 'exact' };
    const late = localMs - after;
    const isLate = this.offsetMsAt(late) === after;
    if (isEarly) return { instantMs: early, kind: isLate ? 'overlap' : 'exact' };
    // In a gap, the result is the time after the gap, counted from the old clock.
    return isLate ? { instantMs: late, kind: 'exact' } : { instantMs: early, kind: 'gap' };
  }

  /**
   * The first instant of a date, like Temporal's `startOfDay`; if clocks skip midnight, the instant of the
   * skip.
   *
   * @param dateMs the date's midnight, treated as UTC
   */
  startOfDay(dateMs: number): number {
    const { instantMs, kind } = this.instantOf(dateMs);
    if (kind !== 'gap') return instantMs;
    const offsetMs = this.offsetMsAt(instantMs);
    let before = Math.floor((dateMs - offsetMs) / STEP_MS);
    let after = Math.ceil(instantMs / STEP_MS);
    // Invariant: the clock changes after `before`, and no later than `after`. Each round halves the distance.
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (this.offsetMsAt(middle * STEP_MS) === offsetMs) after = middle;
      else before = middle;
    }
    return after * STEP_MS;
  }
}

/** A zone of Node's tables. */
export class Zone extends ZoneClock {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  readonly #offsets = new Map<number, number>();
  readonly #offsetsKeptMax: number;

  /**
   * @param offsetsKeptMax number of offsets kept, at 60 bytes each
   * @throws RangeError for an abbreviation, and for a name that Node does not know
   */
  constructor(name: string, offsetsKeptMax: number = OFFSETS_KEPT_MAX) {
    super();
    if (isZoneAbbreviation(name)) throw new RangeError(`${name} is an abbreviation`);
    this.#offsetsKeptMax = offsetsKeptMax;
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      hourCycle: 'h23',
    });
    this.name = this.#format.resolvedOptions().timeZone;
  }

  override offsetMsAt(instantMs: number): number {
    if (this.name === 'UTC') return 0;
    const step = Math.floor(instantMs / STEP_MS);
    const known = this.#offsets.get(step);
    if (known !== undefined) return known;
    if (this.#offsets.size >= this.#offsetsKeptMax) this.#offsets.clear();
    const offsetMs = this.#measure(step * STEP_MS);
    this.#offsets.set(step, offsetMs);
    return offsetMs;
  }

  #measure(instantMs: number): number {
    const at = Math.min(INSTANT_MS_MAX, Math.max(INSTANT_MS_MIN, instantMs));
    const parts: Record<string, number> = {};
    let isBeforeChrist = false;
    for (const { type, value } of this.#format.formatToParts(at)) {
      if (type === 'era') isBeforeChrist = value !== 'AD';
      else if (type !== 'literal') parts[type] = Number(value);
    }
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    const local = new Date(0);
    local.setUTCFullYear(isBeforeChrist ? 1 - year : year, month - 1, day);
    local.setUTCHours(hour, minute, second);
    return local.getTime() - Math.floor(at / 1000) * 1000;
  }
}
