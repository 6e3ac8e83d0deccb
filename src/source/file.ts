import { type FileHandle, open } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { LecternError } from '../errors.js';
import { READ_CHUNK_BYTES } from '../limits.js';
import { readRecords } from './formats/read-records.js';
import type { LoadOptions, LoadSummary, RecordSink, Source } from './source.js';

/**
 * A file of records in any of the known formats, recognised by content. It is read as a stream, so its size does not
 * matter. Each load reads it again, so a file that was replaced gives its new records.
 *
 * @param path a path, or `-` for standard input, which can be loaded once only
 */
export function fileSource(path: string): Source {
  return path === '-'
    ? { name: 'standard input', load: loadStandardInput }
    : { name: path, load: (sink, options = {}) => loadFile(path, sink, options) };
}

async function loadFile(path: string, sink: RecordSink, options: LoadOptions): Promise<LoadSummary> {
  options.signal?.throwIfAborted();
  let handle: FileHandle;
  try {
    handle = await open(path);
  } catch (error) {
    throw unreadable(path, error);
  }
  try {
    const status = await handle.stat();
    if (status.isDirectory()) {
      throw new LecternError('source-unreadable', `cannot read ${path}: it is a directory; expected a file`);
    }
    // Pipes and devices have no size.
    const bytesTotal = status.isFile() && status.size > 0 ? status.size : null;
    const stream = handle.createReadStream({ highWaterMark: READ_CHUNK_BYTES, autoClose: false });
    const bytes = bytesOf(path, stream, options.signal);
    const summary = await readRecords(bytes, sink, { ...options, sourceName: path, bytesTotal });
    if (bytesTotal !== null && summary.bytesRead < bytesTotal) {
      const problem = `it ended after ${summary.bytesRead} of ${bytesTotal} bytes: it was cut while it was read`;
      throw new LecternError('source-unreadable', `cannot read ${path}: ${problem}`);
    }
    return summary;
  } finally {
    await handle.close();
  }
}

let standardInputTaken = false;

async function loadStandardInput(sink: RecordSink, options: LoadOptions = {}): Promise<LoadSummary> {
  const name = 'standard input';
  if (standardInputTaken) {
    throw new LecternError('source-unreadable', `cannot read ${name}: it was read already`);
  }
  standardInputTaken = true;
  const bytes = bytesOf(name, process.stdin, options.signal);
  return readRecords(bytes, sink, { ...options, sourceName: name, bytesTotal: null });
}

/** The bytes of a stream; what fails on the way becomes `source-unreadable`, an abort stays the signal's reason. */
async function* bytesOf(
  name: string,
  stream: Readable,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  if (signal !== undefined) addAbortSignal(signal, stream);
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    signal?.throwIfAborted();
    throw unreadable(name, error);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'a part of the path is not a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a directory; expected a file',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  ELOOP: 'its symbolic links go in a circle',
  EIO: 'the device failed (input/output error)',
};

function unreadable(name: string, error: unknown): LecternError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = REASONS[code] ?? (error instanceof Error ? error.message : String(error));
  return new LecternError('source-unreadable', `cannot read ${name}: ${reason}`, { cause: error });
}
