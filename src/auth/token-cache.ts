/** Verified tokens: each is verified once, then looked up synchronously. */
import { hash } from 'node:crypto';
import { TOKEN_CACHE_ENTRIES_MAX, TOKEN_CACHE_TTL_MS_MAX } from '../base/limits.js';
import { GenerationalCache } from '../base/structures/generational-cache.js';

/**
 * The time in which a token is valid: from `nbf` (inclusive, or -Infinity) to `exp` (exclusive), in epoch
 * milliseconds, clock tolerance included.
 */
export interface Usable {
  readonly usableUntilMs: number;
  readonly usableFromMs: number;
}

export interface Remembered<Value> {
  readonly value: Value;
  /** clear() begins another epoch. */
  readonly epoch: object;
  readonly untilMs: number;
  /** If the clock is set back, entries end early instead of living longer. */
  readonly storedAtMs: number;
}

export interface TokenCacheOptions {
  /** An entry with many values counts as several entries. */
  readonly entriesMax?: number | undefined;
  readonly ttlMsMax?: number;
  readonly now?: (() => number) | undefined;
}

/** A hash, so that no token stays in memory, and long tokens need no more memory than short ones. */
export function tokenKeyOf(token: string): string {
  return hash('sha256', token, 'binary');
}

/** The users of verified tokens. If the cache is full, those that were not used for longest go. */
export class TokenCache<Value extends Usable> {
  readonly #entries: GenerationalCache<Remembered<Value>>;
  readonly #ttlMsMax: number;
  readonly #now: () => number;
  #epoch = {};

  constructor({
    entriesMax = TOKEN_CACHE_ENTRIES_MAX,
    ttlMsMax = TOKEN_CACHE_TTL_MS_MAX,
    now = Date.now,
  }: TokenCacheOptions = {}) {
    this.#entries = new GenerationalCache(entriesMax);
    this.#ttlMsMax = ttlMsMax;
    this.#now = now;
  }

  /** The number of entries, in usual ones. */
  get size(): number {
    return this.#entries.bytes;
  }

  get(key: string): Remembered<Value> | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || this.isUsable(entry)) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  isUsable({ value, untilMs, storedAtMs, epoch }: Remembered<Value>): boolean {
    const nowMs = this.#now();
    return epoch === this.#epoch && nowMs < untilMs && nowMs >= value.usableFromMs && nowMs >= storedAtMs;
  }

  /** Stores the result of a verified token. @param weight the number of usual entries that take as much memory */
  set(key: string, value: Value, weight = 1): void {
    const storedAtMs = this.#now();
    const untilMs = Math.min(value.usableUntilMs, storedAtMs + this.#ttlMsMax);
    if (storedAtMs >= untilMs) return;
    this.#entries.set(key, { value, epoch: this.#epoch, untilMs, storedAtMs }, weight);
  }

  clear(): void {
    this.#epoch = {};
    this.#entries.clear();
  }
}
