import type { LecternErrorCode } from '../errors.js';
import type { IdentifierMode } from '../model/event.js';
import type { ImageUse } from '../snapshot/check-image.js';
import type { Delta, History } from '../snapshot/differences.js';
import type { SnapshotImage } from '../snapshot/image.js';
import type { ImageSource } from '../snapshot/image-file.js';
import type { IntakeBounds, Refusal } from '../snapshot/intake-bounds.js';
import type { LoadProgress, LoadSummary } from '../source/source.js';
import type { SourceSpec } from '../source/spec.js';

/**
 * What a worker thread is asked to do, and what it answers. One thread does one task and ends: whatever memory it took
 * goes back with it.
 */

/** What the asking thread sends itself, in chunks. */
export interface StreamSpec {
  readonly kind: 'stream';
  /** `records`: NDJSON that was made of records in memory. `bytes`: any format, as from a file. */
  readonly content: 'records' | 'bytes';
  /** For messages. */
  readonly name: string;
  /** What the source calls the data, or null. */
  readonly version: string | null;
}

export interface LoadTask {
  readonly task: 'load';
  readonly source: SourceSpec | StreamSpec;
  readonly identifiers: IdentifierMode;
  /** The source's version of what is served, for asking conditionally; null to load in any case. */
  readonly previousVersion: string | null;
  /** What is served, to tell what changed; null at the first load. Its arrays are shared, not copied. */
  readonly served: SnapshotImage | null;
  /** What led to what is served, oldest first. */
  readonly deltas: readonly Delta[];
  readonly bounds: IntakeBounds;
}

export interface ReadImageTask {
  readonly task: 'read-image';
  readonly path: string;
  readonly use: ImageUse;
}

/** Checks what was left out when an image was read for a restart. */
export interface CheckRowsTask {
  readonly task: 'check-rows';
  /** For messages. */
  readonly path: string;
  readonly image: SnapshotImage;
}

export interface WriteImageTask {
  readonly task: 'write-image';
  readonly path: string;
  readonly image: SnapshotImage;
  readonly sourceVersion: string | null;
  readonly source: ImageSource | null;
  /** Earlier images to keep beside it. */
  readonly keep: number;
}

export type Task = LoadTask | ReadImageTask | CheckRowsTask | WriteImageTask;

/** A snapshot that a thread built or read. */
export interface Loaded {
  readonly kind: 'loaded';
  readonly image: SnapshotImage;
  readonly sourceVersion: string | null;
  /** Of an image that was read from disk, where it says so. */
  readonly source?: ImageSource | null;
  /** Null for an image that was read from disk. */
  readonly summary: LoadSummary | null;
  /** Null at the first load. */
  readonly delta: Delta | null;
  /** Null where `delta` is. */
  readonly history: History | null;
}

export interface Failed {
  readonly kind: 'failed';
  /** Null for what is no LecternError: a bug. */
  readonly code: LecternErrorCode | null;
  readonly message: string;
  readonly retryAfterMs: number | null;
}

export type TaskResult =
  | Loaded
  /** The source still has the version that it was asked about. */
  | { readonly kind: 'not-modified' }
  /** The source was read, and its content is what is served already. */
  | { readonly kind: 'unchanged'; readonly sourceVersion: string | null }
  /** The load was given up, as it was beyond a bound. */
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'written' }
  | { readonly kind: 'checked' }
  | Failed;

/** From the worker while it works. `more`: the next chunk of a stream may come. */
export type TaskNotice =
  | { readonly kind: 'progress'; readonly progress: LoadProgress }
  | { readonly kind: 'more' };

/** To the worker, for a stream. */
export type StreamChunk =
  | { readonly kind: 'chunk'; readonly bytes: Uint8Array }
  | { readonly kind: 'end' }
  | { readonly kind: 'failed'; readonly message: string };
