/**
 * The slow version of GET /schedule/conflicts: compares every pair of rows with the same key, and joins
 * overlapping pairs into clusters by union-find. Clusters of one lesson are no conflicts.
 */
import type { ConflictEntry, NormalisedEvent } from '../../src/base/model/event.js';
import { CONFLICT_DIMENSIONS, type ConflictBy } from '../../src/base/model/fields.js';
import { compareEvents, compareText, recordOf } from './events.js';
import { matches, type OracleQuery } from './schedule.js';

/** One cluster, with plain events. */
export interface OracleEntry {
  readonly by: ConflictBy;
  readonly key: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly peak: number;
  readonly events: readonly NormalisedEvent[];
}

/**
 * The lesson of a row. With `merge`, rows with equal lessonId are one lesson; of the others, those with equal time,
 * endTime, courseId (not null), roomId and type.
 */
function lessonOf(row: NormalisedEvent, merge: boolean): string {
  if (merge && row.lessonId) return JSON.stringify(['id', row.lessonId]);
  const isMergeable = merge && row.courseId !== null;
  return JSON.stringify(
    isMergeable ? ['lesson', row.time, row.endTime, row.courseId, row.roomId, row.type] : ['row', row.id],
  );
}

/** The key of a row in one dimension: the first key field that is known and not empty, or null. */
function keyOf(row: NormalisedEvent, dimension: (typeof CONFLICT_DIMENSIONS)[number]): string | null {
  for (const field of dimension.keys) {
    const value = row[field];
    // An empty text is not a name.
    if (value !== null && value !== '') return value;
  }
  return null;
}

function rowsByKey(
  rows: readonly NormalisedEvent[],
  dimension: (typeof CONFLICT_DIMENSIONS)[number],
): Map<string, NormalisedEvent[]> {
  const byKey = new Map<string, NormalisedEvent[]>();
  for (const row of rows) {
    const key = keyOf(row, dimension);
    if (key === null) continue;
    const sharing = byKey.get(key);
    if (sharing === undefined) byKey.set(key, [row]);
    else sharing.push(row);
  }
  return byKey;
}

/** Zero-length rows overlap nothing; rows that only touch do not overlap. */
function overlap(a: NormalisedEvent, b: NormalisedEvent): boolean {
  if (a.time === a.endTime || b.time === b.endTime) return false;
  return a.time < b.endTime && b.time < a.endTime;
}

/** The connected components over all overlapping pairs. */
function componentsOf(rows: readonly NormalisedEvent[]): NormalisedEvent[][] {
  const parent = rows.map((_, i) => i);
  const rootOf = (i: number): number => {
    let root = i;
    while (parent[root] !== root) root = parent[root] as number;
    // Path compression, because long chains would make every pair slow.
    parent[i] = root;
    return root;
  };
  rows.forEach((a, i) => {
    for (let j = i + 1; j < rows.length; j++) {
      if (overlap(a, rows[j] as NormalisedEvent)) parent[rootOf(j)] = rootOf(i);
    }
  });
  const components = new Map<number, NormalisedEvent[]>();
  rows.forEach((row, i) => {
    const component = components.get(rootOf(i));
    if (component === undefined) components.set(rootOf(i), [row]);
    else component.push(row);
  });
  return [...components.values()];
}

/** The largest number of lessons at one instant. The number rises only at starts, so starts alone are checked. */
function peakOf(rows: readonly NormalisedEvent[], lesson: ReadonlyMap<NormalisedEvent, string>): number {
  const counts = rows.map(
    (at) =>
      new Set(
        rows.filter((row) => row.time <= at.time && at.time < row.endTime).map((row) => lesson.get(row)),
      ).size,
  );
  return Math.max(...counts);
}

export function compareEntries(a: OracleEntry, b: OracleEntry): number {
  if (a.startMs !== b.startMs) return a.startMs - b.startMs;
  if (a.endMs !== b.endMs) return a.endMs - b.endMs;
  if (a.by !== b.by) return compareText(a.by, b.by);
  return compareText(a.key, b.key);
}

/** Every conflict of the data set, of all three kinds, in order. */
export function allConflicts(events: readonly NormalisedEvent[], merge: boolean): OracleEntry[] {
  const lesson = new Map(events.map((row) => [row, lessonOf(row, merge)]));
  const entries: OracleEntry[] = [];
  for (const dimension of CONFLICT_DIMENSIONS) {
    for (const [key, sharing] of rowsByKey(events, dimension)) {
      for (const component of componentsOf(sharing)) {
        if (new Set(component.map((row) => lesson.get(row))).size < 2) continue;
        entries.push({
          by: dimension.by,
          key,
          startMs: Math.min(...component.map(({ time }) => time)),
          endMs: Math.max(...component.map(({ endTime }) => endTime)),
          peak: peakOf(component, lesson),
          events: component.sort(compareEvents),
        });
      }
    }
  }
  return entries.sort(compareEntries);
}

/** The entries of the selected kinds with at least one event that matches the query. */
export function conflictsInScope(
  conflicts: readonly OracleEntry[],
  by: readonly ConflictBy[],
  query: OracleQuery,
): OracleEntry[] {
  return conflicts.filter(
    (entry) => by.includes(entry.by) && entry.events.some((event) => matches(event, query)),
  );
}

/** An entry as clients receive it. */
export function conflictRecordOf(entry: OracleEntry): ConflictEntry {
  return {
    by: entry.by,
    key: entry.key,
    startTime: new Date(entry.startMs).toISOString(),
    endTime: new Date(entry.endMs).toISOString(),
    peak: entry.peak,
    events: entry.events.map(recordOf),
  };
}
