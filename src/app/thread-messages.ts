import type { PublishedImage } from '../answer/present.js';
import type { Access } from '../auth/access.js';
import type { FetchedKeys, KeyState } from '../auth/key-set.js';
import type { LecternErrorCode } from '../base/errors.js';
import { LOG_MESSAGES_MAX } from '../base/limits.js';
import { CELL } from '../base/metrics/cells.js';
import type { Meter } from '../base/metrics/meter.js';
import { monotonicMs } from '../base/model/clock.js';
import type { SourceState } from '../base/model/source-state.js';
import type { Logger } from '../http/logger.js';
import type { Internal } from '../http/node/internals.js';
import type { OverloadCounts } from '../http/server/overload.js';
import type { ServingSettings } from './serving.js';

export interface ServingTask {
  readonly settings: ServingSettings;
  readonly descriptor: number | null;
  readonly internalsMissing: readonly Internal[];
  readonly hasLog: boolean;
  /** One number: this thread's log lines in transit. The thread adds, the main thread subtracts. */
  readonly logWaiting: SharedArrayBuffer;
  readonly source: SourceState;
  /** Served from the first request on; null before the first publication. */
  readonly published: NumberedPublication | null;
  readonly meterMemory: SharedArrayBuffer | null;
  readonly keys: KeyState | null;
  readonly access: Access;
}

export interface NumberedPublication {
  readonly number: number;
  readonly published: PublishedImage;
}

export type ToThread =
  | ({ readonly kind: 'publish' } & NumberedPublication)
  | { readonly kind: 'source'; readonly source: SourceState }
  /** Fetched keys. `isReply`: they answer this thread's `want-keys`. */
  | { readonly kind: 'keys'; readonly state: KeyState; readonly isReply: boolean }
  | { readonly kind: 'access'; readonly change: Partial<Access> }
  | { readonly kind: 'drain' }
  | { readonly kind: 'close'; readonly deadlineMs: number };

export type FromThread =
  | { readonly kind: 'listening' }
  /** The thread cannot listen, and ends. A null code means a bug. */
  | { readonly kind: 'failed'; readonly code: LecternErrorCode | null; readonly message: string }
  | { readonly kind: 'serving'; readonly number: number }
  /** An overload began or ended, or requests were refused in the last second. */
  | { readonly kind: 'load'; readonly load: OverloadCounts }
  | { readonly kind: 'want-keys' }
  | { readonly kind: 'log'; readonly level: Level; readonly fields: object; readonly message: string };

type Level = 'info' | 'warn' | 'error';

/**
 * The log of a serving thread: the main thread writes its lines. At most LOG_MESSAGES_MAX are in transit; further
 * lines are dropped. A line that says how many were dropped precedes the next line that is sent.
 */
export function createThreadLog(
  tell: (message: FromThread) => void,
  logWaiting: SharedArrayBuffer,
  meter: Meter | null,
): Logger {
  const waiting = new Int32Array(logWaiting);
  let dropped = 0;

  function send(level: Level, fields: object, message: string): void {
    Atomics.add(waiting, 0, 1);
    try {
      tell({ kind: 'log', level, fields, message });
    } catch {
      // A field cannot be cloned. Of all fields, only an error is kept, because it matters most.
      const { err } = fields as { readonly err?: unknown };
      tell({ kind: 'log', level, fields: err instanceof Error ? { err: `${err.stack}` } : {}, message });
    }
  }

  function line(level: Level, fields: object, message: string): void {
    if (Atomics.load(waiting, 0) >= LOG_MESSAGES_MAX) {
      dropped++;
      meter?.add(CELL.logLinesDropped);
      return;
    }
    const lines = dropped;
    dropped = 0;
    if (lines > 0) {
      const message = 'log lines of a thread were dropped: too many waited for the main thread';
      send('warn', { lines }, message);
    }
    send(level, fields, message);
  }

  return {
    info: (fields, message) => line('info', fields, message),
    warn: (fields, message) => line('warn', fields, message),
    error: (fields, message) => line('error', fields, message),
  };
}

export class PostedKeys implements FetchedKeys {
  state: KeyState;
  readonly #ask: () => void;
  readonly #listeners: (() => void)[] = [];
  #replied: Promise<void> | null = null;
  #resolve = (): void => {};

  /** @param ask posts a request for newer keys; the reply goes to `receive` */
  constructor(state: KeyState, ask: () => void) {
    this.state = state;
    this.#ask = ask;
  }

  /** During the cooldown no request is posted, so forged tokens cost only the thread that receives them. */
  want(): Promise<void> {
    if (this.#replied !== null) return this.#replied;
    if (monotonicMs() < this.state.nextFetchMs) return Promise.resolve();
    this.#replied = new Promise<void>((resolve) => {
      this.#resolve = resolve;
    });
    this.#ask();
    return this.#replied;
  }

  listen(listener: () => void): void {
    this.#listeners.push(listener);
  }

  receive(state: KeyState, isReply: boolean): void {
    this.state = state;
    for (const listener of this.#listeners) listener();
    if (!isReply) return;
    this.#replied = null;
    this.#resolve();
  }
}
