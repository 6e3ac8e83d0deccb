import { SNAPSHOT_HISTORY_ENTRIES_MAX, SNAPSHOTS_KEPT_MAX } from '../limits.js';
import { type Delta, rowDigest } from './delta.js';
import { pastRecordCount, readPastRecords } from './past-records.js';
import type { Snapshot } from './snapshot.js';

/** What is different between a past snapshot and the present one. */
export interface Changes {
  readonly from: string;
  readonly to: string;
  /** Ordinals of the present snapshot, ascending. */
  readonly added: readonly number[];
  readonly changed: readonly number[];
  /** Ids, in order of code points. */
  readonly removed: readonly string[];
}

/**
 * The differences that led to the present snapshot, oldest first: each begins where the one before ended. Immutable; a
 * publication makes a new one. Bounded in snapshots and in entries: the oldest go first.
 */
export class History {
  readonly #deltas: readonly Delta[];

  private constructor(deltas: readonly Delta[]) {
    this.#deltas = deltas;
  }

  static readonly EMPTY: History = new History([]);

  /** The history that has these, as another thread's {@link deltas} were. */
  static of(deltas: readonly Delta[]): History {
    return deltas.length === 0 ? History.EMPTY : new History(deltas);
  }

  /** Oldest first. Plain data in shared memory: it crosses threads. */
  get deltas(): readonly Delta[] {
    return this.#deltas;
  }

  /** The history after one more publication. */
  with(delta: Delta): History {
    const deltas = [...this.#deltas, delta];
    // A difference too large to keep is a gap: what lies before it cannot be reached any more.
    const gap = deltas.findLastIndex((each) => each.before === null);
    let first = Math.max(gap + 1, deltas.length - SNAPSHOTS_KEPT_MAX);
    let entries = 0;
    for (let i = deltas.length - 1; i >= first; i--) {
      const past = deltas[i]?.before ?? null;
      entries += past === null ? 0 : pastRecordCount(past);
      if (entries > SNAPSHOT_HISTORY_ENTRIES_MAX) first = i + 1;
    }
    return new History(deltas.slice(first));
  }

  /**
   * What changed from a past snapshot to `present`, the one that this history led to. An event that was changed and
   * changed back is not among them.
   *
   * @returns null where that snapshot is not known, or not any more
   */
  changesSince(id: string, present: Snapshot): Changes | null {
    const to = present.summary.id;
    const nothing = { from: id, to, added: [], changed: [], removed: [] };
    if (id === to) return nothing;
    const first = this.#deltas.findLastIndex((delta) => delta.from === id);
    if (first === -1) return null;
    // The first difference that names an event says what it was at the beginning.
    const before = new Map<string, string | null>();
    for (const delta of this.#deltas.slice(first)) {
      if (delta.before === null) continue;
      for (const [event, digest] of readPastRecords(delta.before)) {
        if (!before.has(event)) before.set(event, digest);
      }
    }
    const added: number[] = [];
    const changed: number[] = [];
    const removed: string[] = [];
    for (const [event, digest] of before) {
      const ordinal = present.ordinalOf(event);
      if (ordinal === -1) {
        if (digest !== null) removed.push(event);
      } else if (digest === null) added.push(ordinal);
      else if (digest !== rowDigest(present, ordinal)) changed.push(ordinal);
    }
    const ascending = (a: number, b: number): number => a - b;
    return {
      from: id,
      to,
      added: added.sort(ascending),
      changed: changed.sort(ascending),
      removed: removed.sort(),
    };
  }
}
