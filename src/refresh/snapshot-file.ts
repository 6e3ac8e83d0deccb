import { existsSync } from 'node:fs';
import { LecternError } from '../errors.js';
import { retryPauseMs } from '../files/retry.js';
import type { IdentifierMode } from '../model/event.js';
import type { SnapshotImage } from '../snapshot/image.js';
import type { ImageSource } from '../snapshot/image-layout.js';
import { type KeptPublications, withPublications } from '../snapshot/stored-history.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import type { PartReport } from '../source/source.js';
import type { Loaded } from '../thread/task-messages.js';
import type { AnyLoader, RunRequest } from './loader.js';
import { checkSnapshotPath } from './snapshot-path.js';
import { partsOfStored, storedParts } from './stored-parts.js';

/** Pause between two writes of patched images: 45 MB take 0.1 s, 450 MB a second. */
const PATCH_WRITE_PAUSE_MS_MIN = 5000;
const PATCH_WRITE_PAUSE_FACTOR = 10;

interface KeptImage extends Pick<Loaded, 'image' | 'sourceVersion'> {
  readonly parts: readonly PartReport[];
}

/** A snapshot to be written. */
export type SnapshotToKeep = KeptImage & KeptPublications;
/** A snapshot as it was read. */
export type StoredSnapshot = KeptImage & Pick<Loaded, 'history' | 'sequence'>;

/**
 * The snapshot file is read once at the start, and written in the background: at once after each load, and
 * with pauses after patches. Of several waiting snapshots, only the newest is written. A failed write is tried
 * again.
 */
export class SnapshotFile {
  readonly #path: string;
  readonly #loader: AnyLoader;
  /** Aborts a read; writes are never aborted. */
  readonly #signal: AbortSignal;
  readonly #onError: (error: Error) => void;
  readonly #onWritten: () => void;
  /** Why the last write failed; null if it succeeded. */
  failure: string | null = null;
  #writing: Promise<void> | null = null;
  #waiting: SnapshotToKeep | null = null;
  /** The waiting image was made by a patch, or its last write failed, so its write may be delayed. */
  #mayWait = false;
  /** Writes that failed in a row. */
  #failures = 0;
  #isClosed = false;
  /** When the next patched image may be written, or the failed write be tried again. */
  #readyMs = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @throws LecternError `option-invalid` for a path that cannot be written to, or that is one of the source's files */
  constructor(
    path: string,
    loader: AnyLoader,
    signal: AbortSignal,
    { onError, onWritten }: { onError(error: Error): void /** Also after a failure. */; onWritten(): void },
  ) {
    checkSnapshotPath(path, loader.files);
    this.#path = path;
    this.#loader = loader;
    this.#signal = signal;
    this.#onError = onError;
    this.#onWritten = onWritten;
  }

