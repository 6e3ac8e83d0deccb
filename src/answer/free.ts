import { CONFLICT_DIMENSIONS, type ConflictBy } from '../base/model/fields.js';
import type { Room, RoomTable } from '../base/model/room.js';
import { DAY_MS } from '../base/model/time.js';
import type { Zone } from '../base/model/zone.js';
import { Dictionary, NO_CODE } from '../base/structures/dictionary.js';
import type { FieldIndex, Snapshot } from '../snapshot/snapshot.js';
import {
  compareDirectoryKeys,
  type Directory,
  type DirectoryKey,
  keyOfEntry,
  type NamedEntries,
} from './directory.js';
import { type Gap, type GapColumns, Gaps, NO_GAP } from './gaps.js';
import { type DaysInZone, windowOfDays } from './local-days.js';
import type { Window } from './query.js';

/** The marked keys, and the work of marking them. */
export interface Marks {
  readonly isMarked: Uint8Array;
  count: number;
  slots: number;
  /** Number of posting lists searched. */
  lists: number;
}

const NO_KEY = 0xffffffff;
/** Searching a posting list costs as much as visiting this many events (estimated). */
const EVENTS_PER_SEARCH = 16;

/**
 * The rooms, lecturers or groups of a snapshot, and the times when events occupy them. A **key** is a code of
 * the first field of the dimension. Codes of the second field follow, for events without the first field, as
 * in a directory. The last keys are rooms without events. Zero-length events occupy nothing.
 */
export class FreeKeys {
  /** All known keys, in order of compareDirectoryKeys. */
  readonly order: Uint32Array;
  /** Number of keys that events have. */
  readonly usedCount: number;
  readonly #used: Uint32Array;
  readonly #visitsMax: number;
  readonly #snapshot: Snapshot;
  readonly #first: FieldIndex;
  readonly #second: FieldIndex | null;
  /** The identifier and name of each key. */
  readonly named: NamedEntries;
  /** The first code of the second field whose text is not empty. */
  readonly #textsFrom: number;
  readonly #rooms: ReadonlyMap<string, Room>;
  /** Rooms without events. */
  readonly #unusedRooms: readonly Room[];
  readonly #unusedNumbers: ReadonlyMap<string, number>;
  readonly #gapsOfFirst: Gaps;
  readonly #gapsOfSecond: Gaps | null;

  /**
   * @param directory of these rooms, lecturers or groups
   * @param bounds for tests: other values of LOOKS_MAX in gaps.ts and of EVENTS_PER_SEARCH
   */
  constructor(
    snapshot: Snapshot,
    directory: Directory,
    by: ConflictBy,
    table: RoomTable | null,
    bounds: { readonly looksMax?: number; readonly eventsPerSearch?: number } = {},
  ) {
    const { looksMax, eventsPerSearch = EVENTS_PER_SEARCH } = bounds;
    const [idKey, textKey] = CONFLICT_DIMENSIONS.find((dimension) => dimension.by === by)!.keys;
    const first = snapshot.field(idKey);
    const second = textKey === undefined ? null : snapshot.field(textKey);
    const hasNoId = (ordinal: number): boolean => first.codes[ordinal]! >= first.dictionary.size;
    this.#snapshot = snapshot;
    this.#first = first;
    this.#second = second;
    this.#textsFrom =
      second !== null && second.dictionary.size > 0 && second.dictionary.valueOf(0) === '' ? 1 : 0;
    const rooms = by === 'room' ? (table?.rooms ?? []) : [];
    this.#rooms = new Map(rooms.map((room) => [room.id, room]));
    this.#unusedRooms = rooms.filter(({ id }) => first.dictionary.codeOf(id) === NO_CODE);
    this.#unusedNumbers = new Map(this.#unusedRooms.map(({ id }, number) => [id, number]));
    this.#gapsOfFirst = new Gaps(snapshot, first, () => true, looksMax);
    this.#gapsOfSecond = second === null ? null : new Gaps(snapshot, second, hasNoId, looksMax);
    this.named = rooms.length === 0 ? directory : this.#namedRooms(directory);
    const used = directory.find(directory.count(null), null);
    this.#used = used;
    this.#visitsMax = eventsPerSearch * used.length;
    this.usedCount = used.length;
    this.order = this.#inOrder(used);
  }

  /** Every key is below this number. */
  get size(): number {
    return this.#usableSize + this.#unusedRooms.length;
  }

