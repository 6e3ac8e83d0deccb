import { isAscii } from 'node:buffer';
import { searchForm } from '../model/text.js';
import type { Dictionary } from '../structures/dictionary.js';
import { lowerBound } from '../structures/search.js';

/** Units of a piece of the text. One long array would be cleared before it is filled. */
const PIECE_UNITS = 0x10000;
/** No form has more than two units for each byte of its code point in UTF-8. */
const FORM_UNITS_MAX = 8;
/** Most letters of Latin, Greek, Cyrillic, Hebrew and Arabic scripts are below this code point. */
const PAIRS = 0x2000;
/** For a code point, the one or two units of its form, the first in the low half; 0 if unknown or of another length. */
const pairs = new Uint32Array(PAIRS);
/** The bits of units above one byte, in both halves. */
const WIDE_UNITS = 0xff00ff00;

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

  /** Sets isMatch[offset + code] for each value that contains `q`, of 1 to SEARCHED_UNITS_MAX units. */
  search(q: string, isMatch: Uint8Array, offset: number): void {
    const text = this.#text;
    const start = this.#start;
    // Terminates: each round goes on behind a value. If a match crosses the end of its value, so would later ones.
    for (let at = text.indexOf(q); at !== -1; ) {
      const next = lowerBound(start, at + 1);
      const end = start[next]!;
      if (at + q.length <= end) isMatch[offset + next - 1] = 1;
      at = text.indexOf(q, end);
    }
  }
}

/**
 * The search forms of all values, without a string for each. The form of a text joins the forms of its code points.
 *
 * @param bytes UTF-8; value n is [start[n], start[n + 1])
 * @param formStart gets the starts of the forms, in UTF-16 units
 */
function foldAll(bytes: Uint8Array, start: Uint32Array, formStart: Uint32Array): string {
  const pieces: string[] = [];
  const units = new Uint16Array(PIECE_UNITS + FORM_UNITS_MAX);
  let before = 0;
  let end = 0;
  let wide = 0;
  for (let code = 0, at = 0; code + 1 < formStart.length; code++) {
    const valueEnd = start[code + 1]!;
    while (at < valueEnd) {
      const first = bytes[at++]!;
      let codePoint = first;
      if (first >= 0x80) {
        const more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
        codePoint = first & (0x3f >>> more);
        for (let n = 0; n < more; n++) codePoint = (codePoint << 6) | (bytes[at++]! & 0x3f);
      }
      const pair = codePoint < PAIRS ? pairs[codePoint]! : 0;
      if (pair !== 0) {
        units[end++] = pair;
        if (pair > 0xffff) units[end++] = pair >>> 16;
        wide |= pair & WIDE_UNITS;
      } else {
        const form = formOf(codePoint);
        for (let n = 0; n < form.length; n++) {
          units[end++] = form.charCodeAt(n);
          wide |= units[end - 1]! & WIDE_UNITS;
        }
      }
      if (end >= PIECE_UNITS) {
        pieces.push(textOf(units.subarray(0, end), wide !== 0));
        before += end;
        end = 0;
        wide = 0;
      }
    }
    formStart[code + 1] = before + end;
  }
  pieces.push(textOf(units.subarray(0, end), wide !== 0));
  return pieces.join('');
}

/** Remembers forms of one or two units in `pairs`. */
function formOf(codePoint: number): string {
  const form = searchForm(String.fromCodePoint(codePoint));
  if (codePoint < PAIRS && (form.length === 1 || form.length === 2)) {
    pairs[codePoint] = form.charCodeAt(0) + (form.length === 2 ? form.charCodeAt(1) * 0x10000 : 0);
  }
  return form;
}

/** Uses one byte a unit where one is enough: half the memory, and a faster search. */
function textOf(units: Uint16Array, isWide: boolean): string {
  if (isWide) return Buffer.from(units.buffer, 0, units.byteLength).toString('utf16le');
  return Buffer.from(units).toString('latin1');
}
