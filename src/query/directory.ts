import { DIRECTORIES, type DirectoryName } from '../model/fields.js';
import { compareCodePoints } from '../model/text.js';
import type { FieldIndex, Snapshot } from '../snapshot/snapshot.js';
import type { Dictionary } from '../structures/dictionary.js';
import type { CodeColumn } from '../structures/posting-lists.js';
import { results } from '../structures/slabs.js';
import { SearchedTexts } from './searched-texts.js';
import type { Selection } from './selection.js';

/** The sort key of an entry: nulls come last. */
export interface DirectoryKey {
  readonly name: string | null;
  readonly id: string | null;
}

/** Text c is UTF-8 bytes [start[c], start[c + 1]). */
export type Texts = Pick<Dictionary, 'bytes' | 'start' | 'size' | 'valueOf'>;

/**
 * Entries with an id and a name. **Entry** e has the id with code e. From `ids.size` on, entries have a name
 * from `texts` and no id.
 */
export interface NamedEntries {
  readonly ids: Texts;
  readonly names: Texts;
  /** For each entry with an id: a code of `names`; a larger number means no name. */
  readonly nameCodes: CodeColumn;
  /** Null if every entry has an id. */
  readonly texts: Texts | null;
}

/** The number of events of each entry. */
export interface CountedEntries {
  readonly counts: Uint32Array;
  /** Entries with events, in any order. Null: all entries of the directory. */
  readonly entries: Uint32Array | null;
}

const NO_PLACE = 0xffffffff;
/** Sorting one entry takes as long as stepping over this many entries (estimated). */
const ENTRIES_PER_SORTED = 16;

/**
 * The rooms, courses, groups or lecturers of a snapshot. Entry e is the value with code e of the first key
 * field. From `ids.size` on, entries are values of the second key field, for events without a value in the
 * first.
 */
export class Directory implements NamedEntries {
  readonly ids: Dictionary;
  readonly names: Dictionary;
  readonly nameCodes: CodeColumn;
  readonly texts: Dictionary | null;
  readonly #idField: FieldIndex;
  readonly #textField: FieldIndex | null;
  /** Number of events by entry, in the whole snapshot. */
  readonly #totals: Uint32Array;
  /** Entries with events, by name. */
  readonly #sorted: Uint32Array;
  /** For each entry, its place in `#sorted`, or NO_PLACE. The array is made for the first small selection. */
  #places: Uint32Array | null = null;
  readonly #all: CountedEntries;
  #searched: Readonly<Record<'ids' | 'names' | 'texts', SearchedTexts>> | null = null;

  constructor(snapshot: Snapshot, name: DirectoryName) {
    const [idKey, textKey] = DIRECTORIES.find((directory) => directory.name === name)!.keys;
    const names = snapshot.namesOf(idKey);
    this.#idField = snapshot.field(idKey);
    this.#textField = textKey === undefined ? null : snapshot.field(textKey);
    this.ids = this.#idField.dictionary;
    this.texts = this.#textField?.dictionary ?? null;
    this.names = names.dictionary;
    this.nameCodes = names.codes;
    this.#totals = this.#countAll(snapshot.eventCount);
    this.#sorted = this.#sort();
    this.#all = { counts: this.#totals, entries: null };
  }

  /** Number of entries in the whole snapshot. */
  get size(): number {
    return this.#sorted.length;
  }

  keyOf(entry: number): DirectoryKey {
    return keyOfEntry(this, entry);
  }

  /**
   * Counts the events of each entry by the lengths of posting lists, or by the codes of the selected events.
   *
   * @param selection null for all events
   */
  count(selection: Selection | null): CountedEntries {
    return selection === null ? this.#all : this.#countCodes(selection);
  }

