import { type BigIntStats, constants, createReadStream, openSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { LecternError } from '../errors.js';
import { FILE_AGE_MS_MIN, FILE_CUT_REST_MS, READ_CHUNK_BYTES } from '../limits.js';
import { FilePieces } from './file-pieces.js';
import { readRecords } from './formats/read-records.js';
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
 * @param path a path, or `-` for standard input, which can be loaded once only and has no version
 */
export function fileSource(path: string): Source {
  return path === '-'
    ? { name: 'standard input', load: loadStandardInput }
    : { name: path, load: (sink, options = {}) => loadFile(path, sink, options) };
}

const CUT_POLL_MS = 50;

async function loadFile(
  path: string,
  sink: RecordSink,
  options: LoadOptions,
): Promise<LoadSummary | NotModified> {
  options.signal?.throwIfAborted();
  let handle: FileHandle | Socket;
  try {
    handle = (await stat(path)).isFIFO() ? openPipe(path) : await open(path);
  } catch (error) {
    throw unreadable(path, error);
  }
  if (handle instanceof Socket) {
    const bytes = bytesOf(path, handle, options.signal);
    return {
      ...(await readRecords(bytes, sink, { ...options, sourceName: path, bytesTotal: null })),
      version: null,
    };
  }
  try {
    return await loadOpened(path, handle, sink, options);
  } finally {
    await handle.close();
  }
}

/**
 * A named pipe. To open one for reading waits for its writer, on a thread that nobody can call back; so does every read.
 * Opened without waiting and polled instead, it can be given up at any time.
 */
function openPipe(path: string): Socket {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}

async function loadOpened(
  path: string,
  handle: FileHandle,
  sink: RecordSink,
  options: LoadOptions,
): Promise<LoadSummary | NotModified> {
  const status = await settledStatus(handle, options.signal);
  if (status.isDirectory()) {
    throw new LecternError('source-unreadable', `cannot read ${path}: it is a directory; expected a file`);
  }
  const version = fileVersion(status);
  if (version !== null && version === options.previous) return NOT_MODIFIED;
  // Pipes and devices have no size.
  const bytesTotal = version === null ? null : Number(status.size);
  const pieces = new FilePieces(path, handle);
  // A device may keep a read waiting for as long as it likes; only a stream can be given up meanwhile.
  const bytes = status.isFile()
    ? pieces.read()
    : bytesOf(
        path,
        handle.createReadStream({ highWaterMark: READ_CHUNK_BYTES, autoClose: false }),
        options.signal,
      );
  const changed = async (): Promise<boolean> => {
    const now = await handle.stat({ bigint: true });
    return status.isFile() && (now.size !== status.size || now.mtimeNs !== status.mtimeNs);
  };
  let read: ReadSummary;
  try {
    read = await readRecords(bytes, sink, {
      ...options,
      sourceName: path,
      bytesTotal,
      onRead: (piece) => pieces.takeBack(piece),
    });
  } catch (error) {
    // What looks malformed while somebody is writing it need not be.
    const isMalformed = error instanceof LecternError && error.code === 'source-malformed';
    throw isMalformed && (await changed()) ? changedWhileRead(path, error) : error;
  }
  if (bytesTotal !== null && read.bytesRead < bytesTotal) {
    const problem = `it ended after ${read.bytesRead} of ${bytesTotal} bytes: it was cut while it was read`;
    throw new LecternError('source-unreadable', `cannot read ${path}: ${problem}`);
  }
  if (read.endsCut && status.isFile()) await restOf(status, changed, options.signal);
  if (await changed()) throw changedWhileRead(path);
  return { ...read, version };
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
  if (!status.isFile() || ageMs < 0 || ageMs >= FILE_AGE_MS_MIN) return status;
  await delay(FILE_AGE_MS_MIN - ageMs, undefined, signal === undefined ? {} : { signal }).catch(() => {});
  signal?.throwIfAborted();
  return handle.stat({ bigint: true });
}

/**
 * Equal for two looks at a file only where nobody wrote it in between. Null for what is no file, and for the files of
 * /proc, which have no size.
 */
function fileVersion(status: BigIntStats): string | null {
  if (!status.isFile() || status.size === 0n) return null;
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
