import { INTERVALS_PER_TREE_MAX } from '../base/limits.js';
import { CONFLICT_DIMENSIONS, type IndexedFieldName, LESSON_FIELDS } from '../base/model/fields.js';
import { Dictionary, NO_CODE } from '../base/structures/dictionary.js';
import { buildIntervalIndex } from '../base/structures/interval-index.js';
import { scratch, shared } from '../base/structures/slabs.js';
import { Splice, spliceDictionary } from '../base/structures/splice.js';
import {
  ClusterSweep,
  clustersOfEvents,
  entryByteLengths,
  type FoundClusters,
  type LessonColumn,
  lessonsOfRows,
  sortedClusters,
} from '../snapshot/clusters.js';
import type { ClustersImage, ColumnImage, SnapshotImage } from '../snapshot/image.js';
import { FieldIndex } from '../snapshot/snapshot.js';

/** The parts of the next image that determine clusters. */
type Next = Pick<SnapshotImage, 'fields' | 'columns' | 'rows' | 'slots'> & { readonly slotOf: Uint32Array };

interface TouchedKey {
  readonly by: number;
  readonly text: string;
}

/**
 * Only clusters with keys of removed or added events can change: they are computed again, and all others are
 * copied.
 */
export function patchClusters(base: SnapshotImage, events: Splice, next: Next): SnapshotImage['clusters'] {
  const before = new KeyReader(base.fields);
  const after = new KeyReader(next.fields);
  const [was, is] = [new Set<string>(), new Set<string>()];
  const touched = CONFLICT_DIMENSIONS.map((_, by) => {
    const texts = new Set<string>();
    const take = (text: string | null, all: Set<string>): void => {
      if (text === null) return;
      texts.add(text);
      all.add(text);
    };
    for (const ordinal of events.removed) take(before.keyOf(by, ordinal), was);
    for (const ordinal of events.inserted) take(after.keyOf(by, ordinal), is);
    return texts;
  });
  const { keys } = base.clusters.merged;
  const known = new Dictionary(keys);
  const unused = [...was].filter((text) => !is.has(text) && !after.hasKey(text));
  const spliced = spliceDictionary(
    keys,
    unused.map((text) => known.codeOf(text)).sort((a, b) => a - b),
    [...is].filter((text) => known.codeOf(text) === NO_CODE),
  );
  const present = new Dictionary(spliced.image);
  const all: TouchedKey[] = touched.flatMap((texts, by) =>
    [...texts].filter((text) => present.codeOf(text) !== NO_CODE).map((text) => ({ by, text })),
  );
  // Clusters are found by dimension, then by key.
  all.sort((a, b) => a.by - b.by || present.codeOf(a.text) - present.codeOf(b.text));
  const sweep = sweepKeys(all, present, after, next);
  const isTouched = new Uint8Array(known.size);
  for (const [by, texts] of touched.entries()) {
    for (const text of texts) {
      const code = known.codeOf(text);
      if (code !== NO_CODE) isTouched[code]! |= 1 << by;
    }
  }
  const keyPatch = { keys: spliced.image, splice: spliced.splice, isTouched };
  return {
    merged: patchKind(base.clusters.merged, sweep.merged, keyPatch, events, next),
    unmerged: patchKind(base.clusters.unmerged, sweep.unmerged, keyPatch, events, next),
  };
}

/**
 * Finds the key of each event in the columns of an image. An event's key is the first field that is neither
 * null nor empty.
 */
class KeyReader {
  readonly #dimensions: readonly (readonly FieldIndex[])[];

