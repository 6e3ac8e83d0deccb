import type { FieldIndex, Snapshot } from '../snapshot/snapshot.js';
import { countRuns, countWithinRuns, positionsWithinRuns } from '../structures/ordinal-set.js';
import { pooledCopy, pooledUint32 } from '../structures/pooled.js';
import { lowerBound } from '../structures/search.js';
import type { Window } from './query.js';

/** Events of one posting list that are looked at one by one for whether they are running; more are found by the trees. */
const LOOK_BACK_MAX = 32;

/** The part of a posting list that lies in a window. */
export interface Narrowed {
  /** Ordinals, ascending: a view of the snapshot where it is one piece of the posting list. */
  readonly list: Uint32Array;
  /** The position of each within the posting list; null where they are consecutive, from `first` on. */
  readonly positions: Uint32Array | null;
  readonly first: number;
}

/**
 * The events that overlap a window: one run of ordinals that start in it, and those that were already running when it
 * began. The former are two binary searches; the latter are looked for only when they are needed.
 */
export class WindowOrdinals {
  /** Null where everything is asked for. */
  readonly window: Window | null;
  /** Ordinals of the events that start in the window: [first, end). */
  readonly starting: { readonly first: number; readonly end: number };
  readonly #snapshot: Snapshot;
  readonly #startMs: number;
  #runs: Uint32Array | null = null;
  #slotsRunning = 0;

  constructor(snapshot: Snapshot, window: Window) {
    const { startMs, endMs } = window;
    this.#snapshot = snapshot;
    this.#startMs = startMs;
    const isAlways = startMs === Number.NEGATIVE_INFINITY && endMs === Number.POSITIVE_INFINITY;
    this.window = isAlways ? null : window;
    if (isAlways) this.starting = { first: 0, end: snapshot.eventCount };
    else {
      const slots = snapshot.slotIndex.startingWithin(startMs, endMs);
      this.starting = { first: snapshot.firstOrdinal(slots.first), end: snapshot.firstOrdinal(slots.end) };
    }
  }

  /** All events of the window as runs of ordinals, [first, end) pairs. */
  get runs(): Uint32Array {
    this.#runs ??= this.#findRuns();
    return this.#runs;
  }

  get runsCount(): number {
    return countRuns(this.runs);
  }

  /** Slots that were already running when the window began: what the interval trees found. */
  get slotsRunning(): number {
    this.#runs ??= this.#findRuns();
    return this.#slotsRunning;
  }

  #findRuns(): Uint32Array {
    const snapshot = this.#snapshot;
    const bounds: number[] = [];
    const append = (first: number, end: number): void => {
      if (first === end) return;
      // What follows without a gap joins the run before.
      if (bounds.at(-1) === first) bounds.pop();
      else bounds.push(first);
      bounds.push(end);
    };
    const running = snapshot.slotIndex.runningAt(this.#startMs);
    this.#slotsRunning = running.length;
    for (const slot of running) append(snapshot.firstOrdinal(slot), snapshot.firstOrdinal(slot + 1));
    append(this.starting.first, this.starting.end);
    return pooledCopy(bounds);
  }

  /**
   * The part of one posting list that lies in the window, ascending.
   *
   * An event that is running when the window begins cannot have begun earlier than the longest event of its value takes. So
   * only the last few before the window are looked at, and the trees are asked where those would be many.
   */
  narrow(field: FieldIndex, code: number): Narrowed {
    const { postings } = field;
    const low = field.postingStart(code);
    const high = field.postingEnd(code);
    if (this.window === null) return pieceOf(postings, low, low, high);
    const first = lowerBound(postings, this.starting.first, low, high);
    const end = lowerBound(postings, this.starting.end, first, high);
    if (first === low || this.#startMs === Number.NEGATIVE_INFINITY)
      return pieceOf(postings, low, first, end);
    const earliest = this.#snapshot.ordinalFrom(this.#startMs - field.longestMs(code));
    const before = lowerBound(postings, earliest, low, first);
    if (first - before > LOOK_BACK_MAX) return this.#narrowByRuns(postings, low, high);
    return this.#narrowByLookingBack(postings, low, before, first, end);
  }

  #narrowByLookingBack(
    postings: Uint32Array,
    low: number,
    before: number,
    first: number,
    end: number,
  ): Narrowed {
    let running = 0;
    let earliestRunning = first;
    for (let p = first - 1; p >= before; p--) {
      if (this.#snapshot.endMsOf(postings[p]!) <= this.#startMs) continue;
      running++;
      earliestRunning = p;
    }
    // None, or the last ones before the window: then what was found is one piece of the list.
    if (running === first - earliestRunning) return pieceOf(postings, low, earliestRunning, end);
    const positions = pooledUint32(running + end - first);
    let count = 0;
    for (let p = earliestRunning; p < end; p++) {
      if (p >= first || this.#snapshot.endMsOf(postings[p]!) > this.#startMs) positions[count++] = p - low;
    }
    return piecesOf(postings, low, positions);
  }

  #narrowByRuns(postings: Uint32Array, low: number, high: number): Narrowed {
    const { runs } = this;
    const positions = pooledUint32(countWithinRuns(postings, low, high, runs));
    positionsWithinRuns(postings, low, high, runs, positions);
    return piecesOf(postings, low, positions);
  }
}

function piecesOf(postings: Uint32Array, low: number, positions: Uint32Array): Narrowed {
  const list = pooledUint32(positions.length);
  for (let i = 0; i < list.length; i++) list[i] = postings[low + positions[i]!]!;
  return { list, positions, first: 0 };
}

function pieceOf(postings: Uint32Array, low: number, from: number, to: number): Narrowed {
  return { list: postings.subarray(from, to), positions: null, first: from - low };
}
