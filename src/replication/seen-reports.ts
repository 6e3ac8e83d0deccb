import { REPLICA_GONE_MS } from '../limits.js';
import { monotonicMs } from '../model/clock.js';
import type { Store } from '../store/store.js';
import { type OnIgnored, type ReplicaReport, readReports, type StoredReport } from './store-records.js';

/**
 * The replicas that report. A replica whose record stays the same for REPLICA_GONE_MS is gone, and its record
 * is removed, as is a malformed record.
 */
export class SeenReports {
  readonly #store: Store;
  readonly #onIgnored: OnIgnored;
  readonly #now: () => number;
  #seen = new Map<string, StoredReport & { readonly atMs: number }>();

  constructor(store: Store, onIgnored: OnIgnored, now: () => number = monotonicMs) {
    this.#store = store;
    this.#onIgnored = onIgnored;
    this.#now = now;
  }

  async read(): Promise<void> {
    const nowMs = this.#now();
    const next = new Map<string, StoredReport & { readonly atMs: number }>();
    for (const found of await readReports(this.#store)) {
      const { key, revision } = found;
      if (found.report === null) this.#onIgnored(key);
      const before = this.#seen.get(key);
      const atMs = before?.revision === revision ? before.atMs : nowMs;
      if (nowMs - atMs <= REPLICA_GONE_MS) next.set(key, { ...found, atMs });
      // The name in the report is unsigned text, so the record's own key is removed.
      else await this.#store.remove(key);
    }
    this.#seen = next;
  }

  get live(): readonly ReplicaReport[] {
    return [...this.#seen.values()].flatMap(({ report }) => report ?? []);
  }
}
