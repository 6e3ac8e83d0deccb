import { LEASE_MS_MAX } from '../limits.js';
import { monotonicMs } from '../model/clock.js';
import type { Store } from '../store/store.js';
import { LEADER, type Lease, readLease } from './store-records.js';

/**
 * Which publisher leads. The leader's record changes with every renewal. A standby takes over once it has
 * seen no change of this record for LEASE_MS_MAX on its own monotonic clock, so clocks of two machines are
 * never compared.
 */
export class Leadership {
  readonly #store: Store;
  readonly #owner: string;
  readonly #now: () => number;
  #beat = 0;
  #seenRevision: number | null = null;
  #seenAtMs = 0;
  /** When the last successful renewal began; null without a lease. */
  #renewedAtMs: number | null = null;

  constructor(store: Store, owner: string, now: () => number = monotonicMs) {
    this.#store = store;
    this.#owner = owner;
    this.#now = now;
  }

  /**
   * Whether this publisher leads: until LEASE_MS_MAX after its last renewal began. No standby takes over
   * before that time.
   */
  get isLeader(): boolean {
    return this.#renewedAtMs !== null && this.#now() - this.#renewedAtMs < LEASE_MS_MAX;
  }

  /** Takes or renews the lease if possible. Throws `store-unavailable`. */
  async renew(): Promise<boolean> {
    const beganMs = this.#now();
    const lease = await readLease(this.#store);
    const isOwn = lease?.owner === this.#owner;
    if (lease !== null && !isOwn) {
      this.#renewedAtMs = null;
      if (lease.revision !== this.#seenRevision) {
        this.#seenRevision = lease.revision;
        this.#seenAtMs = this.#now();
      }
      if (this.#now() - this.#seenAtMs < LEASE_MS_MAX) return false;
    }
    const next: Lease = { owner: this.#owner, beat: ++this.#beat, renewedAtMs: Date.now() };
    const present = lease ?? (await this.#store.read(LEADER));
    const revision = await this.#store.swap(LEADER, JSON.stringify(next), present?.revision ?? null);
    this.#renewedAtMs = revision === null ? null : beganMs;
    return this.isLeader;
  }

  /** Gives up the lease, so that a standby takes over without waiting for LEASE_MS_MAX. */
  async release(): Promise<void> {
    if (this.#renewedAtMs === null) return;
    this.#renewedAtMs = null;
    const lease = await readLease(this.#store);
    if (lease?.owner === this.#owner) await this.#store.remove(LEADER);
  }
}
