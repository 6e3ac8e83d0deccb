import type { FileHandle } from 'node:fs/promises';
import { READ_CHUNK_BYTES } from '../limits.js';
import { unreadable } from './unreadable.js';

/** The bytes of a regular file. The next piece is read while one is being worked on. */
export class FilePieces {
  readonly #path: string;
  readonly #handle: FileHandle;
  /** Memory of pieces that nobody needs any more. New memory for each made loading a million events a tenth dearer. */
  readonly #free: ArrayBufferLike[] = [];
  readonly #own = new WeakSet<ArrayBufferLike>();

  constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  /** To be told, once, of bytes that may be overwritten: a piece, or what others have made of some. */
  takeBack({ buffer }: Uint8Array): void {
    if (this.#own.has(buffer)) this.#free.push(buffer);
  }

  /** @throws LecternError `source-unreadable` */
  async *read(): AsyncGenerator<Uint8Array> {
    let next = this.#beginToRead();
    try {
      for (;;) {
        const piece = await next;
        if (piece.length === 0) return;
        next = this.#beginToRead();
        yield piece;
      }
    } catch (error) {
      throw unreadable(this.#path, error);
    } finally {
      // Nobody closes the file under a read.
      await next.catch(() => {});
    }
  }

  #beginToRead(): Promise<Uint8Array> {
    const piece = this.#readNext();
    // Whoever takes it hears of it; until then it must not pass for a rejection that nobody handles.
    piece.catch(() => {});
    return piece;
  }

  async #readNext(): Promise<Uint8Array> {
    const memory = this.#free.pop() ?? new ArrayBuffer(READ_CHUNK_BYTES);
    this.#own.add(memory);
    const bytes = new Uint8Array(memory);
    const { bytesRead } = await this.#handle.read(bytes, 0, bytes.length, null);
    return bytes.subarray(0, bytesRead);
  }
}
