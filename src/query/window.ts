import type { Snapshot } from '../snapshot/snapshot.js';
import { countRuns } from '../structures/ordinal-set.js';
import { results } from '../structures/slabs.js';
import type { Window } from './query.js';

/** The events that overlap a window: those that start in it, and those that are running when it begins, found when needed. */
export class WindowOrdinals {
  /** Null where everything is asked for. */
  readonly window: Window | null;
  /** Ordinals of the events that start in the window: [first, end). */
  readonly starting: { readonly first: number; readonly end: number };
  readonly #snapshot: Snapshot;
  readonly #startMs: number;
  #runs: Uint32Array | null = null;
  #runsCount = 0;
  #slotsRunning = 0;
  /** More slots than this are known to be running. */
  #slotsRunningMin = -1;

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

  /** Pairs [first, end) of ordinals. */
  get runs(): Uint32Array {
    return this.runsUpTo(Number.POSITIVE_INFINITY) as Uint32Array;
  }

  /** Events of the window. */
  get runsCount(): number {
    void this.runs;
    return this.#runsCount;
  }

  /** Events that are running when the window begins. */
  get eventsRunning(): number {
    return this.runsCount - (this.starting.end - this.starting.first);
  }

  get slotsRunning(): number {
    void this.runs;
    return this.#slotsRunning;
  }

  /** Null where more than `slotsMax` slots are running and the runs are not known so far. */
  runsUpTo(slotsMax: number): Uint32Array | null {
    if (this.#runs !== null) return this.#runs;
    if (slotsMax <= this.#slotsRunningMin) return null;
    const running = this.#snapshot.slotIndex.runningUpTo(this.#startMs, slotsMax);
    if (running === null) this.#slotsRunningMin = slotsMax;
    else this.#join(running);
    return this.#runs;
  }

  #join(running: Uint32Array): void {
    const snapshot = this.#snapshot;
    const bounds = results.uint32(2 * (running.length + 1));
    let length = 0;
    const append = (first: number, end: number): void => {
      if (first === end) return;
      if (length > 0 && bounds[length - 1] === first) length--;
      else bounds[length++] = first;
      bounds[length++] = end;
    };
    for (const slot of running) append(snapshot.firstOrdinal(slot), snapshot.firstOrdinal(slot + 1));
    append(this.starting.first, this.starting.end);
    this.#runs = bounds.subarray(0, length);
    this.#runsCount = countRuns(this.#runs);
    this.#slotsRunning = running.length;
  }
}
