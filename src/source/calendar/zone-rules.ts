/** The rules of a VTIMEZONE (RFC 5545 section 3.6.5), for zones with unknown names. */
import { ZONE_CHANGES_MAX } from '../../limits.js';
import { parseTime } from './calendar-time.js';
import { expandRule, type Steps } from './expand-rule.js';
import { parseRule } from './recurrence-rule.js';

/** The unparsed lines of a STANDARD or DAYLIGHT component. */
export interface Observance {
  readonly start: string;
  readonly offsetFrom: string;
  readonly offsetTo: string;
  readonly rules: readonly string[];
  readonly dates: readonly string[];
}

export interface ZoneRules {
  /** Changes in ascending order. */
  readonly changes: readonly { readonly instantMs: number; readonly offsetMs: number }[];
  /** The offset before the first change. */
  readonly firstOffsetMs: number;
}

/** Rules without an end are expanded up to this time: 2100-01-01. */
const LAST_MS = 4_102_444_800_000;
/** A rule for each year since 1600 takes 200,000 steps. */
const ZONE_STEPS_MAX = 1_000_000;

/** Null if the rules are unreadable or have no observance. */
export function readZoneRules(observances: readonly Observance[]): ZoneRules | null {
  const steps = { left: ZONE_STEPS_MAX };
  const changes: { instantMs: number; offsetMs: number; fromMs: number }[] = [];
  for (const observance of observances) {
    const fromMs = parseOffset(observance.offsetFrom);
    const offsetMs = parseOffset(observance.offsetTo);
    if (fromMs === null || offsetMs === null) return null;
    const onsets = onsetsOf(observance, fromMs, steps);
    if (onsets === null || changes.length + onsets.length > ZONE_CHANGES_MAX) return null;
    for (const localMs of onsets) changes.push({ instantMs: localMs - fromMs, offsetMs, fromMs });
  }
  changes.sort((a, b) => a.instantMs - b.instantMs);
  const first = changes[0];
  return first === undefined ? null : { changes, firstOffsetMs: first.fromMs };
}

/** The local times of all changes of this observance, as the clock showed them before the change; null if it cannot be read. */
function onsetsOf({ start, rules, dates }: Observance, fromMs: number, steps: Steps): number[] | null {
  const begin = parseTime(start);
  if (typeof begin === 'string' || begin.isUtc) return null;
  const onsets = new Set([begin.localMs]);
  for (const text of dates) {
    const date = parseTime(text.split('/')[0] ?? '');
    if (typeof date === 'string') return null;
    onsets.add(date.isUtc ? date.localMs + fromMs : date.localMs);
  }
  for (const text of rules) {
    const rule = parseRule(text);
    if (typeof rule === 'string') return null;
    const until = rule.until === null ? null : parseTime(rule.until);
    if (typeof until === 'string') return null;
    const untilMs = until === null ? LAST_MS : until.localMs + (until.isUtc ? fromMs : 0);
    const window = { fromMs: begin.localMs, toMs: Math.min(untilMs, LAST_MS) };
    const isWhole = expandRule(rule, begin.localMs, window, steps, (localMs) => {
      if (localMs > window.toMs || onsets.size > ZONE_CHANGES_MAX) return false;
      onsets.add(localMs);
      return true;
    });
    if (!isWhole) return null;
  }
  return [...onsets];
}

/** `+0100`, `-053000` (RFC 5545 section 3.3.14). */
function parseOffset(text: string): number | null {
  const match = /^([+-])(\d\d):?([0-5]\d)([0-5]\d)?$/.exec(text.trim());
  if (match === null || Number(match[2]) > 23) return null;
  const seconds = (Number(match[2]) * 60 + Number(match[3])) * 60 + Number(match[4] ?? 0);
  return (match[1] === '-' ? -seconds : seconds) * 1000;
}
