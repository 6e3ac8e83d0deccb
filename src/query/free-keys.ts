import { CONFLICT_DIMENSIONS, type ConflictBy } from '../model/fields.js';
import type { Room, RoomTable } from '../model/room.js';
import { compareCodePoints } from '../model/text.js';
import type { DisplayNames } from '../snapshot/display-names.js';
import type { FieldIndex, Snapshot } from '../snapshot/snapshot.js';
import { NO_CODE } from '../structures/dictionary.js';
import { lowerBound } from '../structures/search.js';
import type { Window } from './query.js';

/** Who is free, by identifier. Those that have only a text have no id, and the text is the name. */
export interface FreeKey {
  readonly id: string | null;
  readonly name: string | null;
}

/** The time around a window without events; null where it has no end. */
export interface Gap {
  readonly fromMs: number | null;
  readonly untilMs: number | null;
}

/** By name; then by id. Null comes last. */
export function compareFreeKeys(a: FreeKey, b: FreeKey): number {
  return compareTexts(a.name, b.name) || compareTexts(a.id, b.id);
}

function compareTexts(a: string | null, b: string | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return compareCodePoints(a, b);
}

/**
 * The rooms, lecturers or groups of a snapshot, and when events need them. A **key** is a code of the first field of the
 * dimension; behind these come the codes of the second, for events without the first, and rooms that no event uses.
 *
 * Events without length need nothing. The others of a key are a list of slots, ascending, each once, with the latest end
 * up to each of them: so a gap is one binary search, however long or nested the events are.
 */
export class FreeKeys {
  readonly by: ConflictBy;
  /** All known keys, in order of compareFreeKeys. */
  readonly order: Uint32Array;
  /** Keys that events have. */
  readonly usedCount: number;
  readonly #snapshot: Snapshot;
  readonly #first: FieldIndex;
  readonly #second: FieldIndex | null;
  /** Of the first field. */
  readonly #names: DisplayNames;
  /** The first code of the second field that is not the empty text. */
  readonly #textsFrom: number;
  readonly #rooms: ReadonlyMap<string, Room>;
  /** Rooms that no event uses. */
  readonly #unusedRooms: readonly Room[];
  readonly #unusedNumbers: ReadonlyMap<string, number>;
  /** Key k has entries [start[k], start[k + 1]) of the two lists. */
  readonly #start: Uint32Array;
  readonly #slots: Uint32Array;
  /** The slot with the latest end up to this one. */
  readonly #latest: Uint32Array;

  constructor(snapshot: Snapshot, by: ConflictBy, table: RoomTable | null) {
    const [idKey, textKey] = CONFLICT_DIMENSIONS.find((dimension) => dimension.by === by)!.keys;
    const second = textKey === undefined ? null : snapshot.field(textKey);
    this.by = by;
    this.#snapshot = snapshot;
    this.#first = snapshot.field(idKey);
    this.#second = second;
    this.#names = snapshot.namesOf(idKey);
    this.#textsFrom =
      second !== null && second.dictionary.size > 0 && second.dictionary.valueOf(0) === '' ? 1 : 0;
    const rooms = by === 'room' ? (table?.rooms ?? []) : [];
    this.#rooms = new Map(rooms.map((room) => [room.id, room]));
    this.#unusedRooms = rooms.filter(({ id }) => !hasEvents(this.#first, id));
    this.#unusedNumbers = new Map(this.#unusedRooms.map(({ id }, number) => [id, number]));
    const isUsed = new Uint8Array(this.size);
    const count = this.#countSlots(isUsed);
    this.#start = new Uint32Array(this.size + 1);
    for (let key = 0; key < this.size; key++) this.#start[key + 1] = this.#start[key]! + count[key]!;
    this.#slots = new Uint32Array(this.#start[this.size]!);
    this.#latest = new Uint32Array(this.#slots.length);
    this.#fill();
    this.usedCount = isUsed.reduce((sum, used) => sum + used, 0);
    this.order = this.#sorted(isUsed);
  }

  /** Keys are less than it. */
  get size(): number {
    return this.#usableSize + this.#unusedRooms.length;
  }

