import { type BigIntStats, createReadStream } from 'node:fs';
import { type FileHandle, stat } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { LecternError } from '../base/errors.js';
import { FILE_AGE_MS_MIN, FILE_CUT_REST_MS, FILE_TOTAL_MS_MAX } from '../base/limits.js';
import { readRecords } from './formats/read-records.js';
import {
  changedWhileRead,
  type FileLimits,
  FilePatience,
  FilePieces,
  fileUnreadable,
  openPipe,
} from './open-file.js';
import { renewedDaily } from './renewed-daily.js';
import type { LoadOptions, LoadSummary, ReadSummary, RowSink, Source } from './source.js';

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
    throw new LecternError('source-unreadable', `cannot read ${path}: ${problem}`);
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
    throw new LecternError('source-unreadable', `cannot read ${STANDARD_INPUT}: it was read already`);
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
