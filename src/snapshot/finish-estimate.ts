import { FINISH_BYTES_PER_VALUE, IMAGE_BYTES_PER_EVENT, SCRATCH_BYTES_PER_EVENT } from '../limits.js';
import type { ByteStrings } from '../structures/byte-strings.js';
import { type DictionaryBuilder, NO_CODE } from '../structures/dictionary.js';
import { Growable } from '../structures/growable.js';
import { jsonByteLength } from './byte-lengths.js';
import { ROW_FRAME_BYTES } from './rows.js';

/** A field during the build: codes in order of arrival, values in order of first appearance. */
export interface Column {
  readonly dictionary: DictionaryBuilder;
  readonly codes: Growable<Uint32Array>;
}

/** Of null in a row. */
const NULL_BYTES = 4;
/** The text of a distinct value is held again as JSON and in the image's dictionary. */
const COPIES_OF_VALUES = 2;

/**
 * How much memory it takes to make an image of the events that have arrived. Each event and each value is counted once, whenever the
 * estimate is asked for, so that a load of n events spends O(n) on it.
 */
export class FinishEstimate {
  /** By field and code: bytes of the value as JSON. */
  readonly #lengths: Growable<Uint32Array>[] = [];
  #events = 0;
  #columnBytes = 0;
  #valueBytes = 0;
  #values = 0;

  bytes(ids: ByteStrings, columns: readonly Column[]): number {
    for (const [n, column] of columns.entries()) this.#count(n, column);
    this.#events = ids.size;
    const rows = this.#columnBytes + ids.byteLength + this.#events * ROW_FRAME_BYTES;
    const perEvent = SCRATCH_BYTES_PER_EVENT + IMAGE_BYTES_PER_EVENT;
    return (
      rows +
      this.#events * perEvent +
      this.#values * FINISH_BYTES_PER_VALUE +
      this.#valueBytes * COPIES_OF_VALUES
    );
  }

  /** Counts the values and codes of a field that have come since the last time. */
  #count(n: number, { dictionary, codes }: Column): void {
    this.#lengths[n] ??= new Growable(Uint32Array);
    const lengths = this.#lengths[n]!;
    for (let code = lengths.length; code < dictionary.size; code++) {
      const length = jsonByteLength(dictionary.valueOf(code));
      lengths.push(length);
      this.#valueBytes += length;
      this.#values++;
    }
    const byCode = lengths.view();
    const all = codes.view();
    let bytes = 0;
    for (let arrival = this.#events; arrival < all.length; arrival++) {
      const code = all[arrival]!;
      bytes += code === NO_CODE ? NULL_BYTES : byCode[code]!;
    }
    this.#columnBytes += bytes;
  }
}
