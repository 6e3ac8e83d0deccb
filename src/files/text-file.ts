import { closeSync, constants, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { LecternError, type LecternErrorCode } from '../errors.js';
import { TEXT_FILE_MS_MAX } from '../limits.js';

export interface TextFileOptions {
  /** The name in messages, such as `key set /etc/keys.json`. */
  readonly name: string;
  /** Longest content. Reading stops one byte beyond this. */
  readonly bytesMax: number;
  readonly code: LecternErrorCode;
  /** Default TEXT_FILE_MS_MAX. */
  readonly msMax?: number;
}

/** Windows has no such flag and needs none. */
const WITHOUT_WAITING: number = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Reads a small UTF-8 file, a device, or a pipe with a writer (a shell's `<(command)`), without a byte order mark. */
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
    const bytes = await Promise.race([readBytes(path, options, waiting.signal), tooLong]);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    if (cause instanceof LecternError) throw cause;
    throw new LecternError(code, `${name} cannot be read: ${describeCause(cause)}`, { cause });
  } finally {
    waiting.abort();
    tooLong.catch(() => {});
  }
}

/** `readTextFile` with blocking calls, for regular files only. */
export function readTextFileNow(path: string, { name, code, bytesMax }: TextFileOptions): string {
  try {
    const status = statSync(path);
    if (!status.isFile()) throw new LecternError(code, `${name} is not a regular file; expected one`);
    if (status.size > bytesMax) {
      throw new LecternError(code, `${name} has ${status.size} bytes; at most ${bytesMax} are read`);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (cause) {
    if (cause instanceof LecternError) throw cause;
    throw new LecternError(code, `${name} cannot be read: ${describeCause(cause)}`, { cause });
  }
}

async function readBytes(path: string, options: TextFileOptions, signal: AbortSignal): Promise<Buffer> {
  const { name, bytesMax, code } = options;
  const status = await stat(path);
  if (status.isFIFO()) return readPipe(path, options, signal);
  if (status.isSocket()) throw new LecternError(code, `${name} is a socket; expected a file`);
  // Opening must not wait, because a pipe may have replaced the file.
  const file = await open(path, WITHOUT_WAITING);
  try {
    const opened = await file.stat();
    if (opened.isFIFO()) throw new LecternError(code, `${name} became a pipe while it was opened`);
    if (opened.size > bytesMax) {
      throw new LecternError(code, `${name} has ${opened.size} bytes; at most ${bytesMax} are read`);
    }
    // Devices have the size 0, and a file may grow.
    return await readAll(file.createReadStream({ end: bytesMax, autoClose: false }), options);
  } finally {
    await file.close();
  }
}

/**
 * A blocking open or read of a pipe could wait for a writer forever. With O_NONBLOCK a pipe without a writer
 * reads as ended. A pipe with a writer is polled, so that reading can stop.
 */
async function readPipe(path: string, options: TextFileOptions, signal: AbortSignal): Promise<Buffer> {
  const fd = openSync(path, WITHOUT_WAITING);
  const first = Buffer.allocUnsafe(64 * 1024);
  let bytesRead = 0;
  try {
    bytesRead = readSync(fd, first);
    if (bytesRead === 0) {
      closeSync(fd);
      const { code, name } = options;
      throw new LecternError(code, `${name} is a pipe without a writer; expected a file`);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
  }
  const socket = addAbortSignal(signal, new Socket({ fd, readable: true, writable: false }));
  if (bytesRead > 0) socket.unshift(first.subarray(0, bytesRead));
  return readAll(socket, options);
}

async function readAll(stream: Readable, { name, bytesMax, code }: TextFileOptions): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length <= bytesMax) continue;
    throw new LecternError(code, `${name} has more than ${bytesMax} bytes, the most that are read`);
  }
  return Buffer.concat(chunks, length);
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
