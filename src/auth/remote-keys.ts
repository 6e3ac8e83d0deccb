/** Keys from an address: at most one fetch per cooldown; the last good set stays in use for a bounded time (decision 0009). */
import { LecternError } from '../base/errors.js';
import {
  KEY_SET_BYTES_MAX,
  KEY_SET_COOLDOWN_MS,
  KEY_SET_FETCH_MS_MAX,
  KEY_SET_FRAMING_BYTES_MAX,
  KEY_SET_STALE_MS,
} from '../base/limits.js';
import { monotonicMs, TIMER_MS_MAX } from '../base/model/clock.js';
import { isLoopback, redactAddress, refused, UpstreamCall, unreadableAnswer } from '../source/http/call.js';
import {
  type FetchedKeys,
  type JsonKey,
  KEYS_LEFT_OUT_TOLD_MAX,
  type KeyState,
  readUsableKeys,
  toJwk,
} from './key-set.js';

/** How a key set is fetched, as plain data. */
export interface RemoteKeysPlan {
  readonly url: string;
  readonly refreshMs: number;
  /** Shortest time between any two fetches, even after a failure or for an unknown key. */
  readonly cooldownMs: number;
  /** How long fetched keys are used while fetching fails. */
  readonly staleMsMax: number;
}

export function isAddress(jwks: string): boolean {
  return /^https?:\/\//i.test(jwks);
}

/** The fault of a path or address; null if it is valid. The fault quotes only the scheme of the text. */
export function keySourceFault(jwks: string): string | null {
  if (isAddress(jwks)) {
    if (!URL.canParse(jwks)) return 'it is not a valid address; expected https://…';
    const { username, password } = new URL(jwks);
    return username === '' && password === '' ? null : 'its address must not hold a user or password';
  }
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(jwks)?.[1]?.toLowerCase();
  return scheme === undefined
    ? null
    : `a key set of the scheme ${scheme} cannot be read; expected a path, http://… or https://…`;
}

export function planRemoteKeys(
  jwks: string,
  { jwksRefreshSeconds }: { readonly jwksRefreshSeconds: number },
): RemoteKeysPlan {
  const refreshMs = jwksRefreshSeconds * 1000;
  return {
    url: jwks,
    refreshMs,
    cooldownMs: Math.min(KEY_SET_COOLDOWN_MS, refreshMs),
    staleMsMax: Math.max(KEY_SET_STALE_MS, 2 * refreshMs),
  };
}

/** The log of key fetches; a pino logger fits. */
type KeyLog = Readonly<Record<'info' | 'warn', (fields: object, message: string) => void>>;

/** The log, and parts that tests replace. */
export interface RemoteKeysSurroundings {
  readonly log?: KeyLog | undefined;
  readonly fetch?: (url: URL, signal: AbortSignal) => Promise<unknown>;
  readonly now?: () => number;
  /** setTimeout that does not keep the process alive; returns a function that cancels it. */
  readonly schedule?: (callback: () => void, ms: number) => () => void;
  readonly random?: () => number;
}

/** Spreads the fetches of many services over a tenth of the interval. */
const JITTER = 0.1;

function scheduleUnref(callback: () => void, ms: number): () => void {
  const timer = setTimeout(callback, ms).unref();
  return () => clearTimeout(timer);
}

export class RemoteKeys implements FetchedKeys {
  readonly results: Record<'changed' | 'unchanged' | 'failed', number> = {
    changed: 0,
    unchanged: 0,
    failed: 0,
  };
  readonly #plan: RemoteKeysPlan;
  readonly #url: URL;
  readonly #around: Required<RemoteKeysSurroundings>;
  readonly #listeners: (() => void)[] = [];
  readonly #closing = new AbortController();
  #state: KeyState;
  #fetchedMs: number | null = null;
  #fetching: Promise<void> | null = null;
  #failures = 0;
  #failingSinceMs = 0;
  #leftOut = '';
  #callOffFetch: () => void = () => {};
  #callOffExpiry: () => void = () => {};

