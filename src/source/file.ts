import { type BigIntStats, closeSync, createReadStream, fstatSync, openSync, type StatsBase } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { resolve } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { cannotRead, fileFault, LecternError } from '../base/errors.js';
import { statInTime } from '../base/files/file-calls.js';
import { WITHOUT_WAITING } from '../base/files/text-file.js';
import {
  FILE_AGE_MS_MIN,
  FILE_CUT_REST_MS,
  FILE_IDLE_MS_MAX,
  FILE_POLL_MS,
  FILE_TOTAL_MS_MAX,
  READ_CHUNK_BYTES,
} from '../base/limits.js';
import { readRecords } from './formats/read-records.js';
import {
  type LoadOptions,
  type LoadSummary,
  type ReadSummary,
  type RowSink,
  renewedDaily,
  type Source,
} from './source.js';

const STANDARD_INPUT = 'standard input';
const CUT_POLL_MS = 50;

/**
 * A file as a source, or standard input for `-`, which can be loaded once. A file that changes during a load
 * is `source-unreadable`. If the end of the file looks cut, the load waits until the file stays unchanged for
 * a while.
 */
export function fileSource(path: string, limits: FileLimits = {}): Source {
  if (path === '-') return { name: STANDARD_INPUT, readOnce: true, load: loadStandardInput };
  return renewedDaily({
    name: path,
    id: `file ${resolve(path)}`,
    async load(sink, options = {}) {
      options.signal?.throwIfAborted();
      const pipe = limits.isPipe === false ? null : await openPipe(path);
      if (pipe !== null) return loadPipe(path, pipe, limits, sink, options);
      const patience = new FilePatience(path, limits);
      return patience.use((handle) => loadOpened(path, handle, patience, sink, options));
    },
  });
}

async function loadPipe(
  path: string,
  pipe: Socket,
  { totalMsMax = FILE_TOTAL_MS_MAX }: FileLimits,
  sink: RowSink,
  options: LoadOptions,
): Promise<LoadSummary> {
  const patience = new FilePatience(path, { totalMsMax, idleMsMax: totalMsMax });
  try {
    patience.opened(await stat(path, { bigint: true }));
    const bytes = patience.pieces(bytesOf(path, pipe, options.signal));
    const read = await readRecords(bytes, sink, { ...options, sourceName: path, bytesTotal: null });
    return { ...read, version: null };
  } finally {
    pipe.destroy();
  }
}

async function loadOpened(
  path: string,
  handle: FileHandle,
  patience: FilePatience,
  sink: RowSink,
  options: LoadOptions,
): Promise<LoadSummary | 'not-modified'> {
  const { signal } = options;
  const status = await patience.wait(settledStatus(handle, signal));
  // Files of /proc have no size, so they have no version.
  const hasSize = status.size > 0n;
  const version = hasSize ? `${status.dev}-${status.ino}-${status.size}-${status.mtimeNs}` : null;
  if (version !== null && version === options.previous) return 'not-modified';
  if (version !== null) options.onVersion?.(version);
  patience.opened(status);
  const bytesTotal = hasSize ? Number(status.size) : null;
  const hasChanged = async (): Promise<boolean> => {
    const now = await patience.wait(handle.stat({ bigint: true }));
    return now.size !== status.size || now.mtimeNs !== status.mtimeNs;
  };
  const pieces = new FilePieces(path, handle);
  let read: ReadSummary;
  try {
    read = await readRecords(patience.pieces(pieces.read(), bytesTotal ?? undefined), sink, {
      ...options,
      sourceName: path,
      bytesTotal,
      onRead: (piece) => pieces.takeBack(piece),
    });
  } catch (error) {
    // A file that is being written may look malformed.
    const isMalformed = error instanceof LecternError && error.code === 'source-malformed';
    throw isMalformed && (await hasChanged()) ? changedWhileRead(path, error) : error;
  }
  if (bytesTotal !== null && read.bytesRead < bytesTotal) {
    const problem = `it ended after ${read.bytesRead} of ${bytesTotal} bytes: it was cut while it was read`;
    throw cannotRead(path, problem);
  }
  while (read.endsCut && restMs(status, FILE_CUT_REST_MS) > 0 && !(await hasChanged())) {
    await pause(CUT_POLL_MS, signal);
  }
  if (await hasChanged()) throw changedWhileRead(path);
  return { ...read, version, ...(hasSize ? { modifiedMs: Number(status.mtimeMs) } : {}) };
}