  get #usableSize(): number {
    return this.#first.dictionary.size + (this.#second?.dictionary.size ?? 0);
  }

  keyOf(key: number): DirectoryKey {
    return keyOfEntry(this.named, key);
  }

  /** The entry in the table of rooms; null if there is none, as for lecturers and groups. */
  roomOf(key: number): Room | null {
    if (this.#rooms.size === 0) return null;
    if (key >= this.#usableSize) return this.#unusedRooms[key - this.#usableSize]!;
    return this.#rooms.get(this.#first.dictionary.valueOf(key)) ?? null;
  }

  /**
   * The keys that have one of these identifiers, and the keys that have one of these texts instead of an
   * identifier.
   */
  keysOf(ids: readonly string[], texts: readonly string[]): Set<number> {
    const keys = new Set<number>();
    const ofFirst = this.#first.dictionary.size;
    for (const id of ids) {
      const code = this.#first.dictionary.codeOf(id);
      if (code !== NO_CODE) keys.add(code);
      const unused = this.#unusedNumbers.get(id);
      if (unused !== undefined) keys.add(this.#usableSize + unused);
    }
    for (const text of texts) {
      const code = this.#second?.dictionary.codeOf(text) ?? NO_CODE;
      if (code !== NO_CODE) keys.add(ofFirst + code);
    }
    return keys;
  }

  /**
   * Marks the keys with events (of positive length) that overlap the window. The first events of the window
   * usually mark nearly all keys. The posting lists of the other keys are then searched, so a long window
   * costs little more than a short one.
   */
  markBusy({ startMs, endMs }: Window, marks: Marks): void {
    const { slotIndex } = this.#snapshot;
    for (const slot of slotIndex.runningAt(startMs)) {
      if (marks.count === this.usedCount) return;
      this.#mark(slot, marks);
    }
    const { first, end } = slotIndex.startingWithin(startMs, endMs);
    const visitsEnd = this.#snapshot.firstOrdinal(first) + this.#visitsMax;
    for (let slot = first; slot < end && marks.count < this.usedCount; slot++) {
      if (this.#snapshot.firstOrdinal(slot) >= visitsEnd) {
        this.#searchLists(slot, end, marks);
        return;
      }
      this.#mark(slot, marks);
    }
  }

  /** Marks the keys with events that start in slots [first, end). */
  #searchLists(first: number, end: number, marks: Marks): void {
    const ofFirst = this.#first.dictionary.size;
    for (const key of this.#used) {
      if (marks.isMarked[key] === 1) continue;
      marks.lists++;
      const isBusy =
        key < ofFirst
          ? this.#gapsOfFirst.startsWithin(key, first, end)
          : this.#gapsOfSecond!.startsWithin(key - ofFirst, first, end);
      if (!isBusy) continue;
      marks.isMarked[key] = 1;
      marks.count++;
    }
  }

  #mark(slot: number, marks: Marks): void {
    const snapshot = this.#snapshot;
    marks.slots++;
    if (snapshot.slotEndMs(slot) === snapshot.slotStartMs(slot)) return;
    const end = snapshot.firstOrdinal(slot + 1);
    for (let ordinal = snapshot.firstOrdinal(slot); ordinal < end; ordinal++) {
      const key = this.#keyOfEvent(ordinal);
      if (key === NO_KEY || marks.isMarked[key] === 1) continue;
      marks.isMarked[key] = 1;
      marks.count++;
    }
  }

  #keyOfEvent(ordinal: number): number {
    const first = this.#first;
    const code = first.codes[ordinal]!;
    if (code < first.dictionary.size) return code;
    const second = this.#second;
    if (second === null) return NO_KEY;
    const textCode = second.codes[ordinal]!;
    if (textCode < this.#textsFrom || textCode >= second.dictionary.size) return NO_KEY;
    return first.dictionary.size + textCode;
  }

  /** Returns a function from a key without events in the window to the gap around the window. */
  gapsAround({ endMs }: Window): (key: number) => Gap {
    const ofFirst = this.#first.dictionary.size;
    const usable = this.#usableSize;
    const slotAfter = this.#snapshot.firstSlotFrom(endMs);
    return (key) => {
      if (key < ofFirst) return this.#gapsOfFirst.around(key, slotAfter);
      if (this.#gapsOfSecond === null || key >= usable) return NO_GAP;
      return this.#gapsOfSecond.around(key - ofFirst, slotAfter);
    };
  }

  /** @param keys without events in the window */
  gapsOf(keys: Uint32Array, window: Window): GapColumns {
    const gapOf = this.gapsAround(window);
    const fromMs = new Float64Array(keys.length).fill(Number.NaN);
    const untilMs = new Float64Array(keys.length).fill(Number.NaN);
    for (let n = 0; n < keys.length; n++) {
      const gap = gapOf(keys[n]!);
      if (gap.fromMs !== null) fromMs[n] = gap.fromMs;
      if (gap.untilMs !== null) untilMs[n] = gap.untilMs;
    }
    return { fromMs, untilMs };
  }

  /** The table of rooms adds rooms and names. */
  #namedRooms(directory: Directory): NamedEntries {
    const known = Array.from({ length: this.#usableSize }, (_, key) => directory.keyOf(key));
    const all = [...known, ...this.#unusedRooms];
    const nameOf = ({ id, name }: DirectoryKey): string | null => this.#rooms.get(id ?? '')?.name ?? name;
    const names = all.map(nameOf);
    return {
      ids: textsOf(all.map(({ id }) => id ?? '')),
      names: textsOf(names.map((name) => name ?? '')),
      nameCodes: Uint32Array.from(names, (name, key) => (name === null ? NO_CODE : key)),
      texts: null,
    };
  }

  /** The order of the directory, unless the table of rooms adds rooms and names. */
  #inOrder(used: Uint32Array): Uint32Array {
    if (this.#rooms.size === 0) return used;
    const unused = this.#unusedRooms.map((_, number) => this.#usableSize + number);
    const named = [...used, ...unused].map((key) => ({ key, ...this.keyOf(key) }));
    return Uint32Array.from(named.sort(compareDirectoryKeys), ({ key }) => key);
  }
}

function textsOf(values: readonly string[]): Dictionary {
  const start = new Uint32Array(values.length + 1);
  for (const [n, value] of values.entries()) start[n + 1] = start[n]! + Buffer.byteLength(value);
  return new Dictionary({ bytes: Buffer.from(values.join('')), start });
}

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
