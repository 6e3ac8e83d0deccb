/** Verified tokens, so that each is verified once and then looked up synchronously. */
import { hash } from 'node:crypto';
import { TOKEN_CACHE_ENTRIES_MAX, TOKEN_CACHE_TTL_MS_MAX } from '../limits.js';

/** For how long a value may be used. Epoch milliseconds. */
export interface Usable {
  /** Exclusive. */
  readonly usableUntilMs: number;
  /** Inclusive; may be -Infinity. */
  readonly usableFromMs: number;
}

export interface Remembered<Value> {
  readonly value: Value;
  /** The cache's when this was stored; clear() begins another. */
  readonly epoch: object;
  readonly usableFromMs: number;
  /** The earlier of the token's own end and the longest time to live. */
  readonly untilMs: number;
  /** A clock set back ends entries instead of prolonging them. */
  readonly storedAtMs: number;
}

export interface TokenCacheOptions {
  /** Default TOKEN_CACHE_ENTRIES_MAX; at least 2. */
  readonly entriesMax?: number | undefined;
  /** Default TOKEN_CACHE_TTL_MS_MAX. */
  readonly ttlMsMax?: number;
  /** Epoch milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** A token as the cache knows it: hashed, so that no token is kept in memory and long ones cost no more than short ones. */
export function tokenKeyOf(token: string): string {
  return hash('sha256', token, 'binary');
}

/**
 * Two generations of a Map: when the young one holds half of the bound it becomes the old one, and the old one is dropped
 * whole. A hit in the old generation moves the entry to the young one.
 */
export class TokenCache<Value extends Usable> {
  readonly #generationEntriesMax: number;
  readonly #ttlMsMax: number;
  readonly #now: () => number;
  #epoch = {};
  #young = new Map<string, Remembered<Value>>();
  #old = new Map<string, Remembered<Value>>();

  constructor(options: TokenCacheOptions = {}) {
    this.#generationEntriesMax = Math.max(1, Math.floor((options.entriesMax ?? TOKEN_CACHE_ENTRIES_MAX) / 2));
    this.#ttlMsMax = options.ttlMsMax ?? TOKEN_CACHE_TTL_MS_MAX;
    this.#now = options.now ?? Date.now;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** What was stored under exactly this key, as long as it may be used. */
  get(key: string): Remembered<Value> | undefined {
    const young = this.#young.get(key);
    const entry = young ?? this.#old.get(key);
    if (entry === undefined) return undefined;
    if (!this.isUsable(entry)) {
      this.#young.delete(key);
      this.#old.delete(key);
      return undefined;
    }
    if (young === undefined) this.#put(key, entry);
    return entry;
  }

  /** Whether an entry that was found before may still be used: its time is not over, and clear() was not called. */
  isUsable({ untilMs, usableFromMs, storedAtMs, epoch }: Remembered<Value>): boolean {
    const nowMs = this.#now();
    return epoch === this.#epoch && nowMs < untilMs && nowMs >= usableFromMs && nowMs >= storedAtMs;
  }

  /** Only for tokens that were verified; failures are not remembered. */
  set(key: string, value: Value): void {
    const storedAtMs = this.#now();
    const untilMs = Math.min(value.usableUntilMs, storedAtMs + this.#ttlMsMax);
    if (storedAtMs >= untilMs) return;
    this.#put(key, { value, epoch: this.#epoch, usableFromMs: value.usableFromMs, untilMs, storedAtMs });
  }

  clear(): void {
    this.#epoch = {};
    this.#young = new Map();
    this.#old = new Map();
  }

  #put(key: string, entry: Remembered<Value>): void {
    if (this.#young.size >= this.#generationEntriesMax && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    // One key in one generation only, so that the size is the number of tokens.
    this.#old.delete(key);
    this.#young.set(key, entry);
  }
}
