/**
 * Folder base/files/. Small configuration files, read at the start and again when they change. This folder does not
 * know the meaning of the content.
 */
import { hash } from 'node:crypto';
import { LecternError } from '../errors.js';
import { retryPauseMs } from '../limits.js';
import { isNotRegular } from './file-calls.js';
import { watchPath } from './path-watch.js';
import { readTextFile, readTextFileNow, type TextFileOptions } from './text-file.js';

/** Configuration files are checked every KEPT_FILE_POLL_MS, and read once unchanged for KEPT_FILE_SETTLE_MS. */
const KEPT_FILE_POLL_MS = 250;
const KEPT_FILE_SETTLE_MS = 100;

/** The kinds of files: for each kind, a label of the metrics and words for messages. */
export const FILE_KINDS = {
  'token-secrets': 'secrets of tokens',
  'token-keys': 'keys of tokens',
  enrolments: 'enrolments',
  'feed-secrets': 'feed secrets',
  'feed-revocations': 'feed revocations',
  'publisher-keys': 'keys of announcements',
  'admin-tokens': 'admin tokens',
  rooms: 'rooms',
  'upstream-headers': 'header fields of the source',
  'upstream-secrets': 'client secrets of the source',
} as const;

export type FileKind = keyof typeof FILE_KINDS;

/** Activates the checked content. */
export type Take = () => void;

export interface KeptFile {
  readonly kind: FileKind;
  readonly path: string;
  /** Whether changes are watched for. Default true. */
  readonly isWatched?: boolean;
  /** Time between two reads of something that cannot be watched. Default: it is read once. */
  readonly everyMs?: number | undefined;
  /**
   * Reads and checks the content; null if nothing changed. Rejects with a LecternError that names the file
   * and shows no secret.
   */
  read(signal: AbortSignal): Promise<Take | null>;
  /** `read` with blocking calls. */
  readNow?(): Take | null;
}

/** The result of a read after the start. */
export interface FileReport {
  readonly kind: FileKind;
  readonly path: string;
  /** Why the content was refused; null if it is active. */
  readonly error: Error | null;
}

export interface FileCounts {
  /** How often changed content became active. */
  taken: number;
  /** How often changed content was refused. */
  refused: number;
}

/** All files of one timetable, its servers and its handlers. */
export class KeptFiles {
  /** Counts for all kinds of files ever kept. */
  readonly counts: Map<FileKind, FileCounts> = new Map();
  readonly #groups = new Set<FileGroup>();

