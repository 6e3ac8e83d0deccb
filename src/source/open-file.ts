import { closeSync, constants, fstatSync, openSync, type StatsBase } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { LecternError } from '../errors.js';
import { READ_CHUNK_BYTES } from '../limits.js';

/** Windows has no such flag, and nothing at a path that an opening would wait for. */
const WITHOUT_WAITING: number = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

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

export function fileUnreadable(name: string, error: unknown): LecternError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = REASONS[code] ?? (error instanceof Error ? error.message : String(error));
  return new LecternError('source-unreadable', `cannot read ${name}: ${reason}`, { cause: error });
}

/** A pipe may take the place of the file before it is opened, so opening does not wait for a writer. */
export async function openRegularFile(path: string): Promise<FileHandle> {
  checkKind(await stat(path));
  const handle = await open(path, WITHOUT_WAITING);
  try {
    checkKind(await handle.stat());
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function checkKind(status: StatsBase<number>): void {
  if (status.isFile()) return;
  if (status.isDirectory()) throw new Error('it is a directory; expected a file');
  const kind = status.isFIFO() ? 'named pipe' : status.isSocket() ? 'socket' : null;
  const device = status.isCharacterDevice() ? 'character device' : 'block device';
  throw new Error(`it is a ${kind ?? device}; expected a regular file`);
}

/** Opens a named pipe, which is polled and can be given up at any time. Null where none stands there. */
export async function openPipe(path: string): Promise<Socket | null> {
  try {
    if (!(await stat(path)).isFIFO()) return null;
    const fd = openSync(path, WITHOUT_WAITING);
    if (fstatSync(fd).isFIFO()) return new Socket({ fd, readable: true, writable: false });
    closeSync(fd);
    return null;
  } catch (error) {
    throw fileUnreadable(path, error);
  }
}

/** The bytes of a file. The next piece is read while one is being worked on. */
export class FilePieces {
  readonly #name: string;
  readonly #handle: FileHandle;
  /** Memory that can be used again: new memory for each piece makes a load slower. */
  readonly #free: ArrayBufferLike[] = [];
  readonly #own = new WeakSet<ArrayBufferLike>();

  constructor(name: string, handle: FileHandle) {
    this.#name = name;
    this.#handle = handle;
  }

  /** Takes a piece that may be overwritten. Other bytes are left alone. */
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
        // A failure is thrown by the next turn; until then it must not count as unhandled.
        next.catch(() => {});
        yield piece;
      }
    } catch (error) {
      throw fileUnreadable(this.#name, error);
    } finally {
      // The file must not be closed under a read.
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
