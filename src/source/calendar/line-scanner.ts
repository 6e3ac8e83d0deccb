/** Finds the lines of iCalendar in chunks of any size, and joins folded ones (RFC 5545 section 3.1). */
import { isAscii } from 'node:buffer';
import { RECORD_BYTES_MAX } from '../../base/limits.js';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const FIRST_BYTES = 1024;

/** A line without its end. */
export interface FoundLine {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly lineNumber: number;
  /** Whether the bytes of the line are known to be ASCII. */
  readonly isPlain: boolean;
  /** Whether the line is longer than RECORD_BYTES_MAX, so that `bytes` has only its beginning. */
  readonly isCut: boolean;
}

/** Takes a line, which is valid until the call returns. */
export type TakeLine = (line: FoundLine) => void;

/** Lines may end with LF, CR LF or CR CR LF. Folded lines are joined as bytes, because a fold may cut a character. */
export class LineScanner {
  readonly #take: TakeLine;
  readonly #found: { -readonly [Name in keyof FoundLine]: FoundLine[Name] };
  /** Number of the next line of the source. */
  #lineNumber = 1;
  /** The bytes so far of a line that may continue. */
  #carry: Buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #length = 0;
  #carryLineNumber = 0;
  #isCarrying = false;
  #isCut = false;
  /** Whether the carried line has ended, unless the next line continues it. */
  #isEnded = false;
  /** Whether the next byte is the white space that continues a line. */
  #isFold = false;

  constructor(take: TakeLine) {
    this.#take = take;
    this.#found = {
      bytes: this.#carry,
      start: 0,
      end: 0,
      lineNumber: 0,
      isPlain: false,
      isCut: false,
    };
  }

  push(chunk: Buffer): void {
    const isPlain = isAscii(chunk);
    let at = 0;
    while (at < chunk.length) {
      if (this.#isEnded) {
        if (isFold(chunk[at])) this.#isFold = true;
        else this.#giveCarry();
        this.#isEnded = false;
      }
      const start = this.#isFold ? at + 1 : at;
      this.#isFold = false;
      const lf = chunk.indexOf(LF, at);
      const end = lf === -1 ? chunk.length : lf;
      if (!this.#isCarrying && lf !== -1 && lf + 1 < chunk.length && !isFold(chunk[lf + 1])) {
        let lineEnd = end;
        while (lineEnd > start && chunk[lineEnd - 1] === CR) lineEnd--;
        this.#give(chunk, start, lineEnd, this.#lineNumber, isPlain, false);
      } else {
        this.#append(chunk, start, end);
        if (lf !== -1) {
          while (this.#length > 0 && this.#carry[this.#length - 1] === CR) this.#length--;
          this.#isEnded = true;
        }
      }
      if (lf !== -1) this.#lineNumber++;
      at = end + 1;
    }
  }

  finish(): void {
    if (this.#isCarrying) {
      while (this.#length > 0 && this.#carry[this.#length - 1] === CR) this.#length--;
      this.#giveCarry();
    }
  }

  #append(chunk: Buffer, start: number, end: number): void {
    if (!this.#isCarrying) {
      this.#isCarrying = true;
      this.#length = 0;
      this.#isCut = false;
      this.#carryLineNumber = this.#lineNumber;
    }
    const room = Math.max(0, RECORD_BYTES_MAX - this.#length);
    if (end - start > room) this.#isCut = true;
    const stop = Math.min(end, start + room);
    const length = this.#length + Math.max(0, stop - start);
    if (length > this.#carry.length) {
      const larger = Buffer.allocUnsafe(Math.min(RECORD_BYTES_MAX, Math.max(length, 2 * this.#carry.length)));
      this.#carry.copy(larger, 0, 0, this.#length);
      this.#carry = larger;
    }
    if (stop > start) chunk.copy(this.#carry, this.#length, start, stop);
    this.#length = length;
  }

  #giveCarry(): void {
    this.#isCarrying = false;
    this.#give(this.#carry, 0, this.#length, this.#carryLineNumber, false, this.#isCut);
  }

  #give(
    bytes: Buffer,
    start: number,
    end: number,
    lineNumber: number,
    isPlain: boolean,
    isCut: boolean,
  ): void {
    if (end === start) return;
    const found = this.#found;
    found.bytes = bytes;
    found.start = start;
    found.isCut = isCut || end - start > RECORD_BYTES_MAX;
    found.end = Math.min(end, start + RECORD_BYTES_MAX);
    found.lineNumber = lineNumber;
    found.isPlain = isPlain;
    this.#take(found);
  }
}

function isFold(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}
