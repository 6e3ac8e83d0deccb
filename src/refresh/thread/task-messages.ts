import type { MessagePort } from 'node:worker_threads';
import { LecternError, type LecternErrorCode } from '../../base/errors.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import type { RoomTable } from '../../base/model/room.js';
import type { FollowState } from '../../base/model/source-state.js';
import type { Change } from '../../change/change.js';
import type { History } from '../../change/history.js';
import type { SnapshotInFile } from '../../change/snapshot-file.js';
import type { SnapshotImage } from '../../snapshot/image.js';
import type { FilePlace } from '../../snapshot/image-file.js';
import type { StoredImage } from '../../snapshot/image-layout.js';
import type { IntakeBounds, Refusal } from '../../snapshot/intake-bounds.js';
import type { RecordLoadOptions } from '../../source/memory-source.js';
import type { FollowedLoad, PostgresSpec } from '../../source/postgres/postgres-address.js';
import type { LoadOptions, LoadProgress, PartReport, PartsReport } from '../../source/source.js';
import type { AskSecretHeadersOf, SourceSpec } from '../../source/spec.js';
import type { HashedObject } from '../../store/store.js';
import type { ThreadHeap } from './start-thread.js';

/**
 * Tasks of worker threads, and their answers. A thread runs one task and ends, which frees its memory. A kept
 * thread runs several tasks.
 */

export interface StreamSpec {
  readonly kind: 'stream';
  /** `records`: NDJSON made from records in memory. `bytes`: any format, as from a file. */
  readonly content: 'records' | 'bytes';
  readonly name: string;
  readonly version: string | null;
}

export type ByteChunks = AsyncGenerator<Uint8Array<ArrayBuffer>>;

export interface LoadTask {
  readonly task: 'load';
  readonly source: SourceSpec | StreamSpec;
  readonly rules: ReadRules;
  /** The source's version of the served snapshot, for a conditional load; null to load in any case. */
  readonly previousVersion: string | null;
  /**
   * The served image, to find the changes; null at the first load. The arrays of the image are shared, not
   * copied.
   */
  readonly served: SnapshotImage | null;
  /** Whether `served` may be patched if few events differ. */
  readonly mayPatch: boolean;
  /** The history of `served`. */
  readonly past: readonly Change[];
  readonly bounds: IntakeBounds;
  /** For several sources: their parts at the last load. */
  readonly parts: readonly PartReport[];
  readonly allowMissing: boolean;
  /** For several sources: whether those are read, too, that are not due. Default false. */
  readonly asksAll?: boolean;
}

/** An object of a store. */
export interface FetchedObject extends HashedObject {
  /** The bytes in Base64, if the announcement has them. */
  readonly content?: string;
}

/** Fetches an announced image from a store: the changes that the served image lacks, or the whole image. */
export interface FetchTask {
  readonly task: 'fetch-image';
  /** Address of the store. */
  readonly store: string;
  /** The image file. */
  readonly image: FetchedObject;
  /** The changes from the image file to the announced image. */
  readonly following: readonly FetchedObject[];
  /** The changes from the served image to the announced one; null if they are not announced. */
  readonly missed: readonly FetchedObject[] | null;
  /** The publications before the image file; null for none. */
  readonly history: FetchedObject | null;
  /** Whether to continue the replica's own history, in which clients find the image that it served before. */
  readonly keepsHistory: boolean;
  /** Id of the announced content. */
  readonly id: string;
  /** Digest of the announced values that no answer shows. */
  readonly hidden: string;
  readonly served: SnapshotImage | null;
  /** The history of `served`. */
  readonly past: readonly Change[];
  readonly memoryBytesMax: number;
}

/** Applies changes to the served image. The added records arrive as chunks, like those of a stream. */
export interface PatchTask extends Pick<LoadTask, 'rules' | 'past' | 'bounds'> {
  readonly task: 'patch';
  /** The name of the source, for messages. */
  readonly name: string;
  readonly served: SnapshotImage;
  readonly removals: readonly (string | number)[];
  /** For each record, the id of its event, if the source knows it. An undecodable record does not show its id. */
  readonly ids?: readonly (string | number)[] | undefined;
  /** The source's version after the changes. */
  readonly version: string | null;
}

/** Reads the rooms of a database. */
interface RoomsTask {
  readonly task: 'read-rooms';
  readonly source: PostgresSpec;
  readonly rules: ReadRules;
}

/** Asks for what has changed in a followed table. The thread follows the table until it is ended. */
export interface FollowTask extends Pick<RecordLoadOptions, 'previous' | 'served'> {
  readonly task: 'follow-table';
  readonly source: PostgresSpec;
  readonly rules: ReadRules;
}

/** The whole load that the last FollowTask gave has ended. */
export interface EndWholeTask {
  readonly task: 'end-whole';
  readonly isGood: boolean;
}

