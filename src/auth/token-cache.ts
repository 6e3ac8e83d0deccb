/** Verified tokens: each is verified once, then looked up synchronously. */
import { hash } from 'node:crypto';
import { TOKEN_CACHE_ENTRIES_MAX, TOKEN_CACHE_TTL_MS_MAX } from '../limits.js';

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
  readonly weight: number;
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

/**
 * The cache has two generations: a full young generation replaces the old one. A hit moves its entry to the
 * young generation.
 */
export class TokenCache<Value extends Usable> {
  readonly #generationEntriesMax: number;
  readonly #ttlMsMax: number;
  readonly #now: () => number;
  #epoch = {};
  #young = new Map<string, Remembered<Value>>();
  #old = new Map<string, Remembered<Value>>();
  #youngWeight = 0;

  constructor({
    entriesMax = TOKEN_CACHE_ENTRIES_MAX,
    ttlMsMax = TOKEN_CACHE_TTL_MS_MAX,
    now = Date.now,
  }: TokenCacheOptions = {}) {
    this.#generationEntriesMax = Math.max(1, Math.floor(entriesMax / 2));
    this.#ttlMsMax = ttlMsMax;
    this.#now = now;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(key: string): Remembered<Value> | undefined {
    const young = this.#young.get(key);
    const entry = young ?? this.#old.get(key);
    if (entry === undefined) return undefined;
    if (!this.isUsable(entry)) {
      this.#remove(key);
      return undefined;
    }
    if (young === undefined) this.#put(key, entry);
    return entry;
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
    this.#put(key, { value, epoch: this.#epoch, untilMs, storedAtMs, weight });
  }

  clear(): void {
    this.#epoch = {};
    this.#young = new Map();
    this.#old = new Map();
    this.#youngWeight = 0;
  }

  #put(key: string, entry: Remembered<Value>): void {
    this.#remove(key);
    if (this.#youngWeight + entry.weight > this.#generationEntriesMax) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngWeight = 0;
    }
    this.#young.set(key, entry);
    this.#youngWeight += entry.weight;
  }

  #remove(key: string): void {
    this.#youngWeight -= this.#young.get(key)?.weight ?? 0;
    this.#young.delete(key);
    this.#old.delete(key);
  }
}