  constructor(fields: SnapshotImage['fields']) {
    this.#dimensions = CONFLICT_DIMENSIONS.map(({ keys }) =>
      keys.map((name: IndexedFieldName, n) => new FieldIndex(fields[name], n, null)),
    );
  }

  keyOf(by: number, ordinal: number): string | null {
    const field = this.#dimensions[by]?.find((each) => hasKey(each, ordinal));
    return field === undefined ? null : field.dictionary.valueOf(field.codes[ordinal]!);
  }

  hasKey(text: string): boolean {
    return this.#dimensions.some((_, by) => this.eventsOf(by, text).length > 0);
  }

  /** The events with a key, ascending. */
  eventsOf(by: number, text: string): Uint32Array {
    const fields = this.#dimensions[by] ?? [];
    const lists = fields.map(({ dictionary, postings, start }, n) => {
      const code = dictionary.codeOf(text);
      if (code === NO_CODE) return new Uint32Array(0);
      const ordinals = postings.subarray(start[code], start[code + 1]);
      const earlier = fields.slice(0, n);
      if (earlier.length === 0) return ordinals;
      return ordinals.filter((ordinal) => !earlier.some((each) => hasKey(each, ordinal)));
    });
    const found = lists.filter(({ length }) => length > 0);
    if (found.length <= 1) return found[0] ?? new Uint32Array(0);
    return Uint32Array.from(found.flatMap((list) => [...list])).sort();
  }
}

function hasKey({ codes, dictionary }: FieldIndex, ordinal: number): boolean {
  const code = codes[ordinal]!;
  // An empty text has the first code.
  return code < dictionary.size && !(code === 0 && dictionary.start[1] === 0);
}

function sweepKeys(
  touched: readonly TouchedKey[],
  keys: Dictionary,
  reader: KeyReader,
  { fields, columns, slots, slotOf }: Next,
): ClusterSweep {
  const { startMs, endMs } = slots;
  const takesTime = (ordinal: number): boolean => startMs[slotOf[ordinal]!] !== endMs[slotOf[ordinal]!];
  const lists = touched.map(({ by, text }) => reader.eventsOf(by, text).filter(takesTime));
  const count = lists.reduce((sum, { length }) => sum + length, 0);
  const ordinals = scratch.uint32(count);
  let at = 0;
  for (const list of lists) {
    ordinals.set(list, at);
    at += list.length;
  }
  const slotsOfRows = scratch.uint32(count);
  for (let n = 0; n < count; n++) slotsOfRows[n] = slotOf[ordinals[n]!]!;
  const columnOf = ({ codes: all, dictionary }: ColumnImage): LessonColumn => {
    const codes = scratch.uint32(count);
    for (let n = 0; n < count; n++) codes[n] = all[ordinals[n]!]!;
    return { codes, codeCount: dictionary.start.length - 1 };
  };
  const lessons = lessonsOfRows(
    slotsOfRows,
    LESSON_FIELDS.map((name) => columnOf(fields[name])),
    columns.lessonId.codes.length === 0 ? null : columnOf(columns.lessonId),
  );
  const rows = { ordinals, slots: slotsOfRows, lessons };
  const sweep = new ClusterSweep(slots, count);
  let from = 0;
  for (const [n, { by, text }] of touched.entries()) {
    const end = from + lists[n]!.length;
    sweep.add(by, keys.codeOf(text), rows, from, end);
    from = end;
  }
  return sweep;
}

interface KeyPatch {
  readonly keys: ClustersImage['keys'];
  readonly splice: Splice;
  /** A bit per dimension, for each code of the earlier image. */
  readonly isTouched: Uint8Array;
}

