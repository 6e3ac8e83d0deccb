import { isAscii } from 'node:buffer';
import { DIRECTORIES, type DirectoryName } from '../base/model/fields.js';
import { compareCodePoints, searchForm } from '../base/model/text.js';
import { type Dictionary, NO_CODE } from '../base/structures/dictionary.js';
import type { CodeColumn } from '../base/structures/posting-lists.js';
import { lowerBound } from '../base/structures/search.js';
import { results } from '../base/structures/slabs.js';
import type { FieldIndex, Snapshot } from '../snapshot/snapshot.js';
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
  /** For groups, if the name of one is no studyGroup: the studyGroup of an entry, that of its first event. */
  readonly studyGroups: ((entry: number) => string | null) | null;
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
    this.studyGroups = textKey === 'studyGroup' ? this.#textsOfIds() : null;
  }

  #textsOfIds(): Directory['studyGroups'] {
    const { ids } = this;
    const { start, postings } = this.#idField;
    const { dictionary, codes } = this.#textField!;
    const isText = (name: string | null): boolean => name === null || dictionary.codeOf(name) !== NO_CODE;
    let hasOwnNames = false;
    for (let entry = 0; entry < ids.size && !hasOwnNames; entry++)
      hasOwnNames = !isText(this.keyOf(entry).name);
    if (!hasOwnNames) return null;
    return (entry) => {
      const { name } = this.keyOf(entry);
      if (name !== null && isText(name)) return name;
      const code = codes[postings[start[entry]!]!]!;
      return code < dictionary.size ? dictionary.valueOf(code) : null;
    };
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
    // Each round continues behind the value of the match. A match that crosses the end of its value is the last one there.
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
