/**
 * Folder snapshot/. The flat, immutable image: built, checked, compared, read. This folder knows neither sources
 * nor requests.
 */

import { RECORD_PREFIX_UNITS, recordPrefix } from '../base/model/derived-identifier.js';
import {
  INDEXED_FIELDS,
  type IndexedFieldName,
  NAMED_FIELDS,
  type NamedFieldName,
} from '../base/model/fields.js';
import { compareCodePoints, isPlainJsonText } from '../base/model/text.js';
import { hasSameBytes, viewOf } from '../base/structures/byte-strings.js';
import { Dictionary } from '../base/structures/dictionary.js';
import { findInHashIndex, type HashIndexImage } from '../base/structures/hash-index.js';
import { IntervalIndex } from '../base/structures/interval-index.js';
import { KeyedHash } from '../base/structures/keyed-hash.js';
import type { CodeColumn } from '../base/structures/posting-lists.js';
import { firstWhere, lowerBound } from '../base/structures/search.js';
import { Clusters, TREE_BOUNDS } from './cluster-reader.js';
import { DAY_DIGEST_BYTES, type Day, daysOf } from './content-version.js';
import { DisplayNames } from './display-names.js';
import type { FieldImage, SlotsImage, SnapshotImage } from './image.js';
import { Rows } from './rows.js';
import type { SnapshotSummary } from './summary.js';

export class FieldIndex {
  readonly number: number;
  readonly dictionary: Dictionary;
  readonly codes: CodeColumn;
  readonly postings: Uint32Array;
  readonly start: Uint32Array;
  readonly longestMs: Float64Array;

  constructor(image: FieldImage, number: number, before: FieldIndex | null) {
    this.number = number;
    this.dictionary = new Dictionary(image.dictionary, before?.dictionary);
    this.codes = image.codes;
    this.postings = image.postings.ordinals;
    this.start = image.postings.start;
    this.longestMs = image.longestMs;
  }

  postingCount(code: number): number {
    return this.start[code + 1]! - this.start[code]!;
  }
}

export interface EventKey {
  readonly timeMs: number;
  readonly endTimeMs: number;
  readonly id: string;
}

/** A day with equal rows in two snapshots. */
interface EqualDay {
  readonly before: Day;
  readonly after: Day;
}

/** Compares two events by the order of their ordinals. */
export function compareKeys(a: EventKey, b: EventKey): number {
  return a.timeMs - b.timeMs || a.endTimeMs - b.endTimeMs || compareCodePoints(a.id, b.id);
}

/** Reads an image, which threads may share. Each thread builds its own interval trees. */
export class Snapshot {
  readonly summary: SnapshotSummary;
  readonly rows: Rows;
  /** As in SnapshotImage. */
  readonly modified: Uint32Array;
  readonly slotIndex: IntervalIndex;
  readonly merged: Clusters;
  readonly unmerged: Clusters;
  /** The lessonId of each event, by ordinal. */
  readonly lessons: DisplayNames;
  readonly #slots: SlotsImage;
  readonly #dayDigests: Uint8Array;
  readonly #hash: KeyedHash;
  readonly #ids: HashIndexImage;
  readonly #fields: ReadonlyMap<IndexedFieldName, FieldIndex>;
  readonly #names: ReadonlyMap<NamedFieldName, DisplayNames>;

