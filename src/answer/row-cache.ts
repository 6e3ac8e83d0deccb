import { KEY_ROWS_BYTES_MAX } from '../base/limits.js';
import { NO_CODE } from '../base/structures/dictionary.js';
import type { FieldChange } from '../snapshot/field-changes.js';
import type { Rows } from '../snapshot/rows.js';
import type { FieldIndex } from '../snapshot/snapshot.js';
import { KeptRows } from './kept-rows.js';
import { LAYOUTS_MAX, type ListLayout, NO_ROOM, type RowLayout, scratchForRows } from './row-layout.js';
import { type ListPicks, type ListRef, Selection } from './selection.js';
import type { LazyPiece } from './slices.js';

/** How many lists in use an insertion passes, at most, to make room. */
const LISTS_PASSED_MAX = 8;
/** A list is in use for this many requests per list of the cache after each of its own. */
const REQUESTS_IN_USE_PER_LIST = 8;

/** All rows are kept in a format only if their JSON takes at most this share of the cache. */
const KEPT_ROWS_SHARE_MAX = 1 / 2;

/** Resident memory of a list besides its rows and offsets. */
const ENTRY_BYTES = 832;

/** The rows of a posting list: row n is bytes [start[n], start[n + 1]). */
interface KeyRows {
  readonly bytes: Buffer;
  readonly start: Uint32Array;
}

interface Bucket {
  readonly field: number;
  readonly layout: RowLayout;
  readonly entries: (CachedList | undefined)[];
  /** Rows gathered from the arena so far, by code. */
  readonly gathered: Uint32Array;
  /** The number of the request that gathered the first of them. */
  readonly gatheredSince: Float64Array;
}

interface CachedList {
  readonly bucket: Bucket;
  readonly code: number;
  readonly keyRows: KeyRows;
  readonly bytes: number;
  /** The number of the last request that used the list. */
  usedAt: number;
}

/**
 * Copies of the rows of posting lists, adjacent in memory: a window of a list takes one copy operation, and
 * its MessagePack rows are made once.
 *
 * A list is added when the number of its rows gathered so far reaches its length. So the cost is at most
 * twice the minimum. In a full cache, a new list takes the place of lists that no request has used since its
 * rows began to be gathered, nor in REQUESTS_IN_USE_PER_LIST requests for each kept list. So lists in use are not
 * exchanged for others like them, and lists of a format that nobody asks for any more soon leave. If there is no
 * room, the new list is not added, and its gathered rows are counted again from 0.
 */
export class RowCache {
  readonly #rows: Rows;
  readonly #bytesMax: number;
  #keptRows: (KeptRows | null)[] = [];
  #buckets: (Bucket | undefined)[] = [];
  #clock: CachedList[] = [];
  #hand = 0;
  #bytes = 0;
  hits = 0;
  misses = 0;

  constructor(rows: Rows, bytesMax: number) {
    this.#rows = rows;
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The number of the present request. */
  get #request(): number {
    return this.hits + this.misses;
  }

  get listCount(): number {
    return this.#clock.length;
  }

  /** Null if the caller must gather the rows from the arena. */
  pick(selection: Selection, layout: RowLayout): LazyPiece | null {
    const { origin } = selection;
    const lists = origin === null ? null : this.find(origin, layout, selection.count);
    if (origin === null || lists === null) return null;
    let byteLength = 0;
    selection.forEachPiece(origin, (list, from, to) => {
      const { start } = lists[list]!;
      byteLength += start[to]! - start[from]!;
    });
    return {
      byteLength,
      write(target, offset) {
        let at = offset;
        selection.forEachPiece(origin, (list, from, to) => {
          const { bytes, start } = lists[list]!;
          at += bytes.copy(target, at, start[from]!, start[to]!);
        });
      },
    };
  }

  /**
   * Null unless all lists of a result with `count` entries are kept. Adds at most one list, because adding
   * takes milliseconds.
   */
  find(origin: ListPicks, layout: RowLayout, count: number): KeyRows[] | null {
    const found: KeyRows[] = [];
    const request = this.#request;
    let mayAdd = true;
    for (const [n, list] of origin.lists.entries()) {
      const bucket = this.#bucketOf(list.field, layout);
      const entry = bucket.entries[list.code];
      if (entry !== undefined) {
        entry.usedAt = request;
        found.push(entry.keyRows);
        continue;
      }
      if (bucket.gathered[list.code] === 0) bucket.gatheredSince[list.code] = request;
      bucket.gathered[list.code]! += entriesOf(origin, n, count);
      if (!mayAdd || bucket.gathered[list.code]! < list.field.postingCount(list.code)) continue;
      mayAdd = false;
      const added = this.#add(bucket, list);
      if (added !== null) found.push(added);
    }
    const isHit = found.length === origin.lists.length;
    if (isHit) this.hits++;
    else this.misses++;
    return isHit ? found : null;
  }

