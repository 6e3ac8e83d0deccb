import { LEASE_MS_MAX } from '../limits.js';
import { monotonicMs } from '../model/clock.js';
import type { Store } from '../store/store.js';
import { LEADER, type Lease, readJson } from './store-records.js';

/**
 * Which publisher leads. The record changes with every renewal. A standby takes over once it saw no change
 * for LEASE_MS_MAX on its own monotonic clock, so clocks of two machines are never compared.
 */
export class Leadership {
  readonly #store: Store;
  readonly #owner: string;
  #beat = 0;
  #seenRevision: number | null = null;
  #seenAtMs = 0;
  isLeader = false;

  constructor(store: Store, owner: string) {
    this.#store = store;
    this.#owner = owner;
  }

  /** Takes or renews the lease if possible. Throws `store-unavailable`. */
  async renew(): Promise<boolean> {
    const lease = await readJson<Lease>(this.#store, LEADER);
    const isOwn = lease?.owner === this.#owner;
    if (lease !== null && !isOwn) {
      this.isLeader = false;
      if (lease.revision !== this.#seenRevision) {
        this.#seenRevision = lease.revision;
        this.#seenAtMs = monotonicMs();
      }
      if (monotonicMs() - this.#seenAtMs < LEASE_MS_MAX) return false;
    }
    const next: Lease = { owner: this.#owner, beat: ++this.#beat };
    const present = lease ?? (await this.#store.read(LEADER));
    this.isLeader =
      (await this.#store.swap(LEADER, JSON.stringify(next), present?.revision ?? null)) !== null;
    return this.isLeader;
  }

  /** Gives up the lease, so that a standby takes over without waiting for LEASE_MS_MAX. */
  async release(): Promise<void> {
    if (!this.isLeader) return;
    this.isLeader = false;
    const lease = await readJson<Lease>(this.#store, LEADER);
    if (lease?.owner === this.#owner) await this.#store.remove(LEADER);
  }
}
