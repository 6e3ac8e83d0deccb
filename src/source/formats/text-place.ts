/**
 * Keeps track of line and column while a text goes by in chunks. Lines are told to it; characters are counted only
 * when a column is asked for, or once per chunk for the line that the chunk's end cuts.
 */
export class TextPlace {
  #line = 1;
  #chunk: Buffer = Buffer.alloc(0);
  #ascii = true;
  /** Where the present line begins in the chunk; 0 where it began before. */
  #lineStart = 0;
  /** Characters of the present line that lie in earlier chunks. */
  #charactersBefore = 0;

  /** The present line, from 1. */
  get line(): number {
    return this.#line;
  }

  /** @param ascii whether the whole chunk is ASCII, so that its bytes are its characters */
  enter(chunk: Buffer, ascii: boolean): void {
    this.#chunk = chunk;
    this.#ascii = ascii;
    this.#lineStart = 0;
  }

  /** @param start offset of the first byte behind the line break */
  newLine(start: number): void {
    this.#line++;
    this.#lineStart = start;
    this.#charactersBefore = 0;
  }

  leave(): void {
    this.#charactersBefore += this.#charactersTo(this.#chunk.length);
    this.#chunk = this.#chunk.subarray(0, 0);
    this.#lineStart = 0;
  }

  /** Column, from 1 in characters (code points), of an offset on the present line. */
  columnAt(offset: number): number {
    return this.#charactersBefore + this.#charactersTo(offset) + 1;
  }

  /** Column behind the last character, between chunks. */
  columnAtEnd(): number {
    return this.#charactersBefore + 1;
  }

  #charactersTo(offset: number): number {
    if (this.#ascii) return offset - this.#lineStart;
    let characters = 0;
    for (let i = this.#lineStart; i < offset; i++) {
      // Every byte but a continuation byte (10xxxxxx) begins a character.
      if (((this.#chunk[i] as number) & 0xc0) !== 0x80) characters++;
    }
    return characters;
  }
}