  /** Takes unchanged lists from the cache of an earlier snapshot, which is then empty. */
  takeOver(before: RowCache, changes: readonly FieldChange[]): void {
    for (const { bucket, code, keyRows, bytes } of before.#clock) {
      if (bucket.layout.isOfSnapshot || this.#bytes + bytes > this.#bytesMax) continue;
      const change = changes[bucket.field]!;
      const present = this.#bucketOf(change.after, bucket.layout);
      const codeAfter = change.codeAfter(code);
      if (codeAfter === NO_CODE) continue;
      if (!change.hasSameList(code)) {
        // A list that was worth caching is made again by the next request for it.
        present.gathered[codeAfter] = change.after.postingCount(codeAfter);
        continue;
      }
      const entry = { bucket: present, code: codeAfter, keyRows, bytes, usedAt: 0 };
      present.entries[codeAfter] = entry;
      this.#clock.push(entry);
      this.#bytes += bytes;
    }
    before.clear();
  }

  #bucketOf(field: FieldIndex, layout: RowLayout): Bucket {
    const place = LAYOUTS_MAX * field.number + layout.number;
    const { size } = field.dictionary;
    this.#buckets[place] ??= {
      field: field.number,
      layout,
      entries: new Array(size).fill(undefined),
      gathered: new Uint32Array(size),
      gatheredSince: new Float64Array(size),
    };
    return this.#buckets[place];
  }

  /** Null if the list is too long or there is no room. Room is made before rows are written: writing costs more than looking. */
  #add(bucket: Bucket, { field, code }: ListRef): KeyRows | null {
    const rows = this.#rows;
    const since = bucket.gatheredSince[code]!;
    bucket.gathered[code] = 0;
    const ordinals = field.postings.subarray(field.start[code]!, field.start[code + 1]!);
    const besides = ENTRY_BYTES + Uint32Array.BYTES_PER_ELEMENT * (ordinals.length + 1);
    const bytesMax = Math.min(KEY_ROWS_BYTES_MAX, this.#bytesMax - besides);
    const start = new Uint32Array(ordinals.length + 1);
    const layout = layoutAmong(bucket.layout, ordinals);
    // Rows without known lengths are about as long as their JSON.
    const isFitting = addLengths(rows[layout.sums ?? 'start'], ordinals, start, bytesMax);
    if (!isFitting || !this.#makeRoom(besides + start[ordinals.length]!, since)) return null;
    rows.readAhead(ordinals);
    const written = layout.sums === null ? writeUnmeasured(rows, ordinals, layout, start) : null;
    if (layout.sums === null && written === null) return null;
    const rowBytes = start[ordinals.length]!;
    const bytes = besides + rowBytes;
    if (rowBytes > bytesMax || !this.#makeRoom(bytes, since)) return null;
    const keyRows = { bytes: Buffer.allocUnsafeSlow(rowBytes), start };
    if (written !== null) written.copy(keyRows.bytes, 0, 0, rowBytes);
    else {
      let at = 0;
      for (const ordinal of ordinals) at = layout.write(rows, ordinal, keyRows.bytes, at);
    }
    const entry = { bucket, code, keyRows, bytes, usedAt: this.#request };
    bucket.entries[code] = entry;
    this.#clock.push(entry);
    this.#bytes += bytes;
    return keyRows;
  }

  /** Drops lists that are not in use. @param since requests from this number on use their lists */
  #makeRoom(bytes: number, since = Number.POSITIVE_INFINITY): boolean {
    const inUseFrom = Math.min(since, this.#request - REQUESTS_IN_USE_PER_LIST * this.#clock.length);
    let passed = 0;
    // Terminates: each round drops a list or passes one.
    while (this.#bytes + bytes > this.#bytesMax) {
      if (passed === LISTS_PASSED_MAX || this.#clock.length === 0) return false;
      if (this.#hand >= this.#clock.length) this.#hand = 0;
      const entry = this.#clock[this.#hand]!;
      if (entry.usedAt >= inUseFrom) {
        passed++;
        this.#hand++;
        continue;
      }
      entry.bucket.entries[entry.code] = undefined;
      this.#bytes -= entry.bytes;
      const last = this.#clock.pop();
      if (last !== undefined && last !== entry) this.#clock[this.#hand] = last;
    }
    return true;
  }

  /** The kept rows of all events, started by the first request; null if they may take more than half of the cache. */
  keptRows(layout: ListLayout): KeptRows | null {
    const kept = this.#keptRows[layout.number];
    if (kept !== undefined) return kept;
    const isSmall = this.#rows.bytes.length <= this.#bytesMax * KEPT_ROWS_SHARE_MAX;
    const begun = isSmall ? new KeptRows(this.#rows, layout, (bytes) => this.#reserve(bytes)) : null;
    this.#keptRows[layout.number] = begun;
    return begun;
  }

  #reserve(bytes: number): boolean {
    if (!this.#makeRoom(bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Lists in use stay valid. */
  clear(): void {
    this.#keptRows = [];
    this.#buckets = [];
    this.#clock = [];
    this.#hand = 0;
    this.#bytes = 0;
  }
}

function layoutAmong(layout: RowLayout, ordinals: Uint32Array): RowLayout {
  return ('among' in layout && layout.among?.(Selection.ofList(ordinals))) || layout;
}

/** Fills `start`. Returns false if the rows have more than `bytesMax` bytes. */
function addLengths(sums: Uint32Array, ordinals: Uint32Array, start: Uint32Array, bytesMax: number): boolean {
  for (let n = 0; n < ordinals.length; n++) {
    start[n + 1] = start[n]! + sums[ordinals[n]! + 1]! - sums[ordinals[n]!]!;
    if (start[n + 1]! > bytesMax) return false;
  }
  return true;
}

/** Fills `start`. Returns the bytes, in scratch memory, or null if there are too many. */
function writeUnmeasured(
  rows: Rows,
  ordinals: Uint32Array,
  layout: ListLayout,
  start: Uint32Array,
): Buffer | null {
  const target = scratchForRows();
  let at = 0;
  for (let n = 0; n < ordinals.length; n++) {
    at = layout.write(rows, ordinals[n]!, target, at);
    if (at === NO_ROOM) return null;
    start[n + 1] = at;
  }
  return target;
}

function entriesOf({ listOf }: ListPicks, list: number, count: number): number {
  if (listOf === null) return count;
  let entries = 0;
  for (const from of listOf) if (from === list) entries++;
  return entries;
}