/** Clocks of file systems tick every few milliseconds, so a second change within one tick would not be seen. */
async function settledStatus(handle: FileHandle, signal: AbortSignal | undefined): Promise<BigIntStats> {
  const status = await handle.stat({ bigint: true });
  const waitMs = restMs(status, FILE_AGE_MS_MIN);
  if (waitMs === 0) return status;
  await pause(waitMs, signal);
  return handle.stat({ bigint: true });
}

/** Milliseconds until the last change is old enough. A change in the future counts as old. */
function restMs({ mtimeMs }: BigIntStats, ageMsMin: number): number {
  const ageMs = Date.now() - Number(mtimeMs);
  return ageMs < 0 ? 0 : Math.max(0, ageMsMin - ageMs);
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {});
  signal?.throwIfAborted();
}

let standardInputTaken = false;

async function loadStandardInput(sink: RowSink, options: LoadOptions = {}): Promise<LoadSummary> {
  if (standardInputTaken) {
    throw cannotRead(STANDARD_INPUT, 'it was read already');
  }
  standardInputTaken = true;
  // In a worker thread process.stdin is another, empty stream.
  const stream = isMainThread ? process.stdin : createReadStream('', { fd: 0, autoClose: false });
  const bytes = bytesOf(STANDARD_INPUT, stream, options.signal);
  const read = await readRecords(bytes, sink, { ...options, sourceName: STANDARD_INPUT, bytesTotal: null });
  return { ...read, version: null };
}

async function* bytesOf(
  name: string,
  stream: Readable,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  // An aborted stream may fail when it closes, after the loop has ended.
  stream.on('error', () => {});
  if (signal !== undefined) addAbortSignal(signal, stream);
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    signal?.throwIfAborted();
    throw fileUnreadable(name, error);
  }
}

export function fileUnreadable(name: string, error: unknown): LecternError {
  return cannotRead(name, fileFault(error), { cause: error });
}

