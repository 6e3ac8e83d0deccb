import { type BigIntStats, createReadStream } from 'node:fs';
import { type FileHandle, stat } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { LecternError } from '../errors.js';
import { FILE_AGE_MS_MIN, FILE_CUT_REST_MS, FILE_TOTAL_MS_MAX } from '../limits.js';
import { type FileLimits, FilePatience } from './file-patience.js';
import { FilePieces } from './file-pieces.js';
import { readRecords } from './formats/read-records.js';
import { openPipe } from './open-file.js';
import {
  type LoadOptions,
  type LoadSummary,
  NOT_MODIFIED,
  type NotModified,
  type ReadSummary,
  type RecordSink,
  type Source,
} from './source.js';
import { unreadable } from './unreadable.js';

/**
 * A file of records in any of the known formats, recognised by content. It is read as a stream, so its size does not
 * matter. Each load opens it again, so a file that was replaced gives its new records.
 *
 * Its version is what the file system says of it: device, inode, size and time of the last change. A file that changes
 * while it is read is not taken: that is `source-unreadable`, and a later load will find it whole. Nor is one that was
 * written a moment ago and ends in the middle of a record, until it has rested.
 *
 * Only regular files are read, and pipes where they are expected: `isPipe` false is for a path where none stood before.
 *
 * @param path a path, or `-` for standard input, which can be loaded once only and has no version
 * @param limits how long it may take
 */
export function fileSource(path: string, limits: FileLimits = {}): Source {
  return path === '-'
    ? { name: 'standard input', load: loadStandardInput }
    : { name: path, load: (sink, options = {}) => loadFile(path, limits, sink, options) };
}

const CUT_POLL_MS = 50;

async function loadFile(
  path: string,
  limits: FileLimits,
  sink: RecordSink,
  options: LoadOptions,
): Promise<LoadSummary | NotModified> {
  options.signal?.throwIfAborted();
  if (limits.isPipe !== false) {
    const pipe = await openPipe(path).catch((error: unknown) => Promise.reject(unreadable(path, error)));
    if (pipe !== null) return loadPipe(path, pipe, limits, sink, options);
  }
  const patience = new FilePatience(path, limits);
  return patience.use((handle) => loadOpened(path, handle, patience, sink, options));
}

/** What writes to a pipe may take its time, so it is waited for as long as one load may last. */
async function loadPipe(
  path: string,
  pipe: Socket,
  { totalMsMax = FILE_TOTAL_MS_MAX }: FileLimits,
  sink: RecordSink,
  options: LoadOptions,
): Promise<LoadSummary> {
  const patience = new FilePatience(path, { totalMsMax, idleMsMax: totalMsMax });
  try {
    patience.opened(await stat(path, { bigint: true }));
    const bytes = patience.pieces(bytesOf(path, pipe, options.signal));
    return {
      ...(await readRecords(bytes, sink, { ...options, sourceName: path, bytesTotal: null })),
      version: null,
    };
  } finally {
    pipe.destroy();
  }
}

async function loadOpened(
  path: string,
  handle: FileHandle,
  patience: FilePatience,
  sink: RecordSink,
  options: LoadOptions,
): Promise<LoadSummary | NotModified> {
  const status = await patience.wait(settledStatus(handle, options.signal));
  const version = fileVersion(status);
  if (version !== null && version === options.previous) return NOT_MODIFIED;
  if (version !== null) options.onVersion?.(version);
  patience.opened(status);
  // The files of /proc have no size.
  const bytesTotal = version === null ? null : Number(status.size);
  const pieces = new FilePieces(path, handle);
  const changed = async (): Promise<boolean> => {
    const now = await patience.wait(handle.stat({ bigint: true }));
    return now.size !== status.size || now.mtimeNs !== status.mtimeNs;
  };
  let read: ReadSummary;
  try {
    read = await readRecords(upTo(bytesTotal, patience.pieces(pieces.read()), path), sink, {
      ...options,
      sourceName: path,
      bytesTotal,
      onRead: (piece) => pieces.takeBack(piece),
    });
  } catch (error) {
    // What looks malformed while it is being written need not be.
    const isMalformed = error instanceof LecternError && error.code === 'source-malformed';
    throw isMalformed && (await changed()) ? changedWhileRead(path, error) : error;
  }
  if (bytesTotal !== null && read.bytesRead < bytesTotal) {
    const problem = `it ended after ${read.bytesRead} of ${bytesTotal} bytes: it was cut while it was read`;
    throw new LecternError('source-unreadable', `cannot read ${path}: ${problem}`);
  }
  if (read.endsCut) await restOf(status, changed, options.signal);
  if (await changed()) throw changedWhileRead(path);
  return { ...read, version };
}

