import { closeSync, constants, openSync, readSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { LecternError, type LecternErrorCode } from '../errors.js';

/** What {@link readTextFile} reads, and how it complains. */
export interface TextFileOptions {
  /** For messages: `key set /etc/keys.json`. */
  readonly name: string;
  /** Of anything: no more than one byte beyond it is ever read. */
  readonly bytesMax: number;
  readonly code: LecternErrorCode;
}

/** What is read at a time. Key files are a few kilobytes. */
const CHUNK_BYTES = 64 * 1024;

/**
 * A small UTF-8 file of the service's configuration, read whole. A byte order mark is dropped. Devices are read to their end,
 * too, but never beyond the bound; so are pipes that somebody writes to, as a shell makes them of `<(command)`.
 *
 * @throws LecternError with the given code and one line for people
 */
export async function readTextFile(path: string, options: TextFileOptions): Promise<string> {
  const { name, bytesMax, code } = options;
  try {
    const status = await stat(path);
    if (status.isFIFO()) return decode(await readPipe(path, options));
    if (status.isSocket()) throw new LecternError(code, `${name} is a socket; expected a file`);
    const file = await open(path);
    try {
      const { size } = await file.stat();
      if (size > bytesMax) {
        throw new LecternError(code, `${name} has ${size} bytes; at most ${bytesMax} are read`);
      }
      const bytes = await readAtMost(file, bytesMax);
      if (bytes === null) throw tooLarge(options);
      return decode(bytes);
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (cause instanceof LecternError) throw cause;
    throw new LecternError(code, `${name} cannot be read: ${describeCause(cause)}`, { cause });
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
async function readPipe(path: string, options: TextFileOptions): Promise<Buffer> {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
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
  const socket = new Socket({ fd, readable: true, writable: false });
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
