import { endHash } from '../../structures/quick-hash.js';

/** 2000-01-01T00:00:00Z, from which PostgreSQL counts. */
const EPOCH_MS = 946_684_800_000;
const INFINITY = (1n << 63n) - 1n;
/** 0001-01-01T00:00:00Z. */
const YEAR_1_MS = -62_135_596_800_000;
/** The last instant of `Date`, in the year 275760. The first instant is as far from 1970. */
const DATE_MS_MAX = 8_640_000_000_000_000;

const REMEMBERED = 4096;
/** The longest text is `-004713-11-24T00:00:00.000Z BC`. */
const ENTRY_BYTES = 32;

/** Memory for the texts of one column. */
export const INSTANT_TEXTS_BYTES: number = REMEMBERED * ENTRY_BYTES;

/** The texts of a column of instants. Keeps the most recent texts. */
export class BinaryInstants {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #high: Int32Array = new Int32Array(REMEMBERED);
  readonly #low: Int32Array = new Int32Array(REMEMBERED);
  /** 0 for a free entry. */
  readonly #lengths: Uint8Array = new Uint8Array(REMEMBERED);

  /** @param start where the INSTANT_TEXTS_BYTES bytes for the texts begin in `bytes` */
  constructor(bytes: Buffer, start: number) {
    this.#bytes = bytes;
    this.#start = start;
  }

  /** Reads a big-endian number of microseconds. Writes start, end and hash of the text to `spans`. */
  read(view: DataView, at: number, spans: Int32Array, place: number): void {
    const high = view.getInt32(at);
    const low = view.getInt32(at + 4);
    const hash = endHash(Math.imul(high, 0x9e3779b1) ^ low);
    const entry = hash & (REMEMBERED - 1);
    const start = this.#start + entry * ENTRY_BYTES;
    if (this.#lengths[entry] === 0 || this.#low[entry] !== low || this.#high[entry] !== high) {
      this.#lengths[entry] = this.#bytes.write(instantText(view.getBigInt64(at)), start, 'latin1');
      this.#low[entry] = low;
      this.#high[entry] = high;
    }
    spans[place] = start;
    spans[place + 1] = start + (this.#lengths[entry] as number);
    spans[place + 2] = hash;
  }
}

/**
 * The text of an instant: RFC 3339 in UTC for the years 1 to 9999, with milliseconds, because finer fractions
 * would be cut anyway. The normaliser refuses all other instants, both in these texts and in the texts of
 * `row_to_json`.
 */
export function instantText(microseconds: bigint): string {
  if (microseconds === INFINITY) return 'infinity';
  if (microseconds === -INFINITY - 1n) return '-infinity';
  const cut = microseconds < 0n ? (microseconds - 999n) / 1000n : microseconds / 1000n;
  const epochMs = Number(cut) + EPOCH_MS;
  if (Math.abs(epochMs) > DATE_MS_MAX) return 'beyond the year 275760';
  const text = new Date(epochMs).toISOString();
  return epochMs < YEAR_1_MS ? `${text} BC` : text;
}
