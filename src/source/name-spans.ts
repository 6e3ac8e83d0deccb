import { viewOf } from '../structures/byte-strings.js';

/** The positions of those names in a line that are no event fields: start and end alternate. */
export interface NameSpans {
  readonly places: Int32Array;
  readonly count: number;
  /** The bytes that hold the names, such as the header of CSV. Default: the bytes of the record. */
  readonly view?: DataView;
}

/** The spans of names that are in no record. */
export function spansOf(names: readonly string[]): NameSpans {
  const places = new Int32Array(2 * names.length);
  let at = 0;
  for (const [n, name] of names.entries()) {
    places[2 * n] = at;
    at += Buffer.byteLength(name);
    places[2 * n + 1] = at;
  }
  return { places, count: names.length, view: viewOf(Buffer.from(names.join(''), 'utf8')) };
}
