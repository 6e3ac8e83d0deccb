import { LecternError } from './errors.js';
import {
  CACHE_MB_MAX,
  EVENTS_MAX,
  GROWTH_PERCENT_MAX,
  LOAD_MEMORY_MB_MAX,
  LOAD_MEMORY_MB_MIN,
} from './limits.js';
import { suggest } from './query/suggest.js';
import type { TimetableOptions } from './timetable-options.js';

/** What a number may be. */
interface Range {
  readonly min: number;
  readonly max: number;
  readonly integer?: true;
}

/** As on the command line: a year. */
const SECONDS_MAX = 31_536_000;
const PERCENT: Range = { min: 0, max: 100 };
const RANGES = {
  refreshSeconds: { min: 0, max: SECONDS_MAX },
  staleSecondsMax: { min: 0, max: Number.POSITIVE_INFINITY },
  snapshotFilesKept: { min: 0, max: 100, integer: true },
  cacheMb: { min: 0, max: CACHE_MB_MAX },
  memoryMbMax: { min: LOAD_MEMORY_MB_MIN, max: LOAD_MEMORY_MB_MAX },
  eventsMax: { min: 1, max: EVENTS_MAX, integer: true },
} as const satisfies Partial<Record<keyof TimetableOptions, Range>>;

const CHOICES = {
  identifiers: ['uuid', 'any'],
  unknownParameters: ['reject', 'ignore'],
  buildOn: ['thread', 'here'],
  watch: [true, false],
} as const satisfies Partial<Record<keyof TimetableOptions, readonly unknown[]>>;

const NAMES: readonly string[] = [
  'source',
  'gate',
  'snapshotFile',
  'pin',
  'onProgress',
  ...Object.keys(RANGES),
  ...Object.keys(CHOICES),
];

/**
 * Checks what a program without types may have got wrong; the source is checked where it is used. Undefined is always
 * the default.
 *
 * @throws LecternError `option-invalid`
 */
export function checkTimetableOptions(options: TimetableOptions): void {
  for (const name of Object.keys(options)) {
    if (NAMES.includes(name)) continue;
    const near = suggest(name, NAMES);
    const hint = near === null ? `the options are ${NAMES.join(', ')}` : `did you mean ${near}?`;
    throw new LecternError('option-invalid', `there is no option ${JSON.stringify(name)}: ${hint}`);
  }
  for (const [name, range] of Object.entries(RANGES)) {
    checkNumber(name, options[name as keyof typeof RANGES], range);
  }
  for (const [name, choices] of Object.entries(CHOICES)) {
    const value: unknown = options[name as keyof typeof CHOICES];
    if (value === undefined || (choices as readonly unknown[]).includes(value)) continue;
    throw invalid(name, value, choices.map((choice) => JSON.stringify(choice)).join(' or '));
  }
  for (const name of ['snapshotFile', 'pin'] as const) {
    const value: unknown = options[name];
    if (value === undefined || (typeof value === 'string' && value !== '')) continue;
    throw invalid(name, value, 'a path');
  }
  if ((options.snapshotFilesKept ?? 0) > 0 && options.snapshotFile === undefined) {
    throw new LecternError('option-invalid', 'snapshotFilesKept has no effect without snapshotFile');
  }
  const gate: unknown = options.gate ?? {};
  if (gate === false) return;
  if (typeof gate !== 'object') throw invalid('gate', gate, 'an object or false');
  const { shrinkPercentMax, rejectPercentMax, growthPercentMax, allowEmpty } = gate as Record<
    string,
    unknown
  >;
  checkNumber('gate.shrinkPercentMax', shrinkPercentMax, PERCENT);
  checkNumber('gate.rejectPercentMax', rejectPercentMax, PERCENT);
  checkNumber('gate.growthPercentMax', growthPercentMax, { min: 0, max: GROWTH_PERCENT_MAX });
  if (allowEmpty !== undefined && typeof allowEmpty !== 'boolean') {
    throw invalid('gate.allowEmpty', allowEmpty, 'true or false');
  }
}

function checkNumber(name: string, value: unknown, { min, max, integer = undefined }: Range): void {
  if (value === undefined) return;
  // NaN is in no range.
  if (typeof value === 'number' && value >= min && value <= max && (!integer || Number.isInteger(value)))
    return;
  const kind = integer ? 'a whole number' : 'a number';
  throw invalid(
    name,
    value,
    max === Number.POSITIVE_INFINITY ? `${kind} from ${min} on` : `${kind} from ${min} to ${max}`,
  );
}

function invalid(name: string, value: unknown, expected: string): LecternError {
  const shown = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return new LecternError('option-invalid', `${name} is ${shown}; expected ${expected}`);
}
