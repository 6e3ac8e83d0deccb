import { derivedIdentifier } from '../../model/derived-identifier.js';
import type { FieldName } from '../../model/fields.js';
import { isUuid } from '../../model/identifier.js';
import { isSame, viewOf } from '../../structures/byte-strings.js';
import { quickHash } from '../../structures/quick-hash.js';
import { type ContentLine, readContentLine } from './content-line.js';

const LINES_REMEMBERED = 4096;
const LINE_BYTES_REMEMBERED_MAX = 256;
export const VALUE_BYTES_MAX = 2048;
/** A match can begin only at the first CR of a run, so that the search takes linear time. */
const FOLDS = /(?<!\r)\r*\n[ \t]/g;

/** A text in the form of `undecoded` of RecordSink: UTF-8 with the escapes of JSON, and its quickHash. */
export interface FoundText {
  readonly view: DataView;
  readonly length: number;
  readonly hash: number;
}

export interface LineValue {
  readonly text: FoundText;
  /**
   * A UUID made from the text, or the text itself if it is a UUID. Null if it was not requested, or if the
   * value is not a text.
   */
  readonly identifier: FoundText | null;
}

interface KnownLine {
  readonly view: DataView;
  readonly length: number;
  readonly value: LineValue;
}

/** The values of one property by the bytes of its lines, so that a repeated line is decoded once. */
export class LineValues {
  readonly #read: (line: ContentLine) => string;
  readonly #derived: FieldName | null;
  /** Known lines, by the quickHash of their bytes. */
  readonly #known: (KnownLine | undefined)[] = new Array<KnownLine | undefined>(LINES_REMEMBERED).fill(
    undefined,
  );

  /** @param derived the field whose texts become UUIDs */
  constructor(read: (line: ContentLine) => string, derived: FieldName | null = null) {
    this.#read = read;
    this.#derived = derived;
  }

  /** Null if the line must be read with its event. */
  of(bytes: Buffer, view: DataView, from: number, to: number): LineValue | null {
    const length = to - from;
    const known = this.#known;
    const place = quickHash(view, from, to) & (LINES_REMEMBERED - 1);
    const first = known[place];
    if (first !== undefined && isLine(first, view, from, length)) return first.value;
    // A line has two places, so that few lines displace each other.
    const second = known[place ^ 1];
    if (second !== undefined && isLine(second, view, from, length)) return second.value;
    const value = this.#decode(bytes.subarray(from, to));
    if (value !== null && length <= LINE_BYTES_REMEMBERED_MAX) {
      const line = { view: viewOf(Uint8Array.from(bytes.subarray(from, to))), length, value };
      known[first === undefined || second !== undefined ? place : place ^ 1] = line;
    }
    return value;
  }

  #decode(bytes: Buffer): LineValue | null {
    const whole = bytes.includes(0x0a)
      ? Buffer.from(bytes.toString('latin1').replace(FOLDS, ''), 'latin1')
      : bytes;
    const line = readContentLine(whole, 0, whole.length, false);
    if (typeof line === 'string') return null;
    const text = this.#read(line);
    const found = foundText(text);
    if (found.length > VALUE_BYTES_MAX) return null;
    if (this.#derived === null || text === '') return { text: found, identifier: null };
    const identifier = isUuid(text) ? found : foundText(derivedIdentifier(this.#derived, text));
    return { text: found, identifier };
  }
}

function isLine(known: KnownLine, view: DataView, from: number, length: number): boolean {
  return known.length === length && isSame(known.view, 0, view, from, length);
}

export function foundText(text: string): FoundText {
  const bytes = Buffer.from(JSON.stringify(text).slice(1, -1));
  const view = viewOf(bytes);
  return { view, length: bytes.length, hash: quickHash(view, 0, bytes.length) };
}
