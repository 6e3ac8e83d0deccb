/**
 * The slow version of GET /schedule/conflicts: compares every pair of lessons with the same key, and joins
 * overlapping pairs into clusters by union-find.
 */
import type { ConflictEntry, NormalisedEvent } from '../../src/model/event.js';
import { CONFLICT_DIMENSIONS, type ConflictBy } from '../../src/model/fields.js';
import { compareEvents, compareText, recordOf } from './events.js';
import { matches, type OracleQuery } from './schedule.js';

/** One lesson: all of its rows have its time and endTime. */
interface Lesson {
  readonly time: number;
  readonly endTime: number;
  readonly rows: NormalisedEvent[];
}

/** One cluster, with plain events. */
export interface OracleEntry {
  readonly by: ConflictBy;
  readonly key: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly peak: number;
  readonly events: readonly NormalisedEvent[];
}

/** With `merge`, rows with equal time, endTime, courseId (not null), roomId and type are one lesson. */
function lessonsOf(events: readonly NormalisedEvent[], merge: boolean): Lesson[] {
  const lessons = new Map<string, Lesson>();
  for (const row of events) {
    const isMergeable = merge && row.courseId !== null;
    const same = isMergeable
      ? ['lesson', row.time, row.endTime, row.courseId, row.roomId, row.type]
      : ['row', row.id];
    const name = JSON.stringify(same);
    const lesson = lessons.get(name);
    if (lesson === undefined) lessons.set(name, { time: row.time, endTime: row.endTime, rows: [row] });
    else lesson.rows.push(row);
  }
  return [...lessons.values()];
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

/** Lessons by key. A lesson whose rows have several keys is listed under each. */
function lessonsByKey(
  lessons: readonly Lesson[],
  dimension: (typeof CONFLICT_DIMENSIONS)[number],
): Map<string, Lesson[]> {
  const byKey = new Map<string, Lesson[]>();
  for (const lesson of lessons) {
    const keys = new Set(lesson.rows.map((row) => keyOf(row, dimension)));
    for (const key of keys) {
      if (key === null) continue;
      const sharing = byKey.get(key);
      if (sharing === undefined) byKey.set(key, [lesson]);
      else sharing.push(lesson);
    }
  }
  return byKey;
}

/** Zero-length lessons overlap nothing; lessons that only touch do not overlap. */
function overlap(a: Lesson, b: Lesson): boolean {
  if (a.time === a.endTime || b.time === b.endTime) return false;
  return a.time < b.endTime && b.time < a.endTime;
}

/** The connected components with at least two lessons, over all overlapping pairs. */
function componentsOf(lessons: readonly Lesson[]): Lesson[][] {
  const parent = lessons.map((_, i) => i);
  const rootOf = (i: number): number => {
    let root = i;
    while (parent[root] !== root) root = parent[root] as number;
    // Path compression, because long chains would make every pair slow.
    parent[i] = root;
    return root;
  };
  lessons.forEach((a, i) => {
    for (let j = i + 1; j < lessons.length; j++) {
      if (overlap(a, lessons[j] as Lesson)) parent[rootOf(j)] = rootOf(i);
    }
  });
  const components = new Map<number, Lesson[]>();
  lessons.forEach((lesson, i) => {
    const component = components.get(rootOf(i));
    if (component === undefined) components.set(rootOf(i), [lesson]);
    else component.push(lesson);
  });
  return [...components.values()].filter((component) => component.length >= 2);
}

/** The largest number of lessons at one instant. The number rises only at starts, so starts alone are checked. */
function peakOf(lessons: readonly Lesson[]): number {
  const counts = lessons.map(
    (at) => lessons.filter((lesson) => lesson.time <= at.time && at.time < lesson.endTime).length,
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
  const lessons = lessonsOf(events, merge);
  const entries: OracleEntry[] = [];
  for (const dimension of CONFLICT_DIMENSIONS) {
    for (const [key, sharing] of lessonsByKey(lessons, dimension)) {
      for (const component of componentsOf(sharing)) {
        entries.push({
          by: dimension.by,
          key,
          startMs: Math.min(...component.map((lesson) => lesson.time)),
          endMs: Math.max(...component.map((lesson) => lesson.endTime)),
          peak: peakOf(component),
          // Rows with another key belong to the entry of that key.
          events: component
            .flatMap((lesson) => lesson.rows)
            .filter((row) => keyOf(row, dimension) === key)
            .sort(compareEvents),
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
