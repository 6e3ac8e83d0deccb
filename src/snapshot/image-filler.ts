import { type ImagePiece, readingImage, type StoredImage } from './image-layout.js';

/** Builds an image from bytes that arrive in pieces of any length. Each byte is copied once, to its final place. */
export class ImageFiller {
  readonly #bytesTotal: number;
  readonly #reading: Generator<ImagePiece, StoredImage, void>;
  #buffer: Buffer | null = null;
  #filled = 0;
  #received = 0;
  #stored: StoredImage | null = null;
  /** The first fault. `finish` throws it, so that the caller can first recognise damaged bytes by their hash. */
  #fault: unknown = null;

  /** @param bytesTotal of the image, whose hash the caller compares */
  constructor(bytesTotal: number) {
    this.#bytesTotal = bytesTotal;
    this.#reading = readingImage(bytesTotal);
    this.#next();
  }

  /** Takes at most `bytesTotal` bytes in all calls together. */
  write(piece: Uint8Array): void {
    this.#received += piece.length;
    let taken = 0;
    // Terminates: each round takes bytes or ends, and there are finitely many empty buffers.
    while (taken < piece.length && this.#buffer !== null) {
      const part = piece.subarray(taken, taken + this.#buffer.length - this.#filled);
      this.#buffer.set(part, this.#filled);
      taken += part.length;
      this.#filled += part.length;
      this.#advance();
    }
    if (taken < piece.length) this.#fault ??= new Error('it is longer than it should be');
  }

  /** @throws Error for bytes that are not an image */
  finish(): StoredImage {
    if (this.#fault !== null) throw this.#fault;
    if (this.#stored === null || this.#received < this.#bytesTotal) throw new Error('it ends early');
    return this.#stored;
  }

  #advance(): void {
    while (this.#buffer !== null && this.#filled === this.#buffer.length) this.#next();
  }

  #next(): void {
    this.#buffer = null;
    this.#filled = 0;
    try {
      const next = this.#reading.next();
      if (next.done === true) this.#stored = next.value;
      else this.#buffer = next.value.bytes;
    } catch (error) {
      this.#fault ??= error;
    }
  }
}
