/** The rules of a VTIMEZONE (RFC 5545 section 3.6.5), for zones with unknown names. */
import { CALENDAR_STEPS_MAX, ZONE_CHANGES_MAX } from '../../base/limits.js';
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
  /** The instants of the clock changes in ascending order. `offsets` has the offset after each change. */
  readonly instants: Float64Array;
  readonly offsets: Float64Array;
  /** The offset before the first change. */
  readonly firstOffsetMs: number;
}

/** Rules without an end are expanded up to this time: 2100-01-01. */
const LAST_MS = 4_102_444_800_000;
/** Two rules for each year since 1600 take 470,000 steps. */
const ZONE_STEPS_MAX = 500_000;
/** A kept clock change counts as this many steps, so that all zones of a source take at most 80 MB. */
const CHANGE_STEPS = 100;

/** @returns a clause on the fault, such as "it has no STANDARD or DAYLIGHT" */
export function readZoneRules(observances: readonly Observance[], sourceSteps: Steps): ZoneRules | string {
  const stepsMax = Math.min(ZONE_STEPS_MAX, sourceSteps.left);
  const steps = { left: stepsMax };
  const rules = changesOf(observances, steps);
  sourceSteps.left -= stepsMax - steps.left;
  if (steps.left > 0) return rules;
  return stepsMax === ZONE_STEPS_MAX
    ? `its rules take more than ${ZONE_STEPS_MAX} steps, the limit`
    : `all rules of the source have taken ${CALENDAR_STEPS_MAX} steps, the limit`;
}

function changesOf(observances: readonly Observance[], steps: Steps): ZoneRules | string {
  const changes: { instantMs: number; offsetMs: number; fromMs: number }[] = [];
  for (const observance of observances) {
    const fromMs = parseOffset(observance.offsetFrom);
    const offsetMs = parseOffset(observance.offsetTo);
    if (fromMs === null || offsetMs === null)
      return 'its TZOFFSETFROM and TZOFFSETTO are not offsets such as +0100';
    const onsets = onsetsOf(observance, fromMs, steps);
    if (typeof onsets === 'string') return onsets;
    if (changes.length + onsets.length > ZONE_CHANGES_MAX)
      return `it has more than ${ZONE_CHANGES_MAX} clock changes, the limit`;
    for (const localMs of onsets) changes.push({ instantMs: localMs - fromMs, offsetMs, fromMs });
  }
  changes.sort((a, b) => a.instantMs - b.instantMs);
  const first = changes[0];
  if (first === undefined) return 'it has no STANDARD or DAYLIGHT';
  return {
    instants: Float64Array.from(changes, ({ instantMs }) => instantMs),
    offsets: Float64Array.from(changes, ({ offsetMs }) => offsetMs),
    firstOffsetMs: first.fromMs,
  };
}

/** The local times at which an observance begins, by the clock before each change; or a clause on the fault. */
function onsetsOf({ start, rules, dates }: Observance, fromMs: number, steps: Steps): number[] | string {
  const begin = parseTime(start);
  if (typeof begin === 'string') return `its DTSTART: ${begin}`;
  if (begin.isUtc) return 'a DTSTART in it is not a local time';
  const onsets = new Set([begin.localMs]);
  for (const text of dates) {
    const date = parseTime(text.split('/')[0] ?? '');
    if (typeof date === 'string') return `its RDATE: ${date}`;
    onsets.add(date.isUtc ? date.localMs + fromMs : date.localMs);
  }
  for (const text of rules) {
    const rule = parseRule(text);
    if (typeof rule === 'string') return `its RRULE: ${rule}`;
    const until = rule.until === null ? null : parseTime(rule.until);
    if (typeof until === 'string') return `its UNTIL: ${until}`;
    const untilMs = until === null ? LAST_MS : until.localMs + (until.isUtc ? fromMs : 0);
    const window = { fromMs: begin.localMs, toMs: Math.min(untilMs, LAST_MS) };
    expandRule(rule, begin.localMs, window, steps, (localMs) => {
      if (localMs > window.toMs || onsets.size > ZONE_CHANGES_MAX) return false;
      onsets.add(localMs);
      return true;
    });
  }
  steps.left -= CHANGE_STEPS * onsets.size;
  return [...onsets];
}

/** `+0100`, `-053000` (RFC 5545 section 3.3.14). */
function parseOffset(text: string): number | null {
  const match = /^([+-])(\d\d):?([0-5]\d)([0-5]\d)?$/.exec(text.trim());
  if (match === null || Number(match[2]) > 23) return null;
  const seconds = (Number(match[2]) * 60 + Number(match[3])) * 60 + Number(match[4] ?? 0);
  return (match[1] === '-' ? -seconds : seconds) * 1000;
}
