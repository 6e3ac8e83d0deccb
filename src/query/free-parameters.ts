import { CAPACITY_MAX, PARAMETER_VALUES_MAX, WEEKS_MAX } from '../limits.js';
import type { IdentifierMode } from '../model/event.js';
import { CONFLICT_DIMENSIONS, type ConflictBy } from '../model/fields.js';
import { describeIdentifier, parseIdentifier } from '../model/identifier.js';
import { compareCodePoints, normaliseText, textFault } from '../model/text.js';
import { DAY_MS, INSTANT_MS_MAX } from '../model/time.js';
import { type Among, type FreeQuery, weeksOfDays, weeksOfWindow } from './free.js';
import {
  type DaysGiven,
  type GivenTexts,
  isWritable,
  quoteShortened,
  readCount,
  type TellFault,
} from './local-days.js';
import type { Window } from './query.js';

export interface FreeGiven extends DaysGiven {
  readonly window: Window;
  readonly identifiers: IdentifierMode;
}

const KINDS: readonly ConflictBy[] = CONFLICT_DIMENSIONS.map(({ by }) => by);

/** Reads the parameters that only GET /schedule/free has. Null after a reported fault. */
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
  const buildings = readBuildings(given, tell);
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
    tell('by', 'unknown-value', `${quoteShortened(value)} is not ${expected}`);
  return by;
}

/** Null after a fault, or if the window lacks a side or is empty. */
function readWindows({ given, window, local }: FreeGiven, tell: TellFault): readonly Window[] | null {
  const text = given.get('weeks')?.[0];
  const weeks = text === undefined ? 1 : readCount('weeks', text, WEEKS_MAX, tell);
  const { startMs, endMs } = window;
  const isWhole = Number.isFinite(startMs) && Number.isFinite(endMs) && startMs < endMs;
  const { days, zone } = local;
  if (weeks === null || zone === null || !isWhole) return null;
  const laterMs = (weeks - 1) * 7 * DAY_MS;
  const isAfter9999 =
    days === null
      ? endMs + laterMs > INSTANT_MS_MAX
      : !isWritable({ ...days, dateMs: days.dateMs + laterMs });
  if (isAfter9999) {
    tell('weeks', 'malformed-number', `${weeks} weeks of this window end after the year 9999`);
    return null;
  }
  return days === null ? weeksOfWindow(window, weeks, zone) : weeksOfDays(days, weeks);
}

/** The values of a repeatable parameter; null if it was not given, or after a fault. */
function readValues(name: string, given: GivenTexts, tell: TellFault): readonly string[] | null {
  const values = given.get(name) ?? null;
  if (values === null || values.length <= PARAMETER_VALUES_MAX) return values;
  const detail = `${name} has ${values.length} values; at most ${PARAMETER_VALUES_MAX} are allowed`;
  tell(name, 'too-many-values', detail);
  return null;
}

function readBuildings(given: GivenTexts, tell: TellFault): readonly string[] | null {
  const values = readValues('building', given, tell);
  for (const value of values ?? []) {
    if (normaliseText(value) === null) {
      tell('building', 'malformed-text', `${quoteShortened(value)} ${textFault(value)}`);
    }
  }
  return values === null ? null : canonical(values.map(normaliseText));
}

/** Rooms have only identifiers. Any text can name a lecturer or a group. */
function readAmong(by: ConflictBy, { given, identifiers }: FreeGiven, tell: TellFault): Among | null {
  const values = readValues('among', given, tell);
  if (values === null) return null;
  const [idKey, textKey] = CONFLICT_DIMENSIONS.find((each) => each.by === by)!.keys;
  const hasTexts = textKey !== undefined;
  const ids = values.map((value) => parseIdentifier(value, identifiers, idKey));
  const texts = values.map((value) => (hasTexts ? normaliseText(value) : null));
  values.forEach((value, n) => {
    if (ids[n] !== null || texts[n] !== null) return;
    if (hasTexts) tell('among', 'malformed-text', `${quoteShortened(value)} ${textFault(value)}`);
    else
      tell(
        'among',
        'malformed-identifier',
        `${quoteShortened(value)} is not ${describeIdentifier(identifiers)}`,
      );
  });
  return { ids: canonical(ids), texts: canonical(texts) };
}

function canonical(values: readonly (string | null)[]): readonly string[] {
  return [...new Set(values.filter((value) => value !== null))].sort(compareCodePoints);
}
