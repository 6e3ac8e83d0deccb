import { isAscii } from 'node:buffer';
import { searchForm } from '../model/text.js';
import type { Dictionary } from '../structures/dictionary.js';
import { lowerBound } from '../structures/search.js';

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
    // The search form of ASCII text is its lower case, which has the same length. Few large strings cost less
    // than many small ones.
    const lowerCase = bytes.toString('latin1').toLowerCase();
    if (isAscii(bytes)) {
      this.#text = lowerCase;
      this.#start = start;
      return;
    }
    const forms: string[] = [];
    this.#start = new Uint32Array(size + 1);
    for (let code = 0; code < size; code++) {
      const [from, to] = [start[code]!, start[code + 1]!];
      const form = isAsciiPart(bytes, from, to)
        ? lowerCase.slice(from, to)
        : searchForm(dictionary.valueOf(code));
      forms.push(form);
      this.#start[code + 1] = this.#start[code]! + form.length;
    }
    this.#text = forms.join('');
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

function isAsciiPart(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at]! >= 0x80) return false;
  return true;
}
