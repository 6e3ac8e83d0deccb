import { isAscii } from 'node:buffer';
import { searchForm } from '../model/text.js';
import type { Dictionary } from '../structures/dictionary.js';
import { lowerBound } from '../structures/search.js';

const CAPITAL_A = 0x41;
const CAPITAL_Z = 0x5a;
const LOWER_CASE = 0x20;

/** The search forms of all values of a dictionary in one text, which native code searches. */
export class SearchedTexts {
  readonly #text: string;
  /** The value with code c is units [start[c], start[c + 1]). */
  readonly #start: Uint32Array;

  constructor(dictionary: Dictionary | null) {
    if (dictionary === null) {
      this.#text = '';
      this.#start = new Uint32Array(1);
      return;
    }
    const { bytes, size, start } = dictionary;
    // The search form of ASCII is its lower case, of the same length. A few large strings cost less than many small ones.
    if (isAscii(bytes)) {
      this.#text = bytes.toString('latin1').toLowerCase();
      this.#start = start;
      return;
    }
    this.#start = new Uint32Array(size + 1);
    this.#text = foldAll(bytes, start, this.#start);
  }

  /** Sets isMatch[offset + code] for each value that contains `q`, which is not empty. */
  search(q: string, isMatch: Uint8Array, offset: number): void {
    const text = this.#text;
    const start = this.#start;
    // Terminates: `at` grows.
    for (let at = text.indexOf(q); at !== -1; ) {
      const next = lowerBound(start, at + 1);
      const end = start[next]!;
      // Otherwise q would span two values.
      const isWithin = at + q.length <= end;
      if (isWithin) isMatch[offset + next - 1] = 1;
      at = text.indexOf(q, isWithin ? end : at + 1);
    }
  }
}

/**
 * The search forms of all values, without a string for each: the form of a text is that of its code points, one after the other.
 *
 * @param bytes UTF-8; value n is [start[n], start[n + 1])
 * @param formStart gets the starts of the forms, in UTF-16 units
 */
function foldAll(bytes: Uint8Array, start: Uint32Array, formStart: Uint32Array): string {
  // No form has more than two units for each byte of its code point in UTF-8.
  const units = new Uint16Array(2 * bytes.length);
  const forms = new Map<number, string>();
  let end = 0;
  let seen = 0;
  for (let code = 0, at = 0; code + 1 < formStart.length; code++) {
    const valueEnd = start[code + 1]!;
    while (at < valueEnd) {
      const first = bytes[at]!;
      if (first < 0x80) {
        units[end++] = first >= CAPITAL_A && first <= CAPITAL_Z ? first + LOWER_CASE : first;
        at++;
        continue;
      }
      const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
      let codePoint = first & (0xff >>> (length + 1));
      for (let n = 1; n < length; n++) codePoint = (codePoint << 6) | (bytes[at + n]! & 0x3f);
      at += length;
      let form = forms.get(codePoint);
      if (form === undefined) {
        form = searchForm(String.fromCodePoint(codePoint));
        forms.set(codePoint, form);
      }
      for (let n = 0; n < form.length; n++) {
        const unit = form.charCodeAt(n);
        units[end++] = unit;
        seen |= unit;
      }
    }
    formStart[code + 1] = end;
  }
  const found = units.subarray(0, end);
  // One byte a unit where that is enough: half the memory, and a faster search.
  if (seen < 0x100) return Buffer.from(found).toString('latin1');
  return Buffer.from(units.buffer, 0, 2 * end).toString('utf16le');
}
