/**
 * Fetches a key set from an address and keeps it: at the start, regularly, and when a token names a key that is not known.
 * However it is asked, and whatever comes of it, there is at most one fetch per cooldown; what was fetched last serves on
 * for a bounded time.
 */
import { LecternError } from '../errors.js';
import { monotonicMs } from '../model/clock.js';
import { redactAddress } from '../upstream/address.js';
import { fetchKeySet } from './fetch-key-set.js';
import type { KeyFeed, KeyFetches, KeyState } from './key-feed.js';
import { KEYS_LEFT_OUT_TOLD_MAX, readUsableKeys } from './key-set.js';
import { toJwk } from './public-key.js';

/** Where the keys come from, as plain data. */
export interface RemoteKeysPlan {
  readonly url: string;
  /** Between two regular fetches. */
  readonly refreshMs: number;
  /** Least time between the beginnings of two fetches, whatever became of the first. */
  readonly cooldownMs: number;
  /** How long after a fetch that went well its keys may be used. */
  readonly staleMsMax: number;
}

/** Lines for people; a pino logger is one. */
export interface KeyLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** What tests put in place of the network and the clock. */
export interface RemoteKeysSurroundings {
  readonly log?: KeyLog | undefined;
  readonly fetch?: (url: URL, signal: AbortSignal) => Promise<unknown>;
  readonly now?: () => number;
  /** Calls back once after so many milliseconds, without keeping the process alive. @returns calls it off */
  readonly schedule?: (callback: () => void, ms: number) => () => void;
  /** From 0 to 1, exclusive. */
  readonly random?: () => number;
}

/** Timers of Node go no further. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** Regular fetches come up to a tenth early, so that many services do not ask at the same moment. */
const JITTER = 0.1;

function scheduleUnref(callback: () => void, ms: number): () => void {
  const timer = setTimeout(callback, ms).unref();
  return () => clearTimeout(timer);
}

export class RemoteKeys implements KeyFeed, KeyFetches {
  readonly #plan: RemoteKeysPlan;
  readonly #url: URL;
  readonly #log: KeyLog | undefined;
  readonly #fetch: NonNullable<RemoteKeysSurroundings['fetch']>;
  readonly #now: () => number;
  readonly #schedule: NonNullable<RemoteKeysSurroundings['schedule']>;
  readonly #random: () => number;
  readonly #listeners: (() => void)[] = [];
  readonly #closing = new AbortController();
  /** See {@link KeyFetches}. */
  readonly results = { changed: 0, unchanged: 0, failed: 0 };
  #fetchedMs: number | null = null;
  #state: KeyState;
  #fetching: Promise<void> | null = null;
  #failures = 0;
  #failingSinceMs = 0;
  #leftOut = '';
  #callOffFetch: () => void = () => {};
  #callOffExpiry: () => void = () => {};

  /** Begins the first fetch at once. */
  constructor(plan: RemoteKeysPlan, surroundings: RemoteKeysSurroundings = {}) {
    this.#plan = plan;
    this.#url = new URL(plan.url);
    this.#log = surroundings.log;
    this.#fetch = surroundings.fetch ?? ((url, signal) => fetchKeySet(url, signal));
    this.#now = surroundings.now ?? monotonicMs;
    this.#schedule = surroundings.schedule ?? scheduleUnref;
    this.#random = surroundings.random ?? Math.random;
    this.#state = {
      name: redactAddress(this.#url),
      number: 0,
      keys: [],
      usableUntilMs: Number.NEGATIVE_INFINITY,
      nextFetchMs: this.#now(),
      problem: null,
    };
    if (this.#url.protocol === 'http:' && !/^(localhost|127\..*|\[::1\])$/.test(this.#url.hostname)) {
      const reason = 'whoever is on the way can put keys of their own in place; expected https';
      this.#say('warn', { reason }, 'key set comes unencrypted');
    }
    void this.want();
  }

  get state(): KeyState {
    return this.#state;
  }

  get ageMs(): number | null {
    return this.#fetchedMs === null ? null : this.#now() - this.#fetchedMs;
  }

  want(): Promise<void> {
    if (this.#fetching !== null) return this.#fetching;
    if (this.#closing.signal.aborted || this.#now() < this.#state.nextFetchMs) return Promise.resolve();
    this.#callOffFetch();
    const beganMs = this.#now();
    this.#state = { ...this.#state, nextFetchMs: beganMs + this.#plan.cooldownMs };
    this.#fetching = this.#attempt(beganMs).finally(() => {
      this.#fetching = null;
    });
    return this.#fetching;
  }