  get #usableSize(): number {
    return this.#first.dictionary.size + (this.#second?.dictionary.size ?? 0);
  }

  /** Bytes of the lists. */
  get byteLength(): number {
    return this.#start.byteLength + this.#slots.byteLength + this.#latest.byteLength + this.order.byteLength;
  }

  keyOf(key: number): FreeKey {
    const ofFirst = this.#first.dictionary.size;
    if (key < ofFirst) {
      const id = this.#first.dictionary.valueOf(key);
      return { id, name: this.#rooms.get(id)?.name ?? this.#names.nameOf(key) };
    }
    if (this.#second !== null && key < this.#usableSize) {
      return { id: null, name: this.#second.dictionary.valueOf(key - ofFirst) };
    }
    const { id, name } = this.#unusedRooms[key - this.#usableSize]!;
    return { id, name };
  }

  /** What the table of rooms says; null for a room that it lacks, and for others than rooms. */
  roomOf(key: number): Room | null {
    if (this.#rooms.size === 0) return null;
    if (key >= this.#usableSize) return this.#unusedRooms[key - this.#usableSize]!;
    return this.#rooms.get(this.#first.dictionary.valueOf(key)) ?? null;
  }

  /** The keys with one of these identifiers, or without any and with one of these texts. */
  keysOf(ids: readonly string[], texts: readonly string[]): Set<number> {
    const keys = new Set<number>();
    const ofFirst = this.#first.dictionary.size;
    for (const id of ids) {
      const code = this.#first.dictionary.codeOf(id);
      if (code < ofFirst) keys.add(code);
      const unused = this.#unusedNumbers.get(id);
      if (unused !== undefined) keys.add(this.#usableSize + unused);
    }
    for (const text of texts) {
      const code = this.#second?.dictionary.codeOf(text) ?? NO_CODE;
      if (code !== NO_CODE) keys.add(ofFirst + code);
    }
    return keys;
  }

  /** Marks the keys of events with length that overlap the window. Ends early once all keys are marked. */
  markBusy({ startMs, endMs }: Window, marked: Marks): void {
    const { slotIndex } = this.#snapshot;
    for (const slot of slotIndex.runningAt(startMs)) {
      if (marked.count === this.usedCount) return;
      this.#mark(slot, marked);
    }
    const { first, end } = slotIndex.startingWithin(startMs, endMs);
    for (let slot = first; slot < end && marked.count < this.usedCount; slot++) this.#mark(slot, marked);
  }

  #mark(slot: number, marked: Marks): void {
    const snapshot = this.#snapshot;
    if (snapshot.slotEndMs(slot) === snapshot.slotStartMs(slot)) return;
    marked.slots++;
    const end = snapshot.firstOrdinal(slot + 1);
    for (let ordinal = snapshot.firstOrdinal(slot); ordinal < end; ordinal++) {
      const key = this.#keyOfEvent(ordinal);
      if (key === NO_KEY || marked.isMarked[key] === 1) continue;
      marked.isMarked[key] = 1;
      marked.count++;
    }
  }

  /** Only for a key without events in the window. */
  gapOf(key: number, { endMs }: Window): Gap {
    const snapshot = this.#snapshot;
    const start = this.#start[key]!;
    const end = this.#start[key + 1]!;
    const after = lowerBound(this.#slots, snapshot.slotIndex.startingWithin(endMs, endMs).first, start, end);
    return {
      fromMs: after === start ? null : snapshot.slotEndMs(this.#latest[after - 1]!),
      untilMs: after === end ? null : snapshot.slotStartMs(this.#slots[after]!),
    };
  }

  #keyOfEvent(ordinal: number): number {
    const first = this.#first;
    const code = first.codes[ordinal]!;
    if (code < first.dictionary.size) return code;
    const second = this.#second;
    if (second === null) return NO_KEY;
    const textCode = second.codes[ordinal]!;
    // An empty text names no one.
    return textCode >= this.#textsFrom && textCode < second.dictionary.size
      ? first.dictionary.size + textCode
      : NO_KEY;
  }

  /** Visits each slot of each key once, slots ascending. */
  #visit(visit: (key: number, slot: number) => void, isUsed: Uint8Array | null): void {
    const snapshot = this.#snapshot;
    const seen = new Uint32Array(this.size).fill(NO_KEY);
    for (let slot = 0; slot < snapshot.slotCount; slot++) {
      const isEmpty = snapshot.slotEndMs(slot) === snapshot.slotStartMs(slot);
      const end = snapshot.firstOrdinal(slot + 1);
      for (let ordinal = snapshot.firstOrdinal(slot); ordinal < end; ordinal++) {
        const key = this.#keyOfEvent(ordinal);
        if (key === NO_KEY || seen[key] === slot) continue;
        seen[key] = slot;
        if (isUsed !== null) isUsed[key] = 1;
        if (!isEmpty) visit(key, slot);
      }
    }
  }

  #countSlots(isUsed: Uint8Array): Uint32Array {
    const count = new Uint32Array(this.size);
    this.#visit((key) => {
      count[key]!++;
    }, isUsed);
    return count;
  }

  #fill(): void {
    const snapshot = this.#snapshot;
    const slots = this.#slots;
    const latest = this.#latest;
    const start = this.#start;
    const next = start.slice(0, this.size);
    this.#visit((key, slot) => {
      const at = next[key]!++;
      slots[at] = slot;
      const before = at === start[key] ? slot : latest[at - 1]!;
      latest[at] = snapshot.slotEndMs(before) > snapshot.slotEndMs(slot) ? before : slot;
    }, null);
  }

  #sorted(isUsed: Uint8Array): Uint32Array {
    const keys: number[] = [];
    for (let key = 0; key < this.size; key++) {
      if (key >= this.#usableSize || isUsed[key] === 1) keys.push(key);
    }
    const named = keys.map((key) => ({ key, ...this.keyOf(key) }));
    return Uint32Array.from(named.sort(compareFreeKeys), ({ key }) => key);
  }
}

const NO_KEY = 0xffffffff;

/** Keys that were marked. */
export interface Marks {
  readonly isMarked: Uint8Array;
  count: number;
  /** Slots that were looked at. */
  slots: number;
}

function hasEvents(field: FieldIndex, value: string): boolean {
  const code = field.dictionary.codeOf(value);
  return code < field.dictionary.size && field.postingCount(code) > 0;
}
