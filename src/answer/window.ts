import { countRuns } from '../base/structures/ordinal-set.js';
import { results } from '../base/structures/slabs.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import type { Window } from './query.js';

/** The events that overlap a window, as pairs [first, end) of ordinals. */
interface WindowRuns {
  readonly runs: Uint32Array;
  readonly count: number;
  /** Events and slots that are running when the window begins. */
  readonly eventsRunning: number;
  readonly slotsRunning: number;
}

/** The events of a window. Events that are running at the start of the window are found on demand. */
export class WindowOrdinals {
  /** Null for a window without bounds. */
  readonly window: Window | null;
  /** Ordinals [first, end) of the events that start in the window. */
  readonly starting: { readonly first: number; readonly end: number };
  readonly #snapshot: Snapshot;
  readonly #startMs: number;
  #found: WindowRuns | null = null;
  /** More slots than this number are running at the start. */
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

  get all(): WindowRuns {
    return this.upTo(Number.POSITIVE_INFINITY) as WindowRuns;
  }

  /** Null when more than `slotsMax` slots are running and the runs are not known yet. */
  upTo(slotsMax: number): WindowRuns | null {
    if (this.#found !== null || slotsMax <= this.#slotsRunningMin) return this.#found;
    const running = this.#snapshot.slotIndex.runningUpTo(this.#startMs, slotsMax);
    if (running === null) this.#slotsRunningMin = slotsMax;
    else this.#found = this.#join(running);
    return this.#found;
  }

  #join(running: Uint32Array): WindowRuns {
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
    const { first, end } = this.starting;
    append(first, end);
    const runs = bounds.subarray(0, length);
    const count = countRuns(runs);
    return { runs, count, eventsRunning: count - (end - first), slotsRunning: running.length };
  }
}