/** Opens without waiting, because a pipe without a writer may have replaced the file. */
async function openRegularFile(path: string): Promise<FileHandle> {
  // Of many files on a file system that hangs, only one waits for it.
  checkKind(await statInTime(path));
  const handle = await open(path, WITHOUT_WAITING);
  try {
    checkKind(await handle.stat());
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function checkKind(status: StatsBase<number | bigint>): void {
  if (status.isFile()) return;
  if (status.isDirectory()) throw new Error('it is a directory; expected a file');
  const kind = status.isFIFO() ? 'named pipe' : status.isSocket() ? 'socket' : null;
  const device = status.isCharacterDevice() ? 'character device' : 'block device';
  throw new Error(`it is a ${kind ?? device}; expected a regular file`);
}

/** Opens a named pipe so that reading is polled and can be given up. Null if the path is not a pipe. */
async function openPipe(path: string): Promise<Socket | null> {
  try {
    if (!(await stat(path)).isFIFO()) return null;
    const fd = openSync(path, WITHOUT_WAITING);
    let isPipe = false;
    try {
      isPipe = fstatSync(fd).isFIFO();
    } finally {
      if (!isPipe) closeSync(fd);
    }
    return isPipe ? new Socket({ fd, readable: true, writable: false }) : null;
  } catch (error) {
    throw fileUnreadable(path, error);
  }
}

/** Reads a file in pieces, one piece ahead of the caller. */
export class FilePieces {
  readonly #name: string;
  readonly #handle: FileHandle;
  /** Memory for reuse, because an allocation for each piece makes a load slower. */
  readonly #free: ArrayBufferLike[] = [];
  readonly #own = new WeakSet<ArrayBufferLike>();

  constructor(name: string, handle: FileHandle) {
    this.#name = name;
    this.#handle = handle;
  }

  /** Allows reuse of a piece's memory. Bytes that were not allocated here are ignored. */
  takeBack({ buffer }: Uint8Array): void {
    if (this.#own.has(buffer)) this.#free.push(buffer);
  }

  async *read(): AsyncGenerator<Uint8Array> {
    let next = this.#readNext();
    try {
      for (;;) {
        const piece = await next;
        if (piece.length === 0) return;
        next = this.#readNext();
        // The loop throws a failure of this read in its next turn. Until then, Node must not report it as unhandled.
        next.catch(() => {});
        yield piece;
      }
    } catch (error) {
      throw fileUnreadable(this.#name, error);
    } finally {
      // The file must not be closed during a read.
      await next.catch(() => {});
    }
  }

  async #readNext(): Promise<Uint8Array> {
    const memory = this.#free.pop() ?? new ArrayBuffer(READ_CHUNK_BYTES);
    this.#own.add(memory);
    const bytes = new Uint8Array(memory);
    const { bytesRead } = await this.#handle.read(bytes, 0, bytes.length, null);
    return bytes.subarray(0, bytesRead);
  }
}

/** Limits of a file source. */
export interface FileLimits {
  /** Whether the path may be a named pipe. Default: whether it is one when the timetable is opened. */
  readonly isPipe?: boolean | undefined;
  /** Longest time between two pieces of a file. Default FILE_IDLE_MS_MAX. Pipes have no such limit. */
  readonly idleMsMax?: number | undefined;
  /** Longest time of the whole load. Default FILE_TOTAL_MS_MAX. */
  readonly totalMsMax?: number | undefined;
}

/**
 * Gives up a file that hangs, never ends, or is replaced. System calls for the file may hang forever, so every wait
 * for them has a limit.
 */
export class FilePatience {
  readonly #path: string;
  readonly #idleMsMax: number;
  readonly #totalMsMax: number;
  readonly #beganMs: number = performance.now();
  #opened: Pick<BigIntStats, 'dev' | 'ino'> | null = null;
  #hasGivenUp = false;
  #bytes = 0;

  constructor(path: string, limits: FileLimits) {
    this.#path = path;
    this.#totalMsMax = limits.totalMsMax ?? FILE_TOTAL_MS_MAX;
    this.#idleMsMax = Math.min(limits.idleMsMax ?? FILE_IDLE_MS_MAX, this.#totalMsMax);
  }

  async use<Result>(use: (handle: FileHandle) => Promise<Result>): Promise<Result> {
    const opening = openRegularFile(this.#path);
    const handle = await this.wait(opening).catch((error: unknown) => {
      // The system may still open the file later.
      opening.then((late) => late.close()).catch(() => {});
      throw error instanceof LecternError ? error : fileUnreadable(this.#path, error);
    });
    try {
      return await use(handle);
    } finally {
      await this.#end(handle.close());
    }
  }

  /** From now on, reading fails if the path leads to another file. */
  opened(status: Pick<BigIntStats, 'dev' | 'ino'>): void {
    this.#opened = status;
  }

  /** Settles as the promise does, or rejects with `source-unreadable`. */
  async wait<Value>(promise: Promise<Value>): Promise<Value> {
    const beganMs = performance.now();
    const pollMs = Math.min(FILE_POLL_MS, Math.ceil(this.#idleMsMax / 4));
    let timer: NodeJS.Timeout | undefined;
    const givenUp = new Promise<never>((_, reject) => {
      let isLooking = false;
      timer = setInterval(() => {
        const nowMs = performance.now();
        if (nowMs - this.#beganMs >= this.#totalMsMax) reject(this.#tooLong());
        else if (nowMs - beganMs >= this.#idleMsMax) {
          reject(this.#giveUp(`nothing came for ${this.#idleMsMax / 1000} s, after ${this.#bytes} bytes`));
        } else if (!isLooking) {
          isLooking = true;
          void this.#isReplaced().then((isReplaced) => {
            isLooking = false;
            if (isReplaced) reject(this.#giveUp('it was replaced by another file while it was read'));
          });
        }
      }, pollMs);
    });
    try {
      return await Promise.race([promise, givenUp]);
    } finally {
      clearInterval(timer);
    }
  }

  /** The pieces of the file. Throws if they exceed `bytesMax`, because the file has then changed. */
  async *pieces(
    pieces: AsyncGenerator<Uint8Array>,
    bytesMax: number = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const { done, value } = await this.wait(pieces.next());
        if (done) return;
        if (performance.now() - this.#beganMs >= this.#totalMsMax) throw this.#tooLong();
        this.#bytes += value.length;
        if (this.#bytes > bytesMax) throw changedWhileRead(this.#path);
        yield value;
      }
    } finally {
      await this.#end(pieces.return(undefined));
    }
  }

  /** A deleted file does not count as replaced, and is read to its end. */
  async #isReplaced(): Promise<boolean> {
    const opened = this.#opened;
    if (opened === null) return false;
    try {
      const now = await stat(this.#path, { bigint: true });
      return now.ino !== opened.ino || now.dev !== opened.dev;
    } catch {
      return false;
    }
  }

  async #end(end: Promise<unknown>): Promise<void> {
    if (this.#hasGivenUp) end.catch(() => {});
    else await end;
  }

  #tooLong(): LecternError {
    const problem = `it was not read whole within ${this.#totalMsMax / 1000} s, after ${this.#bytes} bytes`;
    return this.#giveUp(problem);
  }

  #giveUp(problem: string): LecternError {
    this.#hasGivenUp = true;
    return cannotRead(this.#path, problem);
  }
}

function changedWhileRead(name: string, cause?: unknown): LecternError {
  return cannotRead(name, 'it changed while it was read', { cause });
}
