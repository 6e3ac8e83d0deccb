import { closeSync, constants, openSync, readSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { LecternError, type LecternErrorCode } from '../errors.js';
import { TEXT_FILE_MS_MAX } from '../limits.js';

/** What {@link readTextFile} reads, and how it complains. */
export interface TextFileOptions {
  /** For messages: `key set /etc/keys.json`. */
  readonly name: string;
  /** Of anything: no more than one byte beyond it is ever read. */
  readonly bytesMax: number;
  readonly code: LecternErrorCode;
  /** How long it may take. Default TEXT_FILE_MS_MAX. */
  readonly msMax?: number;
}

/** Windows has no such flag, and no pipes at paths of files. */
const WITHOUT_WAITING: number = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
/** What is read at a time. Key files are a few kilobytes. */
const CHUNK_BYTES = 64 * 1024;

/**
 * A small UTF-8 file of the service's configuration, read whole. A byte order mark is dropped. Devices are read to their end,
 * too, but never beyond the bound; so are pipes with a writer, as a shell makes them of `<(command)`. What takes longer than
 * `msMax` is given up.
 *
 * @throws LecternError with the given code and one line for people
 */
export async function readTextFile(path: string, options: TextFileOptions): Promise<string> {
  const { name, code, msMax = TEXT_FILE_MS_MAX } = options;
  const waiting = new AbortController();
  const tooLong = delay(msMax, undefined, { signal: waiting.signal }).then(() => {
    throw new LecternError(
      code,
      `${name} was not read within ${msMax / 1000} s: nothing writes to it, or its file system hangs`,
    );
  });
  try {
    return decode(await Promise.race([readBytes(path, options, waiting.signal), tooLong]));
  } catch (cause) {
    if (cause instanceof LecternError) throw cause;
    throw new LecternError(code, `${name} cannot be read: ${describeCause(cause)}`, { cause });
  } finally {
    waiting.abort();
    tooLong.catch(() => {});
  }
}

async function readBytes(path: string, options: TextFileOptions, signal: AbortSignal): Promise<Buffer> {
  const { name, bytesMax, code } = options;
  const status = await stat(path);
  if (status.isFIFO()) return readPipe(path, options, signal);
  if (status.isSocket()) throw new LecternError(code, `${name} is a socket; expected a file`);
  // A pipe may have taken the place of the file since: to open it must not wait.
  const file = await open(path, WITHOUT_WAITING);
  try {
    const opened = await file.stat();
    if (opened.isFIFO()) throw new LecternError(code, `${name} became a pipe while it was opened`);
    if (opened.size > bytesMax) {
      throw new LecternError(code, `${name} has ${opened.size} bytes; at most ${bytesMax} are read`);
    }
    const bytes = await readAtMost(file, bytesMax);
    if (bytes === null) throw tooLarge(options);
    return bytes;
  } finally {
    await file.close();
  }
}

function decode(bytes: Buffer): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

function tooLarge({ name, bytesMax, code }: TextFileOptions): LecternError {
  return new LecternError(code, `${name} has more than ${bytesMax} bytes, the most that are read`);
}

/**
 * To open a pipe waits for a writer, and so does every read, on a thread that nobody can call back. Opened without waiting,
 * a pipe that nobody has opened for writing is at its end at once; any other is polled, and can be given up.
 */
async function readPipe(path: string, options: TextFileOptions, signal: AbortSignal): Promise<Buffer> {
  const fd = openSync(path, WITHOUT_WAITING);
  const chunks: Buffer[] = [];
  const first = Buffer.allocUnsafe(CHUNK_BYTES);
  try {
    const bytesRead = readSync(fd, first);
    if (bytesRead === 0) {
      closeSync(fd);
      throw new LecternError(
        options.code,
        `${options.name} is a pipe that nobody writes to; expected a file`,
      );
    }
    chunks.push(first.subarray(0, bytesRead));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
  }
  let length = chunks[0]?.length ?? 0;
  const socket = addAbortSignal(signal, new Socket({ fd, readable: true, writable: false }));
  try {
    if (length > options.bytesMax) throw tooLarge(options);
    for await (const chunk of socket) {
      chunks.push(chunk as Buffer);
      length += (chunk as Buffer).length;
      if (length > options.bytesMax) throw tooLarge(options);
    }
  } finally {
    socket.destroy();
  }
  return Buffer.concat(chunks, length);
}

/**
 * Everything from the present position on. The size of a pipe or a device is told as 0, and a file may grow meanwhile: only
 * what has been read is certain.
 *
 * @returns null where there is more than `bytesMax`
 */
async function readAtMost(file: FileHandle, bytesMax: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, bytesMax + 1 - length));
    const { bytesRead } = await file.read(chunk, 0, chunk.byteLength, null);
    if (bytesRead === 0) return Buffer.concat(chunks, length);
    chunks.push(chunk.subarray(0, bytesRead));
    length += bytesRead;
    if (length > bytesMax) return null;
  }
}

function describeCause(cause: unknown): string {
  const code = (cause as NodeJS.ErrnoException).code;
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EISDIR':
      return 'it is a directory';
    case 'EACCES':
      return 'permission denied';
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'it is not UTF-8 text';
    default:
      return code ?? String(cause);
  }
}