/** The pieces of a file that has so many bytes: one that grows, perhaps for ever, is not read to its end. */
async function* upTo(
  bytesTotal: number | null,
  pieces: AsyncGenerator<Uint8Array>,
  path: string,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytesTotal !== null && bytes > bytesTotal) throw changedWhileRead(path);
    yield piece;
  }
}

/** Waits until a file whose last record looks cut has rested for long enough, or has changed: somebody may be writing it. */
async function restOf(
  status: BigIntStats,
  changed: () => Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const restedMs = (): number => Date.now() - Number(status.mtimeMs);
  // Terminates: time passes. A time of change that lies ahead is no sign of anybody writing.
  while (restedMs() >= 0 && restedMs() < FILE_CUT_REST_MS && !(await changed())) {
    await delay(CUT_POLL_MS, undefined, signal === undefined ? {} : { signal }).catch(() => {});
    signal?.throwIfAborted();
  }
}

function changedWhileRead(path: string, cause?: unknown): LecternError {
  return new LecternError('source-unreadable', `cannot read ${path}: it changed while it was read`, {
    cause,
  });
}

/**
 * What the file system says of the file, once it is old enough that every further change would show in its time of
 * change. Clocks of file systems tick every few milliseconds.
 */
async function settledStatus(handle: FileHandle, signal: AbortSignal | undefined): Promise<BigIntStats> {
  const status = await handle.stat({ bigint: true });
  const ageMs = Date.now() - Number(status.mtimeMs);
  if (ageMs < 0 || ageMs >= FILE_AGE_MS_MIN) return status;
  await delay(FILE_AGE_MS_MIN - ageMs, undefined, signal === undefined ? {} : { signal }).catch(() => {});
  signal?.throwIfAborted();
  return handle.stat({ bigint: true });
}

/** Equal for two looks at a file only if it was not written in between. Null for the files of /proc, which have no size. */
function fileVersion(status: BigIntStats): string | null {
  if (status.size === 0n) return null;
  return `${status.dev}-${status.ino}-${status.size}-${status.mtimeNs}`;
}

let standardInputTaken = false;

async function loadStandardInput(sink: RecordSink, options: LoadOptions = {}): Promise<LoadSummary> {
  const name = 'standard input';
  if (standardInputTaken) {
    throw new LecternError('source-unreadable', `cannot read ${name}: it was read already`);
  }
  standardInputTaken = true;
  // The process.stdin of a worker thread is another, and empty.
  const stream = isMainThread ? process.stdin : createReadStream('', { fd: 0, autoClose: false });
  const bytes = bytesOf(name, stream, options.signal);
  const read = await readRecords(bytes, sink, { ...options, sourceName: name, bytesTotal: null });
  return { ...read, version: null };
}

/** The bytes of a stream; what fails on the way becomes `source-unreadable`, an abort stays the signal's reason. */
async function* bytesOf(
  name: string,
  stream: Readable,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  // An aborted file may tell its error when it has closed, long after the loop below has ended and stopped listening.
  stream.on('error', () => {});
  if (signal !== undefined) addAbortSignal(signal, stream);
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    signal?.throwIfAborted();
    throw unreadable(name, error);
  }
}
