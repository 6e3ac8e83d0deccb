import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { LecternError } from '../base/errors.js';
import { retryPauseMs, STORED_CHANGES_SHARE_MAX } from '../base/limits.js';
import type { IdentifierMode } from '../base/model/event.js';
import type { ReadRules } from '../base/model/read-rules.js';
import { type Change, sharedCopy } from '../change/change.js';
import { appendChanges, type SnapshotInFile } from '../change/snapshot-file.js';
import { type FilePlace, linkTarget } from '../snapshot/image-file.js';
import type { ImageSource } from '../snapshot/image-layout.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import type { PartReport } from '../source/source.js';
import type { AnyLoader } from './loader.js';

/** Pause between two writes of patched images: 45 MB take 0.1 s, 450 MB a second. */
const PATCH_WRITE_PAUSE_MS_MIN = 5000;
const PATCH_WRITE_PAUSE_FACTOR = 10;

/** A publication to be kept. */
export interface SnapshotToKeep extends Pick<SnapshotInFile, 'image' | 'sourceVersion' | 'history'> {
  readonly sequence: number;
  readonly parts: readonly PartReport[];
  /** What differs from the publication before. Empty if that is unknown. */
  readonly changes: readonly Change[];
}

/** A snapshot as it was read. */
export interface StoredSnapshot
  extends Pick<SnapshotInFile, 'image' | 'sourceVersion' | 'history' | 'sequence'> {
  readonly parts: readonly PartReport[];
}

/** What this process has read from or written to the file. */
interface InFile {
  readonly place: FilePlace;
  /** Id of the last content. */
  readonly id: string;
}

