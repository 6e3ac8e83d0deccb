import { viewOf } from '../structures/byte-strings.js';

/** Positions of the names in a line that are not event fields: start and end alternate. */
export interface NameSpans {
  readonly places: Int32Array;
  readonly count: number;
  /** The bytes that hold the names, if not the record itself: the header of CSV. */
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
