import { existsSync } from 'node:fs';
import { LecternError } from '../errors.js';
import type { IdentifierMode } from '../model/event.js';
import type { SnapshotImage } from '../snapshot/image.js';
import type { ImageSource } from '../snapshot/image-file.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import type { Loader } from './loader.js';
import { checkSnapshotPath } from './snapshot-path.js';

export interface StoredSnapshot {
  readonly image: SnapshotImage;
  readonly sourceVersion: string | null;
}

/**
 * The snapshot file of a timetable: read once at the start, written in the background after each publication. One write
 * at a time; of those that wait only the newest is written.
 */
export class SnapshotFile {
  readonly #path: string;
  readonly #keep: number;
  readonly #loader: Loader;
  readonly #signal: AbortSignal;
  readonly #onError: (error: Error) => void;
  #writing: Promise<void> | null = null;
  #waiting: StoredSnapshot | null = null;

  /**
   * @param keep earlier images to keep beside it
   * @param signal aborts the reading; a write is never cut off
   * @throws LecternError `option-invalid` for a path that cannot be written to, or that is one of the source's files
   */
  constructor(
    path: string,
    keep: number,
    loader: Loader,
    signal: AbortSignal,
    onError: (error: Error) => void,
  ) {
    checkSnapshotPath(path, keep, loader.files);
    this.#path = path;
    this.#keep = keep;
    this.#loader = loader;
    this.#signal = signal;
    this.#onError = onError;
  }

  /** What is on disk; null where there is nothing, or nothing that can be used. */
  async read(): Promise<StoredSnapshot | null> {
    if (!existsSync(this.#path)) return null;
    try {
      const task = { task: 'read-image', path: this.#path, use: 'restart' } as const;
      const result = await this.#loader.run(task, { signal: this.#signal, keepsProcessAlive: true });
      if (result.kind !== 'loaded') return null;
      checkIdentifiers(this.#path, result.image.summary, this.#loader.identifiers);
      checkSource(this.#path, result.source ?? null, this.#loader.imageSource);
      return result;
    } catch (error) {
      if (!this.#signal.aborted) this.#onError(unread(this.#path, error));
      return null;
    }
  }

  /**
   * Checks the rest of what was read, which would have held up the start: its rows. Where that cannot be done, it is told.
   *
   * @returns why it must not be served any longer; null where nothing is known against it
   */
  async faultOf(image: SnapshotImage): Promise<LecternError | null> {
    try {
      const task = { task: 'check-rows', path: this.#path, image } as const;
      await this.#loader.run(task, { signal: this.#signal, keepsProcessAlive: false });
      return null;
    } catch (error) {
      if (error instanceof LecternError && error.code === 'image-unusable') return error;
      if (!this.#signal.aborted) this.#onError(unread(this.#path, error));
      return null;
    }
  }

  /** Writes in the background; a failure is told and changes nothing else. */
  write(image: SnapshotImage, sourceVersion: string | null): void {
    this.#waiting = { image, sourceVersion };
    this.#writing ??= this.#writeWaiting().finally(() => {
      this.#writing = null;
    });
  }

  /** Resolves when nothing is being written. */
  async close(): Promise<void> {
    await this.#writing;
  }

  async #writeWaiting(): Promise<void> {
    // Terminates: each round takes what waits, and something waits only after another publication.
    while (this.#waiting !== null) {
      const { image, sourceVersion } = this.#waiting;
      this.#waiting = null;
      const task = {
        task: 'write-image',
        path: this.#path,
        image,
        sourceVersion,
        source: this.#loader.imageSource,
        keep: this.#keep,
      } as const;
      try {
        await this.#loader.run(task, { signal: new AbortController().signal, keepsProcessAlive: true });
      } catch (error) {
        this.#onError(isUnwritten(error) ? error : unwritten(this.#path, error));
      }
    }
  }
}

/**
 * A source that did not change would confirm a snapshot in which the identifiers are of another kind.
 *
 * @throws LecternError `image-unusable`
 */
export function checkIdentifiers(path: string, summary: SnapshotSummary, expected: IdentifierMode): void {
  const found = summary.identifiers;
  if (found === expected) return;
  const problem = `it was made with identifiers '${found}'; expected '${expected}', as the timetable has them`;
  throw new LecternError('image-unusable', `the snapshot file ${path} cannot be used: ${problem}`);
}

/** @throws LecternError `image-unusable` where the file says that it is of another source; older ones say nothing */
function checkSource(path: string, found: ImageSource | null, expected: ImageSource): void {
  if (found === null || found.digest === expected.digest) return;
  const message =
    `the snapshot file ${path} is not served: it was made of another source, ${JSON.stringify(found.name)}, ` +
    `and this is ${JSON.stringify(expected.name)}; the first good load replaces it`;
  throw new LecternError('image-unusable', message);
}

function unread(path: string, cause: unknown): LecternError {
  if (cause instanceof LecternError && cause.code === 'image-unusable') return cause;
  // That it cannot be opened names the file already.
  const isNamed = cause instanceof LecternError && cause.code === 'source-unreadable';
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = isNamed ? reason : `the snapshot file ${path} cannot be used: ${reason}`;
  return new LecternError('image-unusable', message, { cause });
}

function isUnwritten(error: unknown): error is LecternError {
  return error instanceof LecternError && error.code === 'image-not-written';
}

function unwritten(path: string, cause: unknown): LecternError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new LecternError('image-not-written', `the snapshot file ${path} could not be written: ${reason}`, {
    cause,
  });
}
