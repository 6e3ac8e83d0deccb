import { copyText, isSame, viewOf } from './byte-strings.js';
import { HALVED, type Row, STRIDE } from './row.js';

/** Entries: a power of two. */
const REMEMBERED = 4096;
/** Marks a free entry. 0 would mean an empty text. */
const FREE = 0xffff;

/**
 * The latest values of rows, by their bytes: one entry for each quick hash, so texts made to have equal hashes only cause
 * misses. What is known of a value is kept by the caller under the number of its entry.
 */
export class RecentValues {
  readonly size: number = REMEMBERED;
  readonly #bytesMax: number;
  readonly #view: DataView;
  readonly #lengths: Uint16Array = new Uint16Array(REMEMBERED).fill(FREE);

  /** @param bytesMax of a value, below 65,535; longer ones are not kept */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#view = viewOf(new Uint8Array(REMEMBERED * bytesMax));
  }

  get heldBytes(): number {
    return this.#view.byteLength;
  }

  /** The entry of the value in a field of the row; -1 if it has none. */
  find(row: Row, field: number): number {
    const place = STRIDE * field;
    const { spans } = row;
    const from = spans[place]!;
    const length = spans[place + 1]! - from;
    const entry = spans[place + 2]! & (REMEMBERED - 1);
    if (this.#lengths[entry] !== length || spans[place + 3] === HALVED) return -1;
    return isSame(this.#view, entry * this.#bytesMax, row.viewOf(field), from, length) ? entry : -1;
  }

  /** Keeps the value instead of the earlier one of its hash. @returns its entry, or -1 if it is not kept */
  keep(row: Row, field: number): number {
    const place = STRIDE * field;
    const { spans } = row;
    const from = spans[place]!;
    const to = spans[place + 1]!;
    if (to - from > this.#bytesMax || spans[place + 3] === HALVED) return -1;
    const entry = spans[place + 2]! & (REMEMBERED - 1);
    copyText(row.viewOf(field), from, to, this.#view, entry * this.#bytesMax);
    this.#lengths[entry] = to - from;
    return entry;
  }
}
