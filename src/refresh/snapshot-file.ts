import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type KeptPublications, withPublications } from '../change/stored-changes.js';
import { LecternError } from '../errors.js';
import { retryPauseMs } from '../files/retry.js';
import type { IdentifierMode } from '../model/event.js';
import { isExpansionWindow } from '../model/expansion.js';
import type { ReadRules } from '../model/read-rules.js';
import { linkTarget } from '../snapshot/image-file.js';
import type { Beside, ImageSource } from '../snapshot/image-layout.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import type { NotesReport } from '../source/load-notes.js';
import type { PartReport } from '../source/source.js';
import type { Loaded } from '../thread/task-messages.js';
import type { AnyLoader } from './loader.js';

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
    const request = { listeners: { signal: this.#signal } };
    try {
      const stored = await this.#loader.run({ task: 'read-image', path }, request);
      checkIdentifiers(path, stored.image.summary, this.#loader.rules.identifiers);
      checkSource(path, stored.source ?? null, this.#loader.imageSource);
      return { ...stored, parts: partsOfStored(stored.beside ?? null, this.#loader.rules) };
    } catch (error) {
      this.#tellUnread(error);
      return null;
    }
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

  async #write({ image, sourceVersion, parts, ...publications }: SnapshotToKeep): Promise<void> {
    const beside = withPublications(storedParts(parts, this.#loader.rules), publications);
    const task = { task: 'write-image', path: this.#path, image, sourceVersion, beside } as const;
    const request = { listeners: { signal: new AbortController().signal } };
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

/** Raise this number with every change in the form of copies or reports. */
const VERSION = 2;

interface Stored {
  readonly version: number;
  /** The rules of the load, because other rules would read other values and make the copies invalid. */
  readonly rules: string;
  /** The reports of the parts; instead of bytes, a copy has the number of its array. */
  readonly parts: readonly unknown[];
}

/** The parts of several sources in a snapshot file. */
function storedParts(parts: readonly PartReport[], rules: ReadRules): Beside | null {
  if (parts.length === 0) return null;
  const arrays: Uint8Array[] = [];
  const meta: Stored = {
    version: VERSION,
    rules: JSON.stringify(rules),
    parts: parts.map((part) => {
      if (part.copy === null) return part;
      const { bytes, notes } = part.copy;
      // A Map would become an object when read back.
      const stored = { ...notes, columns: [...notes.columns] };
      return { ...part, copy: { ...part.copy, notes: stored, bytes: arrays.push(bytes) - 1 } };
    }),
  };
  return { meta, arrays };
}

/**
 * The parts in a snapshot file. Empty if they were made with other rules, so that all sources are read again.
 */
function partsOfStored(beside: Beside | null, rules: ReadRules): PartReport[] {
  if (beside === null) return [];
  const { version, rules: madeWith, parts } = beside.meta as Partial<Stored>;
  if (version !== VERSION || madeWith !== JSON.stringify(rules) || !Array.isArray(parts)) return [];
  return parts.flatMap((part: unknown) => partOf(part, beside.arrays) ?? []);
}

function partOf(value: unknown, arrays: Beside['arrays']): PartReport | null {
  if (!isObject(value)) return null;
  const { id, name, copy, confirmedMs, failure } = value;
  const isGood =
    typeof id === 'string' &&
    isShown(name) &&
    (confirmedMs === null || typeof confirmedMs === 'number') &&
    (failure === null || (isObject(failure) && isFailure(failure)));
  if (!isGood) return null;
  if (copy === null) return value as unknown as PartReport;
  if (!isObject(copy) || !isCopy(copy)) return null;
  const bytes = arrays[copy.bytes as number];
  const notes = notesOf(copy.notes);
  if (!(bytes instanceof Uint8Array) || notes === null) return null;
  return { ...value, copy: { ...copy, notes, bytes } } as unknown as PartReport;
}

function isFailure({ code, message, sinceMs, retryAtMs }: Readonly<Record<string, unknown>>): boolean {
  return isShown(code) && isShown(message) && typeof sinceMs === 'number' && typeof retryAtMs === 'number';
}

function isCopy(copy: Readonly<Record<string, unknown>>): boolean {
  const { format, version, bytesRead, records, bytes, expanded } = copy;
  const hasVersion = version === null || typeof version === 'string';
  if (expanded !== undefined && !isExpansionWindow(expanded)) return false;
  return hasVersion && isShown(format) && [bytesRead, records, bytes].every(Number.isSafeInteger);
}

function notesOf(value: unknown): NotesReport | null {
  if (!isObject(value) || !isObject(value.ambiguousTimes) || !Array.isArray(value.columns)) return null;
  const { gaps, overlaps } = value.ambiguousTimes;
  const areGood = value.columns.every((entry: unknown) => {
    if (!Array.isArray(entry) || !isShown(entry[0]) || !isObject(entry[1])) return false;
    const { sourceName, records, missing, present } = entry[1];
    const areNames = Array.isArray(present) && present.every((name) => typeof name === 'string');
    const areColumns = Array.isArray(missing) && missing.every(isMappedColumn);
    return isShown(sourceName) && Number.isSafeInteger(records) && areNames && areColumns;
  });
  if (!areGood || !Number.isSafeInteger(gaps) || !Number.isSafeInteger(overlaps)) return null;
  return { ...value, columns: new Map(value.columns) } as unknown as NotesReport;
}

function isMappedColumn(value: unknown): boolean {
  return isObject(value) && typeof value.field === 'string' && typeof value.column === 'string';
}

/** Shown texts must fit on one line. */
function isShown(text: unknown): boolean {
  return typeof text === 'string' && !/\p{Cc}/u.test(text);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