function patchKind(
  before: ClustersImage,
  found: FoundClusters,
  { keys, splice: keySplice, isTouched }: KeyPatch,
  events: Splice,
  { rows }: Next,
): ClustersImage {
  const fresh = { ...sortedClusters(found), keys };
  const lengths = entryByteLengths(fresh, rows);
  const recode = keySplice.newPlaces;
  const splice = spliceOf(before, fresh, recode, isTouched);
  const isInPlace = keySplice.isEmpty && !events.isShifted && events.after === events.before;
  if (isInPlace && splice.isEmpty) return before;
  const join = <Items extends Uint8Array | Uint32Array | Float64Array>(
    old: Items,
    inserted: Items,
    next: Items,
  ): Items => {
    splice.copy(old, next);
    for (let n = 0; n < splice.inserted.length; n++) next[splice.inserted[n]!] = inserted[n]!;
    return next;
  };
  const count = splice.after;
  const byteLengths = {
    jsonBytes: join(before.jsonBytes, lengths.jsonBytes, shared.uint32(count)),
    packedBytes: join(before.packedBytes, lengths.packedBytes, shared.uint32(count)),
  };
  if (isInPlace && isSameClusters(before, fresh, splice)) return { ...before, ...byteLengths };
  const times = {
    startMs: splice.isEmpty ? before.startMs : join(before.startMs, fresh.startMs, shared.float64(count)),
    endMs: splice.isEmpty ? before.endMs : join(before.endMs, fresh.endMs, shared.float64(count)),
  };
  const key = shared.uint32(count);
  splice.copyMapped(before.key, key, recode);
  for (let n = 0; n < splice.inserted.length; n++) key[splice.inserted[n]!] = fresh.key[n]!;
  const sizes = Uint32Array.from(splice.inserted, (_, n) => fresh.first[n + 1]! - fresh.first[n]!);
  const first = splice.isEmpty ? before.first : splice.starts(before.first, sizes);
  const members = shared.uint32(first[count]!);
  splice.copyPieces(before.first, moved(before.events, events), first, members);
  for (let n = 0; n < splice.inserted.length; n++) {
    members.set(fresh.events.subarray(fresh.first[n], fresh.first[n + 1]), first[splice.inserted[n]!]);
  }
  return {
    ...times,
    by: join(before.by, fresh.by, shared.uint8(count)),
    key,
    keys,
    peak: join(before.peak, fresh.peak, shared.uint32(count)),
    ...byteLengths,
    first,
    events: members,
    clustersOf: clustersOfEvents(events.after, first, members),
    index: splice.isEmpty
      ? before.index
      : buildIntervalIndex(times.startMs, times.endMs, INTERVALS_PER_TREE_MAX),
  };
}

/** Whether each computed cluster takes the place of an equal one. Lengths of rows may differ. */
function isSameClusters(
  before: ClustersImage,
  fresh: Omit<ClustersImage, 'clustersOf' | 'index' | 'jsonBytes' | 'packedBytes'>,
  { removed, inserted }: Splice,
): boolean {
  if (removed.length !== inserted.length) return false;
  return inserted.every((place, n) => {
    const [from, to] = [fresh.first[n]!, fresh.first[n + 1]!];
    const start = before.first[place]!;
    return (
      removed[n] === place &&
      COLUMNS.every((name) => before[name][place] === fresh[name][n]) &&
      before.first[place + 1]! - start === to - from &&
      fresh.events.subarray(from, to).every((ordinal, at) => ordinal === before.events[start + at])
    );
  });
}

const COLUMNS = ['startMs', 'endMs', 'by', 'key', 'peak'] as const;

function moved(ordinals: Uint32Array, events: Splice): Uint32Array {
  if (!events.isShifted) return ordinals;
  const places = events.newPlaces;
  const next = scratch.uint32(ordinals.length);
  for (let n = 0; n < ordinals.length; n++) next[n] = places[ordinals[n]!]!;
  return next;
}

/** Replaces the clusters of touched keys by the computed ones, in order of (start, end, by, key). */
function spliceOf(
  before: ClustersImage,
  fresh: Pick<ClustersImage, 'startMs' | 'endMs' | 'by' | 'key'>,
  recode: Uint32Array,
  isTouched: Uint8Array,
): Splice {
  const count = before.by.length;
  const removed: number[] = [];
  const places: number[] = [];
  const isBefore = (f: number, c: number): boolean => {
    const order =
      fresh.startMs[f]! - before.startMs[c]! ||
      fresh.endMs[f]! - before.endMs[c]! ||
      fresh.by[f]! - before.by[c]! ||
      fresh.key[f]! - recode[before.key[c]!]!;
    return order < 0;
  };
  for (let c = 0; c < count; c++) {
    if ((isTouched[before.key[c]!]! & (1 << before.by[c]!)) !== 0) removed.push(c);
    else while (places.length < fresh.by.length && isBefore(places.length, c)) places.push(c);
  }
  while (places.length < fresh.by.length) places.push(count);
  return new Splice(count, removed, places);
}