/**
 * The snapshot file is read once at the start, and written in the background. Changes with an edit are added at once,
 * until they outgrow a share of the image. Otherwise the whole image is written: at once after each load, and with
 * pauses after patches. Of several waiting images, only the newest is written. A failed write is tried again.
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
  /** Null if the next write must be that of an image. */
  #inFile: InFile | null = null;
  /** Whether the write of the waiting image may be delayed: a patch made the image, or its last write failed. */
  #mayWait = false;
  /** Writes that failed in a row. */
  #failures = 0;
  #isClosed = false;
  /** When the next patched image may be written, or the failed write may be tried again. */
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
      const stored = await this.#loader.run({ task: 'read-image', path }, { signal: this.#signal });
      checkIdentifiers(path, stored.image.summary, this.#loader.rules.identifiers);
      checkSource(path, stored.source, this.#loader.imageSource);
      this.#inFile = { place: stored.place, id: stored.image.summary.id };
      return { ...stored, parts: partsOfStored(stored.beside, this.#loader.rules) };
    } catch (error) {
      this.#tellUnread(error);
      return null;
    }
  }

  /** @param isPatch whether writing an image may wait, because a restart asks the source for newer data */
  write(stored: SnapshotToKeep, isPatch = false): void {
    const missed = this.#waiting?.changes ?? [];
    this.#waiting = { ...stored, changes: stored.changes.length === 0 ? [] : [...missed, ...stored.changes] };
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
    const pauseMs = this.#mayWait && !this.#canAdd(this.#waiting) ? this.#readyMs - performance.now() : 0;
    if (pauseMs > 0) this.#timer = setTimeout(() => this.#begin(this.#waiting), pauseMs).unref();
    else this.#begin(this.#waiting);
  }

  #begin(stored: SnapshotToKeep | null): void {
    if (stored === null) return;
    this.#waiting = null;
    const beganMs = performance.now();
    const isAdded = this.#canAdd(stored);
    this.#writing = this.#write(stored).finally(() => {
      this.#writing = null;
      const endedMs = performance.now();
      const pauseMs = Math.max(PATCH_WRITE_PAUSE_MS_MIN, PATCH_WRITE_PAUSE_FACTOR * (endedMs - beganMs));
      this.#failures = this.failure === null ? 0 : this.#failures + 1;
      if (this.#failures > 0) this.#readyMs = endedMs + retryPauseMs(this.#failures);
      else if (!isAdded) this.#readyMs = endedMs + pauseMs;
      if (this.#failures > 0 && this.#waiting === null && !this.#isClosed) {
        this.#waiting = stored;
        this.#mayWait = true;
      }
      this.#schedule();
    });
  }

  /** Whether the changes can be added to the file. Copies of several sources are in the header, so they cannot. */
  #canAdd({ changes, parts }: SnapshotToKeep): boolean {
    const { place, id } = this.#inFile ?? {};
    if (place === undefined || changes[0]?.from !== id || parts.length > 0 || this.#failures > 0)
      return false;
    const bytes = changes.reduce((sum, { edit }) => sum + (edit?.length ?? Number.POSITIVE_INFINITY), 0);
    return place.bytes - place.imageBytes + bytes <= STORED_CHANGES_SHARE_MAX * place.imageBytes;
  }

  async #write(stored: SnapshotToKeep): Promise<void> {
    const id = stored.image.summary.id;
    const place = this.#canAdd(stored) ? this.#inFile?.place : null;
    this.#inFile = null;
    try {
      const added = place ? await this.#add(stored, place) : null;
      const written = added ?? (await this.#writeImage(stored));
      this.#inFile = written && { place: written, id };
      this.failure = null;
    } catch (cause) {
      const message = `the snapshot file ${this.#path} could not be written: ${reasonOf(cause)}`;
      const failure = isOf(cause, 'image-not-written') ? cause.message : message;
      if (failure !== this.failure) this.#tell('image-not-written', message, cause);
      this.failure = failure;
    }
    this.#onWritten();
  }

  /** Null if the changes could not be added. Writing the image says why. */
  #add({ changes, sequence, sourceVersion }: SnapshotToKeep, place: FilePlace): Promise<FilePlace | null> {
    const last = changes.length - 1;
    const numbered = changes.map((change, n) => (n === last ? { ...change, sequence } : change));
    return appendChanges(this.#path, place, numbered, sourceVersion).catch(() => null);
  }

  async #writeImage(stored: SnapshotToKeep): Promise<FilePlace | null> {
    const { image, sequence, sourceVersion, parts, history } = stored;
    const beside = storedParts(parts, this.#loader.rules);
    const kept = { image, sequence, sourceVersion, source: this.#loader.imageSource, beside };
    const task = { task: 'write-image', path: this.#path, ...kept, past: history?.changes ?? [] } as const;
    const { place = null } = await this.#loader.run(task, { signal: new AbortController().signal });
    return place;
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

/**
 * Throws `option-invalid` if the file cannot be written or would replace a source.
 */
function checkSnapshotPath(path: string, sources: readonly string[]): void {
  const target = linkTarget(path);
  const names = new Set(namesOf(target));
  const source = sources.find((each) => namesOf(each).some((name) => names.has(name)));
  if (source !== undefined) {
    throw invalid(path, `it would replace the source ${source}; expected another path for snapshots`);
  }
  const folder = dirname(resolve(target));
  try {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status?.isDirectory()) throw invalid(path, 'it is a directory; expected the path of a file');
    if (status !== undefined && !status.isFile())
      throw invalid(path, 'it is not a regular file; expected one');
    if (!statSync(folder).isDirectory()) throw invalid(path, `${folder} is not a directory`);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (error instanceof LecternError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw invalid(path, REASONS[code]?.(folder) ?? code);
  }
}

const denied = (folder: string): string => `permission denied in ${folder}`;
const REASONS: Readonly<Record<string, (folder: string) => string>> = {
  ENOENT: (folder) => `there is no folder ${folder}`,
  ENOTDIR: (folder) => `a part of ${folder} is not a directory`,
  EACCES: denied,
  EPERM: denied,
  ELOOP: () => 'its symbolic links form a loop',
  EROFS: (folder) => `${folder} cannot be written to (read-only file system)`,
};

/** Identifies a file under any spelling of its path: its real path, and its inode if it exists. */
function namesOf(path: string): string[] {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return [realPathOf(resolve(path)), `inode ${dev}-${ino}`];
  } catch {
    return [realPathOf(resolve(path))];
  }
}

/** A new file is identified by its folder and name. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const folder = dirname(path);
    return folder === path ? path : join(realPathOf(folder), basename(path));
  }
}

function invalid(path: string, problem: string): LecternError {
  return new LecternError('option-invalid', `the snapshot file ${path} cannot be written: ${problem}`);
}

/** The parts of several sources in a snapshot file. */
interface StoredParts {
  /** The rules of the load, because other rules would read other values and make the copies invalid. */
  readonly rules: string;
  readonly parts: readonly PartReport[];
}

function storedParts(parts: readonly PartReport[], rules: ReadRules): StoredParts | null {
  return parts.length === 0 ? null : { rules: JSON.stringify(rules), parts };
}

/** The parts in a snapshot file. Empty if they were made with other rules, so that all sources are read again. */
function partsOfStored(beside: object | null, rules: ReadRules): readonly PartReport[] {
  const { rules: madeWith, parts = [] } = (beside ?? {}) as Partial<StoredParts>;
  if (madeWith !== JSON.stringify(rules)) return [];
  return parts.map((part) =>
    part.copy === null ? part : { ...part, copy: { ...part.copy, bytes: sharedCopy(part.copy.bytes) } },
  );
}