  async read(): Promise<StoredSnapshot | null> {
    const path = this.#path;
    if (!existsSync(path)) return null;
    try {
      const task = { task: 'read-image', path, use: 'restart' } as const;
      const stored = await this.#loader.run(task, this.#request(true));
      checkIdentifiers(path, stored.image.summary, this.#loader.rules.identifiers);
      checkSource(path, stored.source ?? null, this.#loader.imageSource);
      return { ...stored, parts: partsOfStored(stored.beside ?? null, this.#loader.rules) };
    } catch (error) {
      this.#tellUnread(error);
      return null;
    }
  }

  /**
   * Why the image from the file must no longer be served, or null. The rows are checked after the start, so
   * that the start is quick.
   */
  async faultOf(image: SnapshotImage): Promise<LecternError | null> {
    try {
      await this.#loader.run({ task: 'check-rows', path: this.#path, image }, this.#request(false));
    } catch (error) {
      if (isOf(error, 'image-unusable')) return error;
      this.#tellUnread(error);
    }
    return null;
  }

  /** @param isPatch whether writing may wait, because a restart asks the source for newer data */
  write(stored: SnapshotToKeep, isPatch = false): void {
    this.#waiting = stored;
    this.#mayWait = isPatch;
    this.#schedule();
  }

  /** Writes the waiting image. Resolves when no write is running. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#mayWait = false;
    this.#schedule();
    // Terminates: no more snapshots are published.
    while (this.#writing !== null) await this.#writing;
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#writing !== null || this.#waiting === null) return;
    const pauseMs = this.#mayWait ? this.#readyMs - performance.now() : 0;
    if (pauseMs > 0) this.#timer = setTimeout(() => this.#begin(this.#waiting), pauseMs).unref();
    else this.#begin(this.#waiting);
  }

  #begin(stored: SnapshotToKeep | null): void {
    if (stored === null) return;
    this.#waiting = null;
    const beganMs = performance.now();
    this.#writing = this.#write(stored).finally(() => {
      this.#writing = null;
      const endedMs = performance.now();
      const pauseMs = Math.max(PATCH_WRITE_PAUSE_MS_MIN, PATCH_WRITE_PAUSE_FACTOR * (endedMs - beganMs));
      this.#failures = this.failure === null ? 0 : this.#failures + 1;
      this.#readyMs = endedMs + (this.#failures === 0 ? pauseMs : retryPauseMs(this.#failures));
      if (this.#failures > 0 && this.#waiting === null && !this.#isClosed) {
        this.#waiting = stored;
        this.#mayWait = true;
      }
      this.#schedule();
    });
  }

  #request(keepsProcessAlive: boolean): RunRequest {
    return { listeners: { signal: this.#signal }, keepsProcessAlive };
  }

  async #write({ image, sourceVersion, parts, ...publications }: SnapshotToKeep): Promise<void> {
    const beside = withPublications(storedParts(parts, this.#loader.rules), publications);
    const task = { task: 'write-image', path: this.#path, image, sourceVersion, beside } as const;
    const request = { listeners: { signal: new AbortController().signal }, keepsProcessAlive: true };
    try {
      await this.#loader.run({ ...task, source: this.#loader.imageSource }, request);
      this.failure = null;
    } catch (cause) {
      const message = `the snapshot file ${this.#path} could not be written: ${reasonOf(cause)}`;
      const failure = isOf(cause, 'image-not-written') ? cause.message : message;
      if (failure !== this.failure) this.#tell('image-not-written', message, cause);
      this.failure = failure;
    }
    this.#onWritten();
  }

  #tellUnread(cause: unknown): void {
    if (this.#signal.aborted) return;
    // If the file could not be opened, the message already names it.
    const isNamed = isOf(cause, 'source-unreadable');
    const prefix = isNamed ? '' : `the snapshot file ${this.#path} cannot be used: `;
    this.#tell('image-unusable', prefix + reasonOf(cause), cause);
  }

  #tell(code: LecternError['code'], message: string, cause: unknown): void {
    this.#onError(isOf(cause, code) ? cause : new LecternError(code, message, { cause }));
  }
}

/**
 * Refuses a snapshot with another kind of identifiers. Without this check, an unchanged source would confirm
 * such a snapshot.
 */
export function checkIdentifiers(path: string, summary: SnapshotSummary, expected: IdentifierMode): void {
  const found = summary.identifiers;
  if (found === expected) return;
  const problem = `it was made with identifiers '${found}'; this timetable uses '${expected}'`;
  throw new LecternError('image-unusable', `the snapshot file ${path} cannot be used: ${problem}`);
}

function checkSource(path: string, found: ImageSource | null, expected: ImageSource): void {
  // Older files do not name their source.
  if (found === null || found.digest === expected.digest) return;
  const message =
    `the snapshot file ${path} is not served: it comes from the source ${JSON.stringify(found.name)}, ` +
    `not from ${JSON.stringify(expected.name)}; the first good load replaces it`;
  throw new LecternError('image-unusable', message);
}

function isOf(error: unknown, code: LecternError['code']): error is LecternError {
  return error instanceof LecternError && error.code === code;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