  /** @param tell called after each later read that accepted or refused a change */
  keep(files: readonly KeptFile[], tell: (report: FileReport) => void): FileGroup {
    for (const { kind } of files) {
      if (!this.counts.has(kind)) this.counts.set(kind, { taken: 0, refused: 0 });
    }
    const told = (report: FileReport): void => {
      const counts = this.counts.get(report.kind);
      if (counts !== undefined) counts[report.error === null ? 'taken' : 'refused']++;
      tell(report);
    };
    const group = new FileGroup(files, told, () => this.#groups.delete(group));
    this.#groups.add(group);
    return group;
  }

  get refused(): readonly FileKind[] {
    return [...this.#groups].flatMap((group) => group.refused);
  }

  /** Reads every file now. Bad content is reported and has no effect. */
  async reload(): Promise<void> {
    await Promise.all([...this.#groups].map((group) => group.reload()));
  }

  close(): void {
    for (const group of this.#groups) group.close();
  }
}

/** Files that are opened and closed together. */
export class FileGroup {
  readonly #readings: readonly FileReading[];
  readonly #abort = new AbortController();
  readonly #onClose: () => void;

  constructor(files: readonly KeptFile[], tell: (report: FileReport) => void, onClose: () => void) {
    this.#readings = files.map((file) => new FileReading(file, this.#abort.signal, tell));
    this.#onClose = onClose;
  }

  get refused(): readonly FileKind[] {
    return this.#readings.filter(({ isRefused }) => isRefused).map(({ file }) => file.kind);
  }

  /** Reads and watches. Rejects with the first fault, and closes. */
  async open(): Promise<void> {
    const { signal } = this.#abort;
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    aborted.catch(() => {});
    try {
      await Promise.race([Promise.all(this.#readings.map((reading) => reading.open())), aborted]);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Opens the files, then calls `next`; if there are no files, calls it at once. */
  openBefore<T>(next: () => Promise<T>): Promise<T> {
    return this.#readings.length === 0 ? next() : this.open().then(next);
  }

  /** Like `open`, with blocking calls; every file needs `readNow`. */
  openNow(): void {
    try {
      for (const reading of this.#readings) reading.openNow();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  async reload(): Promise<void> {
    await Promise.all(this.#readings.map((reading) => reading.again()));
  }

  close(): void {
    for (const reading of this.#readings) reading.close();
    this.#abort.abort(new LecternError('closed', 'the timetable was closed'));
    this.#onClose();
  }
}

class FileReading {
  readonly file: KeptFile;
  isRefused = false;
  readonly #signal: AbortSignal;
  readonly #tell: (report: FileReport) => void;
  #watch: { close(): void } | null = null;
  #timer: NodeJS.Timeout | undefined;
  /** Reads run one after another, so the newest content wins. */
  #last: Promise<void> = Promise.resolve();
  /** A read may fail for a moment only, for example without free file descriptors, so it is tried again. */
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;
  /** The message of the last fault that was reported; null if the last read succeeded. */
  #reported: string | null = null;

  constructor(file: KeptFile, signal: AbortSignal, tell: (report: FileReport) => void) {
    this.file = file;
    this.#signal = signal;
    this.#tell = tell;
  }

  open(): Promise<void> {
    this.#beginWatch();
    const first = this.file.read(this.#signal).then((take) => {
      if (!this.#signal.aborted) take?.();
    });
    this.#last = first.catch(() => {});
    return first;
  }

  openNow(): void {
    if (this.file.readNow === undefined) throw new Error(`${this.file.kind} cannot be read synchronously`);
    this.#beginWatch();
    this.file.readNow()?.();
  }

  again(): Promise<void> {
    return this.#read(false);
  }

  close(): void {
    clearTimeout(this.#retry);
    clearInterval(this.#timer);
    this.#watch?.close();
  }

  #read(isRetry: boolean): Promise<void> {
    this.#last = this.#last.then(() => this.#take(isRetry));
    return this.#last;
  }

  /** Watching begins before the first read, so no change is missed. */
  #beginWatch(): void {
    const { path, isWatched = true, everyMs } = this.file;
    if (everyMs !== undefined) this.#timer = setInterval(() => void this.#read(true), everyMs).unref();
    const options = { pollMs: KEPT_FILE_POLL_MS, settleMs: KEPT_FILE_SETTLE_MS };
    // A pipe can be read only once.
    if (isWatched && !isNotRegular(path)) this.#watch = watchPath(path, () => void this.again(), options);
  }

  /** @param isRetry whether to report only a fault that was not reported yet */
  async #take(isRetry: boolean): Promise<void> {
    if (this.#signal.aborted) return;
    const wasRefused = this.isRefused;
    let error: Error | null = null;
    try {
      const take = await this.file.read(this.#signal);
      if (this.#signal.aborted) return;
      this.isRefused = false;
      if (take === null && !wasRefused) return;
      take?.();
    } catch (fault) {
      if (this.#signal.aborted) return;
      error = fault instanceof Error ? fault : new Error(String(fault));
      this.isRefused = true;
    }
    clearTimeout(this.#retry);
    this.#failures = error === null ? 0 : this.#failures + 1;
    if (error !== null && this.#watch !== null)
      this.#retry = setTimeout(() => void this.#read(true), retryPauseMs(this.#failures)).unref();
    const message = error?.message ?? null;
    if (isRetry && message !== null && message === this.#reported) return;
    this.#reported = message;
    const { kind, path } = this.file;
    this.#tell({ kind, path, error });
  }
}

/** A text file: its path, its name in messages, its largest size, and the code of its faults. */
export interface KeptText extends TextFileOptions {
  readonly path: string;
}

/** A text file whose text `check` takes, or refuses with a LecternError. */
export function keptText(kind: FileKind, file: KeptText, check: (text: string) => Take): KeptFile {
  const { path } = file;
  let taken: string | null = null;
  /** The text of a pipe, which is given at the start and can be read only once. */
  let piped: string | null = null;

  function takeOf(text: string): Take | null {
    // A secret is not kept.
    const digest = hash('sha256', text, 'base64url');
    if (digest === taken) return null;
    const take = check(text);
    return () => {
      take();
      taken = digest;
    };
  }

  return {
    kind,
    path,
    async read() {
      if (piped !== null) return takeOf(piped);
      const isPipe = taken === null && isNotRegular(path);
      const text = await readTextFile(path, file);
      if (isPipe) piped = text;
      return takeOf(text);
    },
    readNow: () => takeOf(readTextFileNow(path, file)),
  };
}
