import type { ConflictBy } from '../model/fields.js';
import { DAY_MS } from '../model/time.js';
import type { Zone } from '../model/zone.js';
import type { FreeKeys, Marks } from './free-keys.js';
import { type DaysInZone, windowOfDays } from './local-days.js';
import type { Window } from './query.js';

const WEEK_MS: number = 7 * DAY_MS;

/** Identifiers, and names of entries without an identifier. */
export interface Among {
  readonly ids: readonly string[];
  readonly texts: readonly string[];
}

/** A query for free rooms, lecturers or groups. */
export interface FreeQuery {
  readonly by: ConflictBy;
  /** The window, then the windows of the following weeks. At least one. */
  readonly windows: readonly Window[];
  /** Considers only these keys; null for all. */
  readonly among: Among | null;
  /** Only rooms in one of these buildings; null for all. */
  readonly buildings: readonly string[] | null;
  /** Only rooms for at least this number of people. */
  readonly capacityMin: number | null;
}

export interface FreeResult {
  /** In order of compareDirectoryKeys. */
  readonly keys: Uint32Array;
  readonly marks: Marks;
}

/** Finds the keys without events in all windows. */
export function findFree(keys: FreeKeys, query: FreeQuery): FreeResult {
  const { windows, among, buildings, capacityMin } = query;
  const marks: Marks = { isMarked: new Uint8Array(keys.size), count: 0, slots: 0, lists: 0 };
  for (const window of unite(windows)) keys.markBusy(window, marks);
  const wanted = among === null ? null : keys.keysOf(among.ids, among.texts);
  const found = new Uint32Array(keys.order.length);
  let count = 0;
  for (const key of keys.order) {
    if (marks.isMarked[key] === 1 || wanted?.has(key) === false) continue;
    if (buildings !== null || capacityMin !== null) {
      const { building = null, capacity = null } = keys.roomOf(key) ?? {};
      if (buildings !== null && (building === null || !buildings.includes(building))) continue;
      if (capacityMin !== null && (capacity === null || capacity < capacityMin)) continue;
    }
    found[count++] = key;
  }
  return { keys: found.subarray(0, count), marks };
}

/** The same windows without overlaps, so that no event is visited twice. */
function unite(windows: readonly Window[]): Window[] {
  const united: Window[] = [];
  for (const window of [...windows].sort((a, b) => a.startMs - b.startMs)) {
    const last = united.at(-1);
    if (last === undefined || window.startMs > last.endMs) united.push(window);
    else united[united.length - 1] = { ...last, endMs: Math.max(last.endMs, window.endMs) };
  }
  return united;
}

/** The same days in `weeks` consecutive weeks. Days that the zone's calendar skipped are left out. */
export function weeksOfDays(given: DaysInZone, weeks: number): Window[] {
  return Array.from({ length: weeks }, (_, week) =>
    windowOfDays({ ...given, dateMs: given.dateMs + week * WEEK_MS }),
  ).filter(({ startMs, endMs }) => startMs < endMs);
}

/**
 * The window, and the same local times in the following weeks, like Temporal's `add({ weeks })`. A skipped
 * time moves forward by the length of the skip; a time that clocks show twice means the earlier instant.
 * Windows that a skip makes empty are left out.
 */
export function weeksOfWindow(window: Window, weeks: number, zone: Zone): Window[] {
  const laterBy = (instantMs: number, week: number): number =>
    zone.instantOf(instantMs + zone.offsetMsAt(instantMs) + week * WEEK_MS).instantMs;
  const later = Array.from({ length: weeks - 1 }, (_, n) => ({
    startMs: laterBy(window.startMs, n + 1),
    endMs: laterBy(window.endMs, n + 1),
  }));
  return [window, ...later.filter(({ startMs, endMs }) => startMs < endMs)];
}
