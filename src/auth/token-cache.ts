/**
 * Verified tokens, so that a token is verified once and then looked up synchronously.
 *
 * Two generations of a Map: new entries go into the young one; when it is full (half of the bound) it becomes the old
 * one and the old one is dropped whole. A hit in the old generation moves the entry to the young one. This is close
 * to least-recently-used at the cost of one or two look-ups, with no list to maintain and nothing to scan, and a
 * token that is no longer used goes without a timer.
 */
import { hash } from 'node:crypto';
import { TOKEN_CACHE_ENTRIES_MAX, TOKEN_CACHE_TTL_MS_MAX } from '../limits.js';

/** For how long an entry may be used; both ends are checked on every hit. */
export interface Usable {
  /** Epoch milliseconds, exclusive. */
  readonly usableUntilMs: number;
  /** Epoch milliseconds, inclusive; may be -Infinity. */
  readonly usableFromMs: number;
}

export interface Remembered<Value> {
  readonly value: Value;
  /** Of the cache when this was put in; another one after clear(). */
  readonly epoch: object;
  readonly usableFromMs: number;
  /** The earlier of the token's own end and the longest time to live. */
  readonly untilMs: number;
  /** When it was put in: a clock set back makes entries invalid instead of eternal. */
  readonly storedAtMs: number;
}

export interface TokenCache<Value extends Usable> {
  readonly size: number;
  /** What was stored with exactly this token, as long as it may be used; undefined otherwise. */
  get(token: string, key?: TokenKey): Remembered<Value> | undefined;
  /** Whether what was found may still be used now: neither its time nor clear() has come since. */
  isUsable(remembered: Remembered<Value>): boolean;
  /** Only ever called with tokens that were verified; failures are not remembered. */
  set(token: string, value: Value, key?: TokenKey): void;
  /** To be called when a key or a setting of the verifier changes. */
  clear(): void;
}

export interface TokenCacheOptions {
  /** Default TOKEN_CACHE_ENTRIES_MAX; at least 2. */
  readonly entriesMax?: number;
  /** Default TOKEN_CACHE_TTL_MS_MAX. */
  readonly ttlMsMax?: number;
  /** Epoch milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

/** The key of a token. */
export type TokenKey = string;

/** The whole token, hashed: tokens themselves are not kept in memory, and long ones cost no more than short ones. */
export function tokenKeyOf(token: string): TokenKey {
  return hash('sha256', token, 'binary');
}

export function createTokenCache<Value extends Usable>(options: TokenCacheOptions = {}): TokenCache<Value> {
  const generationEntriesMax = Math.max(1, Math.floor((options.entriesMax ?? TOKEN_CACHE_ENTRIES_MAX) / 2));
  const ttlMsMax = options.ttlMsMax ?? TOKEN_CACHE_TTL_MS_MAX;
  const now = options.now ?? Date.now;
  let epoch = {};
  let young = new Map<string, Remembered<Value>>();
  let old = new Map<string, Remembered<Value>>();

  function put(key: string, entry: Remembered<Value>): void {
    if (young.size >= generationEntriesMax && !young.has(key)) {
      old = young;
      young = new Map();
    }
    // One key in one generation only, so that the size is the number of tokens.
    old.delete(key);
    young.set(key, entry);
  }

  function isUsable({ untilMs, usableFromMs, storedAtMs, epoch: storedIn }: Remembered<Value>): boolean {
    const nowMs = now();
    return storedIn === epoch && nowMs < untilMs && nowMs >= usableFromMs && nowMs >= storedAtMs;
  }

  function get(token: string, key: TokenKey = tokenKeyOf(token)): Remembered<Value> | undefined {
    let entry = young.get(key);
    const isOld = entry === undefined;
    if (entry === undefined) entry = old.get(key);
    if (entry === undefined) return undefined;
    if (!isUsable(entry)) {
      young.delete(key);
      old.delete(key);
      return undefined;
    }
    if (isOld) put(key, entry);
    return entry;
  }

  return {
    get size() {
      return young.size + old.size;
    },
    get,
    isUsable,
    set(token, value, key = tokenKeyOf(token)) {
      const storedAtMs = now();
      const untilMs = Math.min(value.usableUntilMs, storedAtMs + ttlMsMax);
      if (storedAtMs >= untilMs) return;
      put(key, { value, epoch, usableFromMs: value.usableFromMs, untilMs, storedAtMs });
    },
    clear() {
      epoch = {};
      young = new Map();
      old = new Map();
    },
  };
}
