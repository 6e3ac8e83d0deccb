import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileFault, LecternError, type LecternErrorCode } from '../errors.js';
import { TEXT_FILE_MS_MAX } from '../limits.js';

export interface TextFileOptions {
  /** The name in messages, such as `key set /etc/keys.json`. */
  readonly name: string;
  /** Longest content. Reading stops one byte beyond this. */
  readonly bytesMax: number;
  readonly code: LecternErrorCode;
  /** Default TEXT_FILE_MS_MAX. */
  readonly msMax?: number;
  /** Refuses pipes and devices, which cannot be read again. Default false. */
  readonly isRegular?: boolean;
}

/**
 * Paths whose read was given up and has not ended. A system call that hangs keeps one of the four threads that a process
 * has for files, so a file that is read again and again must not take another.
 */
const hanging = new Set<string>();

/** Reads a small UTF-8 file, a device, or a pipe with a writer (a shell's `<(command)`). Removes a byte order mark. */
export async function readTextFile(path: string, options: TextFileOptions): Promise<string> {
  const { name, code, msMax = TEXT_FILE_MS_MAX } = options;
  if (hanging.has(path))
    throw new LecternError(code, `${name} is not read again yet: its file system hangs in an earlier read`);
  const waiting = new AbortController();
  const reading = readBytes(path, options, waiting.signal);
  const tooLong = delay(msMax, undefined, { signal: waiting.signal }).then(() => {
    hanging.add(path);
    const ended = (): void => void hanging.delete(path);
    reading.then(ended, ended);
    throw new LecternError(
      code,
      `${name} was not read within ${msMax / 1000} s: nothing writes to it, or its file system hangs`,
    );
  });
  try {
    const bytes = await Promise.race([reading, tooLong]);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    if (cause instanceof LecternError) throw cause;
    throw new LecternError(code, `${name} cannot be read: ${fileFault(cause)}`, { cause });
  } finally {
    waiting.abort();
    tooLong.catch(() => {});
  }
}

/** `readTextFile` with calls that block, but never wait: for regular files only. */
export function readTextFileNow(path: string, options: TextFileOptions): string {
  const { name, code, bytesMax } = options;
  let file: number | null = null;
  try {
    file = openSync(path, WITHOUT_WAITING);
    const status = fstatSync(file);
    if (!status.isFile() && !status.isDirectory()) throw notRegular(options);
    if (status.isFile() && status.size > bytesMax) {
      throw new LecternError(code, `${name} has ${status.size} bytes; at most ${bytesMax} are read`);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (cause) {
    if (cause instanceof LecternError) throw cause;
    throw new LecternError(code, `${name} cannot be read: ${fileFault(cause)}`, { cause });
  } finally {
    if (file !== null) closeSync(file);
  }
}

function notRegular({ name, code }: TextFileOptions): LecternError {
  return new LecternError(code, `${name} is not a regular file; expected one`);
}

async function readBytes(path: string, options: TextFileOptions, signal: AbortSignal): Promise<Buffer> {
  const { name, bytesMax, code, isRegular = false } = options;
  const status = await stat(path);
  if (isRegular && !status.isFile() && !status.isDirectory()) throw notRegular(options);
  if (status.isFIFO()) return readPipe(path, options, signal);
  if (status.isSocket()) throw new LecternError(code, `${name} is a socket; expected a file`);
  // Opening must not wait, because a pipe may have replaced the file.
  const file = await open(path, WITHOUT_WAITING);
  try {
    const opened = await file.stat();
    if (opened.isFIFO()) throw new LecternError(code, `${name} became a pipe while it was opened`);
    if (opened.isFile() && opened.size > bytesMax) {
      throw new LecternError(code, `${name} has ${opened.size} bytes; at most ${bytesMax} are read`);
    }
    // The size is not enough: devices report 0, and a file may grow. So the read is bounded, too.
    return await readAll(file.createReadStream({ end: bytesMax, autoClose: false }), options);
  } finally {
    await file.close();
  }
}

/**
 * A blocking open or read of a pipe could wait for a writer forever. With O_NONBLOCK, a pipe without a writer
 * looks like a pipe that has ended. A pipe with a writer is polled, so that reading can stop.
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

/** Opens a file without waiting for the writer of a pipe. Windows has no flag for this and needs none. */
export const WITHOUT_WAITING: number = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