  constructor(plan: RemoteKeysPlan, surroundings: RemoteKeysSurroundings = {}) {
    this.#plan = plan;
    this.#url = new URL(plan.url);
    this.#around = {
      log: undefined,
      fetch: fetchKeySet,
      now: monotonicMs,
      schedule: scheduleUnref,
      random: Math.random,
      ...surroundings,
    };
    this.#state = {
      name: redactAddress(this.#url),
      number: 0,
      keys: [],
      usableUntilMs: Number.NEGATIVE_INFINITY,
      nextFetchMs: this.#around.now(),
      problem: null,
    };
    if (this.#url.protocol === 'http:' && !isLoopback(this.#url.hostname)) {
      const reason = 'over http anyone on the network path can replace the keys; expected https';
      this.#say('warn', { reason }, 'key set is fetched without encryption');
    }
    void this.want();
  }

  get state(): KeyState {
    return this.#state;
  }

  /** Null before the first good fetch. */
  get ageMs(): number | null {
    return this.#fetchedMs === null ? null : this.#around.now() - this.#fetchedMs;
  }

  want(): Promise<void> {
    if (this.#fetching !== null) return this.#fetching;
    const beganMs = this.#around.now();
    if (this.#closing.signal.aborted || beganMs < this.#state.nextFetchMs) return Promise.resolve();
    this.#callOffFetch();
    this.#state = { ...this.#state, nextFetchMs: beganMs + this.#plan.cooldownMs };
    this.#fetching = this.#attempt(beganMs).finally(() => {
      this.#fetching = null;
    });
    return this.#fetching;
  }

  listen(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Ends fetching, but keeps the keys. */
  close(): void {
    this.#closing.abort(new LecternError('closed', 'the service is closed'));
    this.#callOffFetch();
    this.#callOffExpiry();
  }

  async #attempt(beganMs: number): Promise<void> {
    const { fetch, now, random, schedule } = this.#around;
    const { refreshMs, cooldownMs } = this.#plan;
    let pauseMs = refreshMs * (1 - JITTER * random());
    try {
      const document = await fetch(this.#url, this.#closing.signal);
      if (this.#closing.signal.aborted) return;
      this.#take(document);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#miss(error, beganMs);
      pauseMs = cooldownMs * (1 + JITTER * random());
    }
    const dueMs = Math.max(beganMs + pauseMs, this.#state.nextFetchMs);
    // Timers may fire slightly early, and a fetch within the cooldown does nothing, so 1 ms is added.
    this.#callOffFetch = schedule(() => void this.want(), Math.max(0, Math.ceil(dueMs - now())) + 1);
    this.#tell();
  }

  #take(document: unknown): void {
    const nowMs = this.#around.now();
    const { number, keys: before, name } = this.#state;
    const { keys: usable, leftOut } = readUsableKeys(document, name);
    const keys = usable.map(toJwk);
    const isChanged = contentOf(keys) !== contentOf(before);
    this.results[isChanged ? 'changed' : 'unchanged']++;
    this.#fetchedMs = nowMs;
    this.#state = {
      ...this.#state,
      ...(isChanged ? { number: number + 1, keys } : {}),
      usableUntilMs: nowMs + this.#plan.staleMsMax,
      problem: null,
    };
    this.#watchExpiry();
    if (isChanged) this.#say('info', { keys: keys.length }, 'key set taken');
    const reasons = leftOut.slice(0, KEYS_LEFT_OUT_TOLD_MAX);
    if (leftOut.length > 0 && reasons.join() !== this.#leftOut) {
      this.#say('warn', { leftOut: leftOut.length, reasons }, 'keys of the key set left out');
    }
    this.#leftOut = reasons.join();
    if (this.#failures > 0) {
      const seconds = Math.round((nowMs - this.#failingSinceMs) / 1000);
      this.#say('info', { failures: this.#failures, seconds }, 'key set can be fetched again');
    }
    this.#failures = 0;
  }

  #miss(error: unknown, beganMs: number): void {
    const { cooldownMs, refreshMs } = this.#plan;
    this.results.failed++;
    const reason = error instanceof Error ? error.message : String(error);
    const retryAfterMs = (error instanceof LecternError && error.retryAfterMs) || 0;
    const nextFetchMs = beganMs + Math.max(cooldownMs, Math.min(retryAfterMs, refreshMs));
    this.#state = { ...this.#state, nextFetchMs, problem: reason };
    if (this.#failures++ > 0) return;
    this.#failingSinceMs = beganMs;
    const usableMs = this.#state.usableUntilMs - this.#around.now();
    const usableSeconds = Math.max(0, Math.round(usableMs / 1000));
    this.#say('warn', { reason, usableSeconds }, 'cannot fetch the key set');
  }

  /** Tells the listeners when the keys become too old. */
  #watchExpiry(): void {
    this.#callOffExpiry();
    const leftMs = this.#state.usableUntilMs - this.#around.now();
    if (leftMs > 0) {
      const waitMs = Math.min(Math.ceil(leftMs), TIMER_MS_MAX);
      this.#callOffExpiry = this.#around.schedule(() => this.#watchExpiry(), waitMs);
      return;
    }
    const reason = this.#state.problem;
    this.#say('warn', { reason }, 'key set too old, tokens are no longer verified');
    this.#tell();
  }

  #say(level: keyof KeyLog, fields: object, message: string): void {
    try {
      this.#around.log?.[level]({ keySet: this.#state.name, ...fields }, message);
    } catch {
      // A failing logger must not stop the fetching of keys.
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** A text that is equal for equal keys in any order. */
function contentOf(keys: readonly JsonKey[]): string {
  return keys
    .map((key) => JSON.stringify(key))
    .sort()
    .join();
}

/**
 * One GET of a JSON Web Key Set (RFC 7517 section 8.5). The media type is ignored, because many issuers say
 * `application/json`.
 *
 * @throws LecternError `source-unreadable`, `source-too-large`, `key-invalid`; no message quotes the answer
 */
export async function fetchKeySet(
  url: URL,
  signal?: AbortSignal,
  msMax: number = KEY_SET_FETCH_MS_MAX,
): Promise<unknown> {
  const call = new UpstreamCall(url, {
    headers: { accept: 'application/jwk-set+json, application/json;q=0.9', 'user-agent': 'lectern' },
    headersMsMax: msMax,
    idleMsMax: msMax,
    totalMsMax: msMax,
    bytesMax: KEY_SET_BYTES_MAX,
    signal,
  });
  try {
    const answer = await call.get(url, false);
    const { headers, socket } = answer.message;
    if (answer.status !== 200) throw refused(answer.url, answer.status, headers, '');
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
      throw unreadableAnswer(
        answer.url,
        'the answer is compressed, although the request did not ask for that',
      );
    }
    const bytes = await call.bytes(answer, () => {
      // A small chunk costs as much as a large one. The framing bytes reveal many small chunks.
      if (socket.bytesRead - 2 * call.bytesRead > KEY_SET_FRAMING_BYTES_MAX) {
        throw unreadableAnswer(answer.url, 'it comes in chunks of a few bytes each');
      }
    });
    try {
      return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    } catch {
      // The parser's message would quote the text.
      throw new LecternError('key-invalid', `${redactAddress(answer.url)} is not JSON`);
    }
  } finally {
    call.close();
  }
}
