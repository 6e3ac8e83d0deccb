import type { PublishedImage } from '../answer/present.js';
import type { Access } from '../auth/access.js';
import type { KeyState } from '../auth/remote-key-set.js';
import type { LecternErrorCode } from '../base/errors.js';
import type { SourceState } from '../base/model/source-state.js';
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
  | {
      readonly kind: 'log';
      readonly level: 'info' | 'warn' | 'error';
      readonly fields: object;
      readonly message: string;
    };
