import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { fileFault, LecternError, type LecternErrorCode } from '../errors.js';
import { LOOK_MS_MAX, TEXT_FILE_MS_MAX } from '../limits.js';
import { inTime } from '../model/clock.js';
import { fileCallsOf, statInTime } from './file-calls.js';

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

/** Reads a small UTF-8 file, a device, or a pipe with a writer (a shell's `<(command)`). Removes a byte order mark. */
export async function readTextFile(path: string, options: TextFileOptions): Promise<string> {
  const { name, code, msMax = TEXT_FILE_MS_MAX, isRegular = false } = options;
  try {
    const status = await statInTime(path, Math.min(msMax, LOOK_MS_MAX));
    if (isRegular && !status.isFile() && !status.isDirectory()) throw notRegular(options);
    if (status.isSocket()) throw new LecternError(code, `${name} is a socket; expected a file`);
    const bytes = status.isFIFO()
      ? await readPipe(path, options, msMax)
      : await fileCallsOf(status.dev).run(() => readBytes(path, options), msMax);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    if (cause instanceof LecternError) throw cause;
    throw new LecternError(code, `${name} cannot be read: ${fileFault(cause)}`, { cause });
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

async function readBytes(path: string, options: TextFileOptions): Promise<Buffer> {
  const { name, bytesMax, code } = options;
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
async function readPipe(path: string, options: TextFileOptions, msMax: number): Promise<Buffer> {
  const { code, name } = options;
  const fd = openSync(path, WITHOUT_WAITING);
  const first = Buffer.allocUnsafe(64 * 1024);
  let bytesRead = 0;
  try {
    bytesRead = readSync(fd, first);
    if (bytesRead === 0) {
      closeSync(fd);
      throw new LecternError(code, `${name} is a pipe without a writer; expected a file`);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
  }
  const socket = new Socket({ fd, readable: true, writable: false });
  if (bytesRead > 0) socket.unshift(first.subarray(0, bytesRead));
  const tooLong = (): Error => {
    socket.destroy();
    return new LecternError(code, `${name} was not read within ${msMax / 1000} s: nothing writes to it`);
  };
  return inTime(readAll(socket, options), msMax, tooLong);
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