  #countCodes(selection: Selection): CountedEntries {
    const idCount = this.ids.size;
    const counts = new Uint32Array(idCount + (this.texts?.size ?? 0));
    const entries = results.uint32(Math.min(selection.count, counts.length));
    let found = 0;
    const { codes } = this.#idField;
    const text = this.#textField;
    selection.forEachRun((first, end) => {
      for (let ordinal = first; ordinal < end; ordinal++) {
        let entry: number = codes[ordinal]!;
        if (entry >= idCount) {
          if (text === null) continue;
          const textCode = text.codes[ordinal]!;
          if (textCode >= text.dictionary.size) continue;
          entry = idCount + textCode;
        }
        if (counts[entry]!++ === 0) entries[found++] = entry;
      }
    });
    return { counts, entries: entries.subarray(0, found) };
  }

  /**
   * Entries with events, in order.
   *
   * @param q a part of the id or the name, in its search form
   */
  find(counted: CountedEntries, q: string | null): Uint32Array {
    const inOrder = this.#inOrder(counted);
    if (q === null) return inOrder;
    const isMatch = this.#search(q);
    const found = results.uint32(inOrder.length);
    let count = 0;
    for (let n = 0; n < inOrder.length; n++) if (isMatch[inOrder[n]!] === 1) found[count++] = inOrder[n]!;
    return found.subarray(0, count);
  }

  /** Sorts few entries by their positions; for many entries, reads the whole order. */
  #inOrder({ counts, entries }: CountedEntries): Uint32Array {
    const sorted = this.#sorted;
    if (entries === null) return sorted;
    const found = results.uint32(entries.length);
    let count = 0;
    if (entries.length * ENTRIES_PER_SORTED > sorted.length) {
      for (let n = 0; n < sorted.length; n++) if (counts[sorted[n]!]! > 0) found[count++] = sorted[n]!;
      return found.subarray(0, count);
    }
    this.#places ??= placesOf(sorted, counts.length);
    for (let n = 0; n < entries.length; n++) {
      const place = this.#places[entries[n]!]!;
      if (place !== NO_PLACE) found[count++] = place;
    }
    const places = found.subarray(0, count).sort();
    for (let n = 0; n < count; n++) places[n] = sorted[places[n]!]!;
    return places;
  }

  /** Counts events without an id one by one. The lengths of posting lists give the other numbers. */
  #countAll(eventCount: number): Uint32Array {
    const { start, postings, codes } = this.#idField;
    const idCount = this.ids.size;
    const totals = new Uint32Array(idCount + (this.texts?.size ?? 0));
    for (let code = 0; code < idCount; code++) totals[code] = start[code + 1]! - start[code]!;
    const text = this.#textField;
    if (text === null || postings.length === eventCount) return totals;
    for (let ordinal = 0; ordinal < eventCount; ordinal++) {
      if (codes[ordinal]! < idCount) continue;
      const textCode = text.codes[ordinal]!;
      if (textCode < text.dictionary.size) totals[idCount + textCode]!++;
    }
    return totals;
  }

  /**
   * Dictionaries are sorted, so a counting sort by name orders entries with ids. A merge adds entries without
   * ids.
   */
  #sort(): Uint32Array {
    const { ids, names, texts, nameCodes } = this;
    const totals = this.#totals;
    const next = new Uint32Array(names.size + 2);
    for (let code = 0; code < ids.size; code++) next[Math.min(nameCodes[code]!, names.size) + 1]!++;
    for (let n = 0; n <= names.size; n++) next[n + 1]! += next[n]!;
    const byName = new Uint32Array(ids.size);
    for (let code = 0; code < ids.size; code++)
      byName[next[Math.min(nameCodes[code]!, names.size)]!++] = code;
    if (texts === null) return byName;
    const sorted = new Uint32Array(totals.length);
    let count = 0;
    let n = 0;
    for (let textCode = 0; textCode < texts.size; textCode++) {
      // Zero if all events with this name have an id. An empty text is not a name.
      if (totals[ids.size + textCode] === 0 || texts.start[textCode] === texts.start[textCode + 1]) continue;
      while (n < byName.length) {
        const nameCode = nameCodes[byName[n]!]!;
        if (nameCode >= names.size || names.compare(nameCode, texts, textCode) > 0) break;
        sorted[count++] = byName[n++]!;
      }
      sorted[count++] = ids.size + textCode;
    }
    while (n < byName.length) sorted[count++] = byName[n++]!;
    return sorted.subarray(0, count);
  }

  /** 1 for each entry that matches. */
  #search(q: string): Uint8Array {
    const { ids, nameCodes } = this;
    this.#searched ??= {
      ids: new SearchedTexts(ids),
      names: new SearchedTexts(this.names),
      texts: new SearchedTexts(this.texts),
    };
    const isMatch = new Uint8Array(this.#totals.length);
    this.#searched.ids.search(q, isMatch, 0);
    this.#searched.texts.search(q, isMatch, ids.size);
    const isName = new Uint8Array(this.names.size);
    this.#searched.names.search(q, isName, 0);
    for (let code = 0; code < ids.size; code++) if (isName[nameCodes[code]!] === 1) isMatch[code] = 1;
    return isMatch;
  }
}

export function keyOfEntry({ ids, names, nameCodes, texts }: NamedEntries, entry: number): DirectoryKey {
  if (entry >= ids.size) return { id: null, name: texts!.valueOf(entry - ids.size) };
  const nameCode = nameCodes[entry]!;
  return { id: ids.valueOf(entry), name: nameCode < names.size ? names.valueOf(nameCode) : null };
}

function placesOf(sorted: Uint32Array, size: number): Uint32Array {
  const places = new Uint32Array(size).fill(NO_PLACE);
  for (let place = 0; place < sorted.length; place++) places[sorted[place]!] = place;
  return places;
}

/** Nulls come last. */
export function compareDirectoryKeys(a: DirectoryKey, b: DirectoryKey): number {
  return compareOrNull(a.name, b.name) || compareOrNull(a.id, b.id);
}

function compareOrNull(a: string | null, b: string | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return compareCodePoints(a, b);
}
