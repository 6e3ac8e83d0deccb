import { Dictionary, type DictionaryImage } from './dictionary.js';
import { shared } from './slabs.js';
import { Splice } from './splice.js';

/**
 * Removes values from a dictionary and adds others. The result equals what DictionaryBuilder makes from the
 * same values.
 *
 * @param gone codes, ascending
 * @param come distinct values that the dictionary does not have
 * @returns `splice` of the codes, and the new values in the order of `splice.come`
 */
export function spliceDictionary(
  image: DictionaryImage,
  gone: readonly number[],
  come: Iterable<string>,
): { image: DictionaryImage; splice: Splice; values: readonly string[] } {
  const dictionary = new Dictionary(image);
  const values = [...come].map((value) => ({ value, bytes: Buffer.from(value, 'utf8') }));
  values.sort((a, b) => a.bytes.compare(b.bytes));
  const places = values.map(({ bytes }) => dictionary.placeOf(bytes));
  const splice = new Splice(dictionary.size, gone, places);
  const texts = values.map(({ value }) => value);
  if (splice.isEmpty) return { image, splice, values: texts };
  const lengths = values.map(({ bytes }) => bytes.length);
  const start = splice.starts(image.start, lengths);
  const bytes = splice.copyPieces(image.start, image.bytes, start, shared.uint8(start[splice.after]!));
  for (const [n, value] of values.entries()) bytes.set(value.bytes, start[splice.come[n]!]);
  return { image: { bytes, start }, splice, values: texts };
}
