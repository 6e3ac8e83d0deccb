import type { KeyState } from '../auth/remote-key-set.js';
import type { LecternErrorCode } from '../errors.js';
import type { InnerPart } from '../http/node/inner-parts.js';
import type { ListenAddress } from '../http/server/listen-address.js';
import type { OverloadCounts } from '../http/server/overload.js';
import type { PublishedImage } from '../view/present.js';
import type { SourceState } from '../view/view-source.js';
import type { HandlerPlan } from './handler-plan.js';

/** What the main thread and the serving threads say to each other. */

/** How a thread comes to a listening socket on the one port; see door.ts. */
export type Entrance =
  | { readonly how: 'reuse-port' }
  /** To be duplicated: whoever closes a descriptor closes it for the whole process. */
  | { readonly how: 'descriptor'; readonly fd: number };

/** What a thread begins with. */
export interface ServingTask {
  readonly plan: HandlerPlan;
  readonly hasLog: boolean;
  /** Found by the main thread; see inner-parts.ts. */
  readonly innerPartsMissing: readonly InnerPart[];
  /** One number: log lines of this thread that are on their way. The thread adds, the main thread subtracts. */
  readonly logWaiting: SharedArrayBuffer;
  readonly host: string;
  readonly port: number;
  readonly entrance: Entrance;
  /** Of this thread; see HttpServerOptions. */
  readonly connectionsMax: number | undefined;
  readonly overloadMs: number | undefined;
  /** It is to be closed soon, as all others are. */
  readonly isDraining: boolean;
  /** This thread's part of what all have together, in bytes. */
  readonly rowCacheBytes: number;
  readonly answerCacheBytes: number;
  /** Serving threads, this one included. */
  readonly threads: number;
  readonly staleMsMax: number;
  readonly source: SourceState;
  /** Null where nothing was published so far; otherwise it is served from the first request on. */
  readonly published: NumberedPublication | null;
  /** What this thread counts into; null where it does not. */
  readonly meterMemory: SharedArrayBuffer | null;
  /** Null where no keys are fetched. */
  readonly keys: KeyState | null;
}

/** Publications are counted, so that a thread can say which it serves. */
export interface NumberedPublication {
  readonly number: number;
  readonly published: PublishedImage;
}

export type ToThread =
  | ({ readonly kind: 'publish' } & NumberedPublication)
  | { readonly kind: 'source'; readonly source: SourceState }
  /** Keys that were fetched. `isReply`: to this thread's `want-keys`. */
  | { readonly kind: 'keys'; readonly state: KeyState; readonly isReply: boolean }
  | { readonly kind: 'drain' }
  | { readonly kind: 'close'; readonly deadlineMs: number };

export type FromThread =
  | { readonly kind: 'listening'; readonly address: ListenAddress }
  /** It cannot listen, and ends. Code null: a bug. */
  | { readonly kind: 'failed'; readonly code: LecternErrorCode | null; readonly message: string }
  /** It answers from the publication of this number. */
  | { readonly kind: 'serving'; readonly number: number }
  /** An overload began or is over, or requests were refused since the last time, which is told once a second. */
  | { readonly kind: 'load'; readonly load: OverloadCounts }
  /** A token names a key that is not known. */
  | { readonly kind: 'want-keys' }
  | {
      readonly kind: 'log';
      readonly level: 'info' | 'warn' | 'error';
      readonly fields: object;
      readonly message: string;
    };
