import { CAPACITY_MAX, PARAMETER_VALUES_MAX, WEEKS_MAX } from '../limits.js';
import type { IdentifierMode } from '../model/event.js';
import { CONFLICT_DIMENSIONS, type ConflictBy, FIELDS } from '../model/fields.js';
import { describeIdentifier, parseIdentifier } from '../model/identifier.js';
import { compareCodePoints, normaliseText } from '../model/text.js';
import { DAY_MS, INSTANT_MS_MAX } from '../model/time.js';
import { type FreeQuery, weeksOfDays, weeksOfWindow } from './free.js';
import {
  type GivenTexts,
  isTooLate,
  type LocalDays,
  quote,
  readCount,
  type TellFault,
} from './local-days.js';
import type { Window } from './query.js';

export interface FreeGiven {
  readonly given: GivenTexts;
  /** Whether the request has the parameter, with any value. */
  isGiven(name: string): boolean;
  readonly window: Window;
  readonly local: LocalDays;
  readonly identifiers: IdentifierMode;
}

const KINDS: readonly ConflictBy[] = CONFLICT_DIMENSIONS.map(({ by }) => by);

/** The parameters of GET /schedule/free that no other endpoint has. Null after a fault was told. */
export function readFreeQuery(request: FreeGiven, tell: TellFault): FreeQuery | null {
  const { given, isGiven } = request;
  const by = readBy(request, tell);
  if (!isGiven('date')) {
    for (const name of ['startTime', 'endTime'].filter((each) => !isGiven(each))) {
      tell(name, 'missing-parameter', `${name} must be given, or date in place of startTime and endTime`);
    }
  }
  const windows = readWindows(request, tell);
  const among = by === null ? null : readAmong(by, request, tell);
  const buildings = readTexts('building', given, tell);
  const text = given.get('capacityMin')?.[0];
  const capacityMin = text === undefined ? null : readCount('capacityMin', text, CAPACITY_MAX, tell);
  if (by !== null && by !== 'room') {
    for (const name of ['building', 'capacityMin'].filter(isGiven)) {
      tell(name, 'wrong-combination', `${name} can be given with by=room only`);
    }
  }
  return by === null || windows === null ? null : { by, windows, among, buildings, capacityMin };
}

function readBy({ given, isGiven }: FreeGiven, tell: TellFault): ConflictBy | null {
  const value = given.get('by')?.[0];
  const by = KINDS.find((each) => each === value) ?? null;
  const expected = `one of ${KINDS.join(', ')}`;
  if (!isGiven('by')) tell('by', 'missing-parameter', `by must be given: ${expected}`);
  else if (by === null && value !== undefined)
    tell('by', 'unknown-value', `${quote(value)} is not ${expected}`);
  return by;
}

/** Null after a fault, or for a window that lacks a side or has no time. */
function readWindows({ given, window, local }: FreeGiven, tell: TellFault): readonly Window[] | null {
  const text = given.get('weeks')?.[0];
  const weeks = text === undefined ? 1 : readCount('weeks', text, WEEKS_MAX, tell);
  const { startMs, endMs } = window;
  const isWhole = Number.isFinite(startMs) && Number.isFinite(endMs) && startMs < endMs;
  const { days, zone } = local;
  if (weeks === null || zone === null || !isWhole) return null;
  const laterMs = (weeks - 1) * 7 * DAY_MS;
  const isAfter9999 =
    days === null ? endMs + laterMs > INSTANT_MS_MAX : isTooLate(days.dateMs + laterMs, days.days);
  if (isAfter9999) {
    tell('weeks', 'malformed-number', `${weeks} weeks of this window end after the year 9999`);
    return null;
  }
  return days === null ? weeksOfWindow(window, weeks, zone) : weeksOfDays(days, weeks);
}

/** Canonical values in order of code points; null where the parameter was not given, or after a fault. */
function readTexts(
  name: string,
  given: GivenTexts,
  tell: TellFault,
  canonicalOf: (value: string) => readonly string[] = canonicalTexts,
  fault: Parameters<TellFault>[1] = 'malformed-text',
  expected = 'well-formed text',
): readonly string[] | null {
  const values = given.get(name);
  if (values === undefined) return null;
  if (values.length > PARAMETER_VALUES_MAX) {
    const detail = `${name} has ${values.length} values; at most ${PARAMETER_VALUES_MAX} are allowed`;
    tell(name, 'too-many-values', detail);
    return null;
  }
  const texts = new Set<string>();
  for (const value of values) {
    const canonical = canonicalOf(value);
    if (canonical.length === 0) tell(name, fault, `${quote(value)} is not ${expected}`);
    for (const text of canonical) texts.add(text);
  }
  return [...texts].sort(compareCodePoints);
}

function canonicalTexts(value: string): readonly string[] {
  const text = normaliseText(value);
  return text === null ? [] : [text];
}

/** Identifiers; where a kind also has texts for keys, a value is taken for both. */
function readAmong(by: ConflictBy, { given, identifiers }: FreeGiven, tell: TellFault) {
  const keys: readonly string[] = CONFLICT_DIMENSIONS.find((each) => each.by === by)?.keys ?? [];
  const hasTexts = FIELDS.some(({ name, kind }) => kind === 'text' && keys.includes(name));
  const canonicalOf = (value: string): readonly string[] => {
    const id = parseIdentifier(value, identifiers);
    const texts = hasTexts ? canonicalTexts(value) : [];
    return id === null ? texts : [id, ...texts];
  };
  return hasTexts
    ? readTexts('among', given, tell, canonicalOf)
    : readTexts('among', given, tell, canonicalOf, 'malformed-identifier', describeIdentifier(identifiers));
}