  /** @param before gives its cached results for unchanged parts */
  constructor(image: SnapshotImage, before: Snapshot | null = null) {
    const { summary, rows, modified, dayDigests, slots, hashSeed, ids, clusters, fields, columns, names } =
      image;
    this.summary = summary;
    this.rows = new Rows(rows);
    this.modified = modified;
    this.#slots = slots;
    this.#dayDigests = dayDigests;
    this.#hash = new KeyedHash(hashSeed);
    this.#ids = ids;
    this.slotIndex = new IntervalIndex(
      slots.startMs,
      slots.endMs,
      slots.index,
      TREE_BOUNDS,
      before?.slotIndex,
    );
    this.merged = new Clusters(clusters.merged, before?.merged);
    this.unmerged = new Clusters(clusters.unmerged, before?.unmerged);
    this.#fields = new Map(
      INDEXED_FIELDS.map(({ name }, n) => [
        name,
        new FieldIndex(fields[name], n, before?.field(name) ?? null),
      ]),
    );
    this.#names = new Map(NAMED_FIELDS.map(({ name }) => [name, new DisplayNames(names[name])]));
    this.lessons = new DisplayNames(columns.lessonId);
  }

  get eventCount(): number {
    return this.summary.events;
  }

  field(name: IndexedFieldName): FieldIndex {
    const field = this.#fields.get(name);
    if (field === undefined) throw new Error(`${name} is not indexed`);
    return field;
  }

  valuesOf(name: IndexedFieldName): string[] {
    const { dictionary } = this.field(name);
    return Array.from({ length: dictionary.size }, (_, code) => dictionary.valueOf(code));
  }

  namesOf(name: NamedFieldName): DisplayNames {
    const names = this.#names.get(name);
    if (names === undefined) throw new Error(`${name} has no names`);
    return names;
  }

  /** The display name of a value, by its code; null if it has none. */
  nameOf(name: NamedFieldName, code: number): string | null {
    return this.namesOf(name).nameOf(code);
  }

  /** The first ordinal of a slot; for the slot after the last, the number of events. */
  firstOrdinal(slot: number): number {
    return this.#slots.first[slot]!;
  }

  slotStartMs(slot: number): number {
    return this.#slots.startMs[slot]!;
  }

  slotEndMs(slot: number): number {
    return this.#slots.endMs[slot]!;
  }

  /** The first slot that starts at or after `startMs`, or the number of slots. */
  firstSlotFrom(startMs: number): number {
    return lowerBound(this.#slots.startMs, startMs);
  }

  /** The first ordinal that starts at or after `startMs`, or the number of events. */
  ordinalFrom(startMs: number): number {
    return this.#slots.first[lowerBound(this.#slots.startMs, startMs)]!;
  }

  /** The days with the digests of their rows, in order. */
  days(): (Day & { readonly digest: Uint8Array })[] {
    return daysOf(this.#slots).map((day, n) => ({
      ...day,
      digest: this.#dayDigests.subarray(n * DAY_DIGEST_BYTES, (n + 1) * DAY_DIGEST_BYTES),
    }));
  }

  /** Days with equal rows in an earlier snapshot, in order. The events of each day are one run of ordinals in both. */
  #equalDays(before: Snapshot): EqualDay[] {
    const of = new Map(before.days().map((day) => [day.day, day]));
    const equal: EqualDay[] = [];
    for (const day of this.days()) {
      const same = of.get(day.day);
      if (same !== undefined && hasSameBytes(same.digest, day.digest))
        equal.push({ before: same, after: day });
    }
    return equal;
  }

  timesOf(ordinal: number): Pick<EventKey, 'timeMs' | 'endTimeMs'> {
    const slot = this.slotOf(ordinal);
    return { timeMs: this.#slots.startMs[slot]!, endTimeMs: this.#slots.endMs[slot]! };
  }

  endMsOf(ordinal: number): number {
    return this.#slots.endMs[this.slotOf(ordinal)]!;
  }

  slotOf(ordinal: number): number {
    return lowerBound(this.#slots.first, ordinal + 1) - 1;
  }

  keyOf(ordinal: number): EventKey {
    return { ...this.timesOf(ordinal), id: this.rows.idOf(ordinal) };
  }

  /**
   * Visits each event of an earlier snapshot and of this one, in their order. A moved event is visited at its earlier
   * place. An ordinal is -1 in the snapshot that does not have the event.
   *
   * @param visitDay visits a day with equal rows; default: by its events
   */
  mergeWith(
    before: Snapshot,
    visit: (before: number, after: number, hasSameRow: boolean) => void,
    visitDay: (day: EqualDay) => void = ({ before: { first }, after }) => {
      for (let n = after.first; n < after.end; n++) visit(first + n - after.first, n, true);
    },
  ): void {
    const equalDays = this.#equalDays(before);
    let day = 0;
    let b = 0;
    let a = 0;
    // Terminates: each round advances `b`, `a` or `day`.
    while (b < before.eventCount || a < this.eventCount) {
      const next = equalDays[day];
      if (next !== undefined && b >= next.before.first && a >= next.after.first) {
        visitDay(next);
        b = next.before.end;
        a = next.after.end;
        day++;
        continue;
      }
      const isBoth = b < before.eventCount && a < this.eventCount;
      const hasSameRow = isBoth && before.rows.isEqual(b, this.rows, a);
      const order = hasSameRow ? 0 : isBoth ? before.#compare(b, this, a) : b < before.eventCount ? -1 : 1;
      if (order === 0) {
        visit(b, a, hasSameRow);
        b++;
        a++;
      } else if (order > 0) {
        if (before.ordinalOf(this.rows.idOf(a)) === -1) visit(-1, a, false);
        a++;
      } else {
        visit(b, this.ordinalOf(before.rows.idOf(b)), false);
        b++;
      }
    }
  }

  #compare(ordinal: number, other: Snapshot, otherOrdinal: number): number {
    const [a, b] = [this.timesOf(ordinal), other.timesOf(otherOrdinal)];
    const order = a.timeMs - b.timeMs || a.endTimeMs - b.endTimeMs;
    if (order !== 0 || this.rows.hasSameId(ordinal, other.rows, otherOrdinal)) return order;
    return compareCodePoints(this.rows.idOf(ordinal), other.rows.idOf(otherOrdinal));
  }

  /** The first ordinal after `key`, even if the event of `key` no longer exists. */
  ordinalAfter(key: EventKey): number {
    const { startMs, endMs, first } = this.#slots;
    let slot = lowerBound(startMs, key.timeMs);
    const slotsEnd = lowerBound(startMs, key.timeMs + 1, slot);
    slot = lowerBound(endMs, key.endTimeMs, slot, slotsEnd);
    if (slot === slotsEnd || endMs[slot] !== key.endTimeMs) return first[slot]!;
    return firstWhere(first[slot]!, first[slot + 1]!, (ordinal) => {
      return compareCodePoints(this.rows.idOf(ordinal), key.id) > 0;
    });
  }

  /** The ids of all rows that records with several values have become. @param records ids of records */
  idsOfRecords(records: Iterable<string>): string[] {
    const { codes, dictionary } = this.lessons;
    const hasPatterns = this.summary.patterns !== undefined;
    if (codes.length === 0 && !hasPatterns) return [];
    const prefixes = new Set(Array.from(records, recordPrefix));
    const found: string[] = [];
    for (let ordinal = 0; ordinal < this.summary.events; ordinal++) {
      // Rows of several values have a lesson; rows of a pattern need none.
      if (!hasPatterns && codes[ordinal]! >= dictionary.size) continue;
      if (prefixes.has(this.rows.idPrefixOf(ordinal, RECORD_PREFIX_UNITS)))
        found.push(this.rows.idOf(ordinal));
    }
    return found;
  }

  /** The lesson of an event; null if it has none, or for the ordinal -1. */
  lessonOf(ordinal: number): string | null {
    return ordinal < this.lessons.codes.length && ordinal !== -1 ? this.lessons.nameOf(ordinal) : null;
  }

  /** Returns -1 for an unknown canonical id. */
  ordinalOf(id: string): number {
    return this.ordinalsOf(Buffer.from(id, 'utf8'))();
  }

  /** Returns a function that finds the event whose id is a range of these UTF-8 bytes, and -1 for an unknown id. */
  ordinalsOf(ids: Buffer): (from?: number, end?: number, hash?: number) => number {
    const view = viewOf(ids);
    return (from = 0, end = ids.length, hash = this.#hash.bytes(view, from, end)) => {
      if (isPlainJsonText(ids, from, end))
        return findInHashIndex(this.#ids, hash, (ordinal) => this.rows.hasId(ordinal, view, from, end));
      const text = viewOf(Buffer.from(JSON.stringify(ids.toString('utf8', from, end)).slice(1, -1)));
      return findInHashIndex(this.#ids, hash, (ordinal) =>
        this.rows.hasId(ordinal, text, 0, text.byteLength),
      );
    };
  }
}