  follow(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Ends a fetch that is under way, and all that were to come. The keys stay as they are. */
  close(): void {
    this.#closing.abort(new LecternError('closed', 'the service is closed'));
    this.#callOffFetch();
    this.#callOffExpiry();
  }

  async #attempt(beganMs: number): Promise<void> {
    let pauseMs: number;
    try {
      const document = await this.#fetch(this.#url, this.#closing.signal);
      if (this.#closing.signal.aborted) return;
      this.#take(readUsableKeys(document, this.#state.name));
      pauseMs = this.#plan.refreshMs * (1 - JITTER * this.#random());
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#miss(error, beganMs);
      pauseMs = this.#plan.cooldownMs * (1 + JITTER * this.#random());
    }
    const { nextFetchMs } = this.#state;
    const waitMs = Math.max(nextFetchMs - this.#now(), beganMs + pauseMs - this.#now(), 0);
    // One millisecond more: timers may fire a little early, and what comes within the cooldown is not fetched.
    this.#callOffFetch = this.#schedule(() => void this.want(), Math.ceil(waitMs) + 1);
    this.#tell();
  }

  #take({ keys, leftOut }: ReturnType<typeof readUsableKeys>): void {
    const { number, keys: before } = this.#state;
    const plain = keys.map(toJwk);
    const isChanged = contentOf(plain) !== contentOf(before);
    this.results[isChanged ? 'changed' : 'unchanged']++;
    this.#fetchedMs = this.#now();
    this.#state = {
      ...this.#state,
      number: isChanged ? number + 1 : number,
      keys: isChanged ? plain : before,
      usableUntilMs: this.#now() + this.#plan.staleMsMax,
      problem: null,
    };
    this.#watchExpiry();
    if (isChanged) this.#say('info', { keys: keys.length }, 'key set taken');
    const told = leftOut.slice(0, KEYS_LEFT_OUT_TOLD_MAX);
    if (leftOut.length > 0 && told.join() !== this.#leftOut) {
      this.#say('warn', { leftOut: leftOut.length, reasons: told }, 'keys of the key set left out');
    }
    this.#leftOut = told.join();
    if (this.#failures > 0) {
      const seconds = Math.round((this.#now() - this.#failingSinceMs) / 1000);
      this.#say('info', { failures: this.#failures, seconds }, 'key set can be had again');
    }
    this.#failures = 0;
  }

  #miss(error: unknown, beganMs: number): void {
    this.results.failed++;
    const reason = error instanceof Error ? error.message : String(error);
    const retryAfterMs = (error instanceof LecternError && error.retryAfterMs) || 0;
    const nextFetchMs =
      beganMs + Math.max(this.#plan.cooldownMs, Math.min(retryAfterMs, this.#plan.refreshMs));
    this.#state = { ...this.#state, nextFetchMs, problem: reason };
    if (this.#failures++ > 0) return;
    this.#failingSinceMs = beganMs;
    const usableSeconds = Math.max(0, Math.round((this.#state.usableUntilMs - this.#now()) / 1000));
    this.#say('warn', { reason, usableSeconds }, 'key set cannot be had');
  }

  /** Tokens that were verified with keys that have become too old are to be forgotten at that moment. */
  #watchExpiry(): void {
    this.#callOffExpiry();
    const leftMs = this.#state.usableUntilMs - this.#now();
    this.#callOffExpiry = this.#schedule(
      () => {
        if (this.#now() < this.#state.usableUntilMs) {
          this.#watchExpiry();
          return;
        }
        this.#say(
          'warn',
          { reason: this.#state.problem },
          'key set too old, tokens are not verified any more',
        );
        this.#tell();
      },
      Math.min(Math.ceil(leftMs), TIMER_MS_MAX),
    );
  }

  /** A logger that fails must not take the keys with it. */
  #say(level: keyof KeyLog, fields: object, message: string): void {
    try {
      this.#log?.[level]({ keySet: this.#state.name, ...fields }, message);
    } catch {
      // There is nowhere else to tell it.
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Equal for equal keys, in whatever order they come. */
function contentOf(keys: KeyState['keys']): string {
  return keys
    .map((key) => JSON.stringify(key))
    .sort()
    .join();
}
