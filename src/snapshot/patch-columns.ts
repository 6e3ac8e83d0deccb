import { NAMED_FIELDS, type NamedFieldName } from '../model/fields.js';
import { Dictionary, NO_CODE } from '../structures/dictionary.js';
import { buildPostingLists, type CodeColumn, sharedCodeColumn } from '../structures/posting-lists.js';
import { shared } from '../structures/slabs.js';
import { Splice } from '../structures/splice.js';
import { spliceDictionary } from '../structures/splice-dictionary.js';
import { type Namer, namerOf } from './display-names.js';
import type { ColumnImage, FieldImage, NamesImage, SlotsImage, SnapshotImage } from './image.js';

type CellValues = readonly (string | null)[];

export interface PatchedColumn<Image extends ColumnImage = ColumnImage> {
  /** The earlier column if nothing changed. */
  readonly image: Image;
  readonly codes: Splice;
  /** Codes of the values of removed and added items, ascending. */
  readonly touched: readonly number[];
}

/**
 * Values without items leave the dictionary, and new ones join it.
 *
 * @param values of the added items
 * @param usesOf how many items had a code before the change
 */
function patchColumn(
  column: ColumnImage,
  items: Splice,
  values: CellValues,
  usesOf: (code: number) => number,
): PatchedColumn {
  const dictionary = new Dictionary(column.dictionary);
  const uses = new Map<number, number>();
  const count = (code: number, more: number): void => {
    uses.set(code, (uses.get(code) ?? usesOf(code)) + more);
  };
  for (const place of items.gone) {
    const code = column.codes[place]!;
    if (code < dictionary.size) count(code, -1);
  }
  const fresh = new Set<string>();
  for (const value of values) {
    if (value === null) continue;
    const code = dictionary.codeOf(value);
    if (code === NO_CODE) fresh.add(value);
    else count(code, 1);
  }
  const unused = [...uses].filter(([, left]) => left === 0).map(([code]) => code);
  const spliced = spliceDictionary(
    column.dictionary,
    unused.sort((a, b) => a - b),
    fresh,
  );
  const { splice } = spliced;
  const recode = splice.newPlaces;
  const freshCodes = new Map(spliced.values.map((value, n) => [value, splice.come[n]!]));
  const come = values.map((value) => {
    if (value === null) return NO_CODE;
    return freshCodes.get(value) ?? recode[dictionary.codeOf(value)]!;
  });
  const kept = [...uses.keys()].map((code) => recode[code]!).filter((code) => code !== NO_CODE);
  const touched = [...kept, ...splice.come].sort((a, b) => a - b);
  if (splice.isEmpty && hasSameCodes(column.codes, dictionary.size, items, come)) {
    return { image: column, codes: splice, touched };
  }
  const codes = sharedCodeColumn(items.after, splice.after);
  // Only a column with another dictionary can have codes of another width.
  if (splice.isEmpty) items.copy(column.codes, codes);
  else items.copyMapped(column.codes, codes, recode);
  for (const [n, place] of items.come.entries()) codes[place] = come[n]!;
  return { image: { dictionary: spliced.image, codes }, codes: splice, touched };
}

function hasSameCodes(codes: CodeColumn, size: number, items: Splice, come: readonly number[]): boolean {
  if (items.isShifted || items.after !== items.before) return false;
  // Every other item keeps its position here, so each added item is at the position of a removed item.
  return come.every((code, n) => {
    const before = codes[items.come[n]!]!;
    return before === code || (before >= size && code === NO_CODE);
  });
}

export function patchField(
  field: FieldImage,
  events: Splice,
  values: CellValues,
  slots: SlotsImage,
  slotOf: Uint32Array,
): PatchedColumn<FieldImage> {
  const { start } = field.postings;
  const patched = patchColumn(field, events, values, (code) => start[code + 1]! - start[code]!);
  const { codes, touched } = patched;
  const postings =
    patched.image === field ? field.postings : buildPostingLists(patched.image.codes, codes.after);
  const longestMs = patchLongest(field.longestMs, patched, postings, slots, slotOf);
  return { image: { ...patched.image, postings, longestMs }, codes, touched };
}

function patchLongest(
  longestMs: Float64Array,
  { codes, touched }: PatchedColumn,
  { start, ordinals }: FieldImage['postings'],
  { startMs, endMs }: SlotsImage,
  slotOf: Uint32Array,
): Float64Array {
  const next = codes.copy(longestMs, shared.float64(codes.after));
  let isSame = codes.isEmpty;
  for (const code of touched) {
    let longest = 0;
    for (let n = start[code]!; n < start[code + 1]!; n++) {
      const slot = slotOf[ordinals[n]!]!;
      longest = Math.max(longest, endMs[slot]! - startMs[slot]!);
    }
    if (next[code] !== longest) isSame = false;
    next[code] = longest;
  }
  return isSame ? longestMs : next;
}

/** Patches the column of a field without an index. The column is empty if no event has the field. */
export function patchUnindexed(column: ColumnImage, events: Splice, values: CellValues): ColumnImage {
  const size = column.dictionary.start.length - 1;
  if (size === 0 && values.every((value) => value === null)) return column;
  const codes = size === 0 ? new Uint8Array(events.before).fill(NO_CODE) : column.codes;
  const { image } = patchColumn({ ...column, codes }, events, values, useCounter(codes, size));
  if (image.dictionary.start.length === 1) return { ...image, codes: sharedCodeColumn(0, 0) };
  return image.codes === codes ? column : image;
}

/** The number of items with a code. Counts all codes on first use. */
function useCounter(codes: CodeColumn, size: number): (code: number) => number {
  let counts: Uint32Array | null = null;
  return (code) => {
    if (counts === null) {
      counts = new Uint32Array(size);
      for (let n = 0; n < codes.length; n++) if (codes[n]! < size) counts[codes[n]!]!++;
    }
    return counts[code]!;
  };
}

export function patchNames(
  base: SnapshotImage['names'],
  fields: Readonly<Record<NamedFieldName, PatchedColumn<FieldImage>>>,
  columns: Pick<SnapshotImage, 'fields' | 'columns'>,
): SnapshotImage['names'] {
  const names = NAMED_FIELDS.map(({ name }) => [
    name,
    namesOf(base[name], fields[name], namerOf(name, columns)),
  ]);
  return Object.fromEntries(names) as Record<NamedFieldName, NamesImage>;
}

function namesOf(before: NamesImage, field: PatchedColumn<FieldImage>, namer: Namer): NamesImage {
  const { image, codes, touched } = field;
  const { start, ordinals } = image.postings;
  const unnamed = Array.from(codes.come, () => null);
  const moved = patchNamesColumn(before, codes, unnamed);
  const values = touched.map((code) => namer.nameOf(ordinals.subarray(start[code], start[code + 1])));
  return patchNamesColumn(moved, Splice.inPlace(codes.after, touched), values);
}

function patchNamesColumn(names: NamesImage, codes: Splice, values: CellValues): NamesImage {
  if (codes.isEmpty) return names;
  const size = names.dictionary.start.length - 1;
  return patchColumn(names, codes, values, useCounter(names.codes, size)).image;
}
