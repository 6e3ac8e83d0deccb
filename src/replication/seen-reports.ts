import { REPLICA_GONE_MS } from '../limits.js';
import { monotonicMs } from '../model/clock.js';
import type { Store } from '../store/store.js';
import { type ReplicaReport, readReports } from './store-records.js';

interface Seen {
  readonly report: ReplicaReport;
  readonly revision: number;
  readonly atMs: number;
}

/**
 * The replicas that report. A replica whose record stays the same for REPLICA_GONE_MS is gone, and its record
 * is removed.
 */
export class SeenReports {
  readonly #store: Store;
  readonly #now: () => number;
  #seen = new Map<string, Seen>();

  constructor(store: Store, now: () => number = monotonicMs) {
    this.#store = store;
    this.#now = now;
  }

  async read(): Promise<void> {
    const found = await readReports(this.#store, await this.#store.keys());
    const nowMs = this.#now();
    const next = new Map<string, Seen>();
    for (const [key, report] of found) {
      const { revision } = report;
      const before = this.#seen.get(key);
      const atMs = before?.revision === revision ? before.atMs : nowMs;
      if (nowMs - atMs <= REPLICA_GONE_MS) next.set(key, { report, revision, atMs });
      // The name in the report is unsigned text, so the record's own key is removed.
      else await this.#store.remove(key);
    }
    this.#seen = next;
  }

  get live(): readonly ReplicaReport[] {
    return [...this.#seen.values()].map(({ report }) => report);
  }

  get hasCanary(): boolean {
    return this.live.some(({ isCanary }) => isCanary);
  }
}
