import { lowerBound } from '../base/structures/search.js';
import type { FieldIndex, Snapshot } from '../snapshot/snapshot.js';

/** The time without events around a window; null on an unbounded side. */
export interface Gap {
  readonly fromMs: number | null;
  readonly untilMs: number | null;
}

/** The gap of each key in a list; NaN on an unbounded side. */
export interface GapColumns {
  readonly fromMs: Float64Array;
  readonly untilMs: Float64Array;
}

export const NO_GAP: Gap = { fromMs: null, untilMs: null };

/** The largest number of events to visit on each side of a window. */
const LOOKS_MAX = 64;

/** The slots of one key's events of positive length, ascending and distinct. */
interface KeySlots {
  readonly slots: Uint32Array;
  /** For each slot: among this slot and all earlier ones, the number of the slot that ends last. */
  readonly latest: Uint32Array;
}

/**
 * Finds gaps around windows, and events in windows, by the posting lists of one field. Usually it is enough
 * to visit a few events. If long, nested and zero-length events need more visits, the slots of that value are
 * listed once, and each gap is a search in this list.
 */
export class Gaps {
  readonly #snapshot: Snapshot;
  readonly #field: FieldIndex;
  readonly #counts: (ordinal: number) => boolean;
  readonly #looksMax: number;
  readonly #listed = new Map<number, KeySlots>();

  /**
   * @param counts whether an event counts for its value of the field
   * @param looksMax for tests
   */
  constructor(
    snapshot: Snapshot,
    field: FieldIndex,
    counts: (ordinal: number) => boolean,
    looksMax: number = LOOKS_MAX,
  ) {
    this.#snapshot = snapshot;
    this.#field = field;
    this.#counts = counts;
    this.#looksMax = looksMax;
  }

  /**
   * The gap around a window. The value must have no events in the window.
   *
   * @param slotAfter the first slot that starts at or after the end of the window
   */
  around(code: number, slotAfter: number): Gap {
    const snapshot = this.#snapshot;
    const { postings, start } = this.#field;
    const after = lowerBound(postings, snapshot.firstOrdinal(slotAfter), start[code]!, start[code + 1]!);
    const listed = this.#listed.get(code);
    if (listed === undefined) {
      const from = this.#endBefore(code, after);
      const until = this.#startFrom(code, after);
      if (from !== undefined && until !== undefined) return { fromMs: from, untilMs: until };
    }
    const { slots, latest } = listed ?? this.#list(code);
    const place = lowerBound(slots, slotAfter);
    return {
      fromMs: place === 0 ? null : snapshot.slotEndMs(latest[place - 1]!),
      untilMs: place === slots.length ? null : snapshot.slotStartMs(slots[place]!),
    };
  }

  /** Whether an event of this value with positive length starts in slots [firstSlot, endSlot). */
  startsWithin(code: number, firstSlot: number, endSlot: number): boolean {
    const snapshot = this.#snapshot;
    const { postings, start, longestMs } = this.#field;
    if (longestMs[code] === 0) return false;
    const listed = this.#listed.get(code);
    if (listed === undefined) {
      const placesEnd = start[code + 1]!;
      const ordinalsEnd = snapshot.firstOrdinal(endSlot);
      const first = lowerBound(postings, snapshot.firstOrdinal(firstSlot), start[code]!, placesEnd);
      for (let place = first; place - first < this.#looksMax; place++) {
        if (place >= placesEnd || postings[place]! >= ordinalsEnd) return false;
        const slot = snapshot.slotOf(postings[place]!);
        if (snapshot.slotEndMs(slot) > snapshot.slotStartMs(slot) && this.#counts(postings[place]!))
          return true;
      }
    }
    const { slots } = listed ?? this.#list(code);
    const place = lowerBound(slots, firstSlot);
    return place < slots.length && slots[place]! < endSlot;
  }

  /**
   * Visits events before place `after` in reverse, until no earlier event can end after the latest end so
   * far. Undefined after too many visits.
   */
  #endBefore(code: number, after: number): number | null | undefined {
    const snapshot = this.#snapshot;
    const { postings, start, longestMs } = this.#field;
    const low = start[code]!;
    let latestMs = Number.NEGATIVE_INFINITY;
    for (let place = after - 1; place >= low; place--) {
      if (after - place > this.#looksMax) return undefined;
      const slot = snapshot.slotOf(postings[place]!);
      const startMs = snapshot.slotStartMs(slot);
      if (startMs + longestMs[code]! <= latestMs) break;
      const endMs = snapshot.slotEndMs(slot);
      if (endMs > startMs && endMs > latestMs && this.#counts(postings[place]!)) latestMs = endMs;
    }
    return Number.isFinite(latestMs) ? latestMs : null;
  }

  /** Undefined after too many visits. */
  #startFrom(code: number, after: number): number | null | undefined {
    const snapshot = this.#snapshot;
    const { postings, start } = this.#field;
    for (let place = after; place < start[code + 1]!; place++) {
      if (place - after >= this.#looksMax) return undefined;
      const slot = snapshot.slotOf(postings[place]!);
      const startMs = snapshot.slotStartMs(slot);
      if (snapshot.slotEndMs(slot) > startMs && this.#counts(postings[place]!)) return startMs;
    }
    return null;
  }

  #list(code: number): KeySlots {
    const snapshot = this.#snapshot;
    const { postings, start } = this.#field;
    const slots: number[] = [];
    const latest: number[] = [];
    for (let place = start[code]!; place < start[code + 1]!; place++) {
      if (!this.#counts(postings[place]!)) continue;
      const slot = snapshot.slotOf(postings[place]!);
      const endMs = snapshot.slotEndMs(slot);
      if (endMs === snapshot.slotStartMs(slot) || slot === slots.at(-1)) continue;
      slots.push(slot);
      const before = latest.at(-1);
      latest.push(before !== undefined && snapshot.slotEndMs(before) > endMs ? before : slot);
    }
    const listed = { slots: Uint32Array.from(slots), latest: Uint32Array.from(latest) };
    this.#listed.set(code, listed);
    return listed;
  }
}
