import { isExpansionWindow } from '../model/expansion.js';
import type { ReadRules } from '../model/read-rules.js';
import type { Beside } from '../snapshot/image-layout.js';
import type { NotesReport } from '../source/load-notes.js';
import type { PartReport } from '../source/source.js';

/** Raise this number with every change in the form of copies or reports. */
const VERSION = 2;

interface Stored {
  readonly version: number;
  /** The rules of the load, because other rules would read other values and make the copies invalid. */
  readonly rules: string;
  /** The reports of the parts; instead of bytes, a copy has the number of its array. */
  readonly parts: readonly unknown[];
}

/** The parts of several sources in a snapshot file. */
export function storedParts(parts: readonly PartReport[], rules: ReadRules): Beside | null {
  if (parts.length === 0) return null;
  const arrays: Uint8Array[] = [];
  const meta: Stored = {
    version: VERSION,
    rules: JSON.stringify(rules),
    parts: parts.map((part) => {
      if (part.copy === null) return part;
      const { bytes, notes } = part.copy;
      // A Map would become an object when read back.
      const stored = { ...notes, columns: [...notes.columns] };
      return { ...part, copy: { ...part.copy, notes: stored, bytes: arrays.push(bytes) - 1 } };
    }),
  };
  return { meta, arrays };
}

/**
 * The parts in a snapshot file. Empty if they were made with other rules, so that all sources are read again.
 */
export function partsOfStored(beside: Beside | null, rules: ReadRules): PartReport[] {
  if (beside === null) return [];
  const { version, rules: madeWith, parts } = beside.meta as Partial<Stored>;
  if (version !== VERSION || madeWith !== JSON.stringify(rules) || !Array.isArray(parts)) return [];
  return parts.flatMap((part: unknown) => partOf(part, beside.arrays) ?? []);
}

function partOf(value: unknown, arrays: Beside['arrays']): PartReport | null {
  if (!isObject(value)) return null;
  const { id, name, copy, confirmedMs, failure } = value;
  const isGood =
    typeof id === 'string' &&
    isShown(name) &&
    (confirmedMs === null || typeof confirmedMs === 'number') &&
    (failure === null || (isObject(failure) && isFailure(failure)));
  if (!isGood) return null;
  if (copy === null) return value as unknown as PartReport;
  if (!isObject(copy) || !isCopy(copy)) return null;
  const bytes = arrays[copy.bytes as number];
  const notes = notesOf(copy.notes);
  if (!(bytes instanceof Uint8Array) || notes === null) return null;
  return { ...value, copy: { ...copy, notes, bytes } } as unknown as PartReport;
}

function isFailure({ code, message, sinceMs, retryAtMs }: Readonly<Record<string, unknown>>): boolean {
  return isShown(code) && isShown(message) && typeof sinceMs === 'number' && typeof retryAtMs === 'number';
}

function isCopy(copy: Readonly<Record<string, unknown>>): boolean {
  const { format, version, bytesRead, records, bytes, expanded } = copy;
  const hasVersion = version === null || typeof version === 'string';
  if (expanded !== undefined && !isExpansionWindow(expanded)) return false;
  return hasVersion && isShown(format) && [bytesRead, records, bytes].every(Number.isSafeInteger);
}

function notesOf(value: unknown): NotesReport | null {
  if (!isObject(value) || !isObject(value.ambiguousTimes) || !Array.isArray(value.columns)) return null;
  const { gaps, overlaps } = value.ambiguousTimes;
  const areGood = value.columns.every((entry: unknown) => {
    if (!Array.isArray(entry) || !isShown(entry[0]) || !isObject(entry[1])) return false;
    const { sourceName, records, missing, present } = entry[1];
    const areNames = Array.isArray(present) && present.every((name) => typeof name === 'string');
    const areColumns = Array.isArray(missing) && missing.every(isMappedColumn);
    return isShown(sourceName) && Number.isSafeInteger(records) && areNames && areColumns;
  });
  if (!areGood || !Number.isSafeInteger(gaps) || !Number.isSafeInteger(overlaps)) return null;
  return { ...value, columns: new Map(value.columns) } as unknown as NotesReport;
}

function isMappedColumn(value: unknown): boolean {
  return isObject(value) && typeof value.field === 'string' && typeof value.column === 'string';
}

/** Shown texts must fit on one line. */
function isShown(text: unknown): boolean {
  return typeof text === 'string' && !/\p{Cc}/u.test(text);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