export type Task =
  | LoadTask
  | RoomsTask
  | FollowTask
  | EndWholeTask
  | FetchTask
  | PatchTask
  | { readonly task: 'read-image'; readonly path: string }
  | (StoredImage & {
      readonly task: 'write-image';
      readonly path: string;
      /** The publications up to the image. */
      readonly past: readonly Change[];
    });

export interface TaskListeners
  extends Pick<LoadOptions, 'signal' | 'onProgress' | 'onVersion' | 'onParts' | 'onAllRead'> {
  /**
   * Gets the present credentials of a source. A task has numbers in place of credentials, because these may
   * change during the load.
   */
  readonly askSecretHeaders?: AskSecretHeadersOf | undefined;
  /** A table is followed from now on; the function tells how far. */
  readonly onFollow?: (stateOf: () => FollowState) => void;
  /** The followed table has changed. */
  readonly onChange?: () => void;
}

export interface Loaded {
  readonly kind: 'loaded';
  readonly image: SnapshotImage;
  readonly sourceVersion: string | null;
  /** An operator chose this image, so the gate does not check it. */
  readonly isChosen?: boolean;
  /**
   * What differs from the served image, oldest first: one change, or several that a replica missed. Empty at the first
   * load.
   */
  readonly changes: readonly Change[];
  /** Null at the first load. */
  readonly history: History | null;
  /** Whether the image was made from the served one. */
  readonly isPatched?: boolean;
  /** Whether all records were read, although the image was made from the served one. */
  readonly isWholeLoad?: boolean;
  /** The sequence of the announcement. */
  readonly sequence?: number;
}

/** A snapshot file was read. */
export interface Stored extends SnapshotInFile {
  readonly kind: 'stored';
}

export type LoadDone =
  | Loaded
  | { readonly kind: 'not-modified' }
  /** The source was read, and its content is already served. */
  | { readonly kind: 'unchanged'; readonly sourceVersion: string | null; readonly sequence?: number }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** `end` stays on the thread: see EndWholeTask. */
type Sent<Load> = Load extends { readonly whole: unknown } ? Omit<Load, 'end'> : Load;

export type Done =
  | LoadDone
  | Stored
  | { readonly kind: 'rooms'; readonly rooms: RoomTable }
  | { readonly kind: 'followed'; readonly load: Sent<FollowedLoad> }
  /** An image was written. */
  | { readonly kind: 'done'; readonly place?: FilePlace };

export type DoneOf<T extends Task> = T extends LoadTask | PatchTask | FetchTask
  ? LoadDone
  : T extends { readonly task: 'read-image' }
    ? Stored
    : T extends RoomsTask
      ? Extract<Done, { readonly kind: 'rooms' }>
      : T extends FollowTask
        ? Extract<Done, { readonly kind: 'followed' }>
        : Extract<Done, { readonly kind: 'done' }>;

export interface Failed {
  readonly kind: 'failed';
  /** Null if the error is not a LecternError, which means a bug. */
  readonly code: LecternErrorCode | null;
  readonly message: string;
  readonly retryAfterMs: number | null;
}

export type FromTask =
  | Done
  | Failed
  | { readonly kind: 'progress'; readonly progress: LoadProgress }
  /**
   * Version of the source that will now be read. The version is reported first, because a thread that runs
   * out of memory cannot report it later.
   */
  | { readonly kind: 'version'; readonly version: string | null }
  | { readonly kind: 'parts'; readonly report: PartsReport }
  /** The thread is not stuck. `followed`: how far its table is followed. */
  | { readonly kind: 'alive'; readonly heap: ThreadHeap; readonly followed?: FollowState | undefined }
  /** The followed table has changed. */
  | { readonly kind: 'changed' }
  /** All records were read; the thread may be busy from now on. */
  | { readonly kind: 'read' }
  /** Requests the next chunk of a stream. */
  | { readonly kind: 'more' }
  /** Asks for credentials, because a request is about to be sent. The answer is a {@link SecretsAnswer}. */
  | {
      readonly kind: 'want-secrets';
      readonly credentials: number;
      readonly refused: string | null;
      readonly reply: MessagePort;
    };

export type SecretsAnswer =
  | { readonly secrets: Awaited<ReturnType<AskSecretHeadersOf>> }
  | { readonly failure: Omit<Failed, 'kind'> };

export type Handlers<Message extends { readonly kind: string }> = {
  readonly [Kind in Message['kind']]: (message: Extract<Message, { readonly kind: Kind }>) => void;
};

export type StreamChunk = IteratorResult<Uint8Array, unknown> | { readonly problem: string };

/** An error as plain data that crosses threads. */
export function taskFailureOf(error: unknown): Omit<Failed, 'kind'> {
  if (error instanceof LecternError) {
    const { code, message, retryAfterMs } = error;
    return { code, message, retryAfterMs };
  }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: null, message, retryAfterMs: null };
}

export function errorOf({ code, message, retryAfterMs }: Omit<Failed, 'kind'>): Error {
  return code === null ? new Error(message) : new LecternError(code, message, { retryAfterMs });
}
