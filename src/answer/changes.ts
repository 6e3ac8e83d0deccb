import { BODY_SLICE_BYTES } from '../base/limits.js';
import type { Difference, DifferenceList, Differences, RemovedIds } from '../change/history.js';
import type { Rows } from '../snapshot/rows.js';
import type { MeasuredBody } from './body.js';
import { arrayHeader, packPlain, writeMessagePackRow } from './msgpack.js';
import { Selection } from './selection.js';
import { bodyOfPieces, type Piece } from './slices.js';

interface PresentRows {
  readonly rows: Rows;
  readonly summary: { readonly id: string };
}

interface List {
  readonly opening: Uint8Array;
  readonly byteLength: number;
  pieces(): Iterable<Piece>;
}

/** The rows of changed and removed events as they were, as far as they are known. */
export function earlierRows({ earlier }: Difference, { earlierRows: kept }: Differences): readonly Buffer[] {
  return Array.from({ length: earlier.length / 2 }, (_, n) => {
    const { bytes, start } = kept[earlier[2 * n]!]!;
    const row = earlier[2 * n + 1]!;
    return Buffer.from(bytes.buffer, bytes.byteOffset + start[row]!, start[row + 1]! - start[row]!);
  });
}

/**
 * A JSON object with from, to, added, changed and removed, made on demand.
 *
 * @param before a further member with these rows; null for none
 */
export function jsonChanges(
  { rows, summary }: PresentRows,
  difference: Difference,
  removedIds: RemovedIds,
  before: readonly Buffer[] | null,
): MeasuredBody {
  const { from, added, changed, removed } = difference;
  const ends = JSON.stringify({ from, to: summary.id }).slice(0, -1);
  const list = (opening: string, of: DifferenceList, { bytes, start }: PackedEntries): List => ({
    opening: Buffer.from(opening, 'utf8'),
    byteLength: of.jsonBytes,
    pieces: () => entryPieces(of.entries, start, 1, copierOf({ bytes, start })),
  });
  return bodyOf(
    [
      list(`${ends},"added":[`, added, rows),
      list('],"changed":[', changed, rows),
      list('],"removed":[', removed, removedIds.json),
    ],
    before === null ? JSON_CLOSING : Buffer.from(`],"earlier":[${before.join()}]}`, 'utf8'),
  );
}

const JSON_CLOSING = Buffer.from(']}');
const [MAP_OF_FIVE, MAP_OF_SIX] = [0x85, 0x86];

export function messagePackChanges(
  { rows, summary }: PresentRows,
  difference: Difference,
  removedIds: RemovedIds,
  before: readonly Buffer[] | null,
): MeasuredBody {
  const { from, added, changed, removed } = difference;
  const header = Uint8Array.of(before === null ? MAP_OF_FIVE : MAP_OF_SIX);
  const ends = ['from', from, 'to', summary.id].map(packPlain);
  const list = (
    before: readonly Uint8Array[],
    name: string,
    of: DifferenceList,
    start: Uint32Array,
    write: WriteRun,
  ): List => ({
    opening: Buffer.concat([...before, packPlain(name), arrayHeader(of.entries.length)]),
    byteLength: of.packedBytes,
    pieces: () => entryPieces(of.entries, start, 0, write),
  });
  const writeRows: WriteRun = (first, end, target, offset) => {
    let at = offset;
    for (let ordinal = first; ordinal < end; ordinal++) at = writeMessagePackRow(rows, ordinal, target, at);
    return at;
  };
  return bodyOf(
    [
      list([header, ...ends], 'added', added, rows.packedStart, writeRows),
      list([], 'changed', changed, rows.packedStart, writeRows),
      list([], 'removed', removed, removedIds.packed.start, copierOf(removedIds.packed)),
    ],
    before === null
      ? NOTHING
      : Buffer.concat(
          ['earlier', before.map((row) => JSON.parse(row.toString('utf8')) as object)].map(packPlain),
        ),
  );
}

const NOTHING = new Uint8Array(0);

/** Entry n is bytes [start[n], start[n + 1]). */
interface PackedEntries {
  readonly bytes: Uint8Array;
  readonly start: Uint32Array;
}

/** Writes entries [first, end) and returns the offset after them. */
type WriteRun = (first: number, end: number, target: Buffer, offset: number) => number;

function copierOf({ bytes, start }: PackedEntries): WriteRun {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return (first, end, target, offset) => offset + source.copy(target, offset, start[first]!, start[end]!);
}

/**
 * Entries in pieces of about one slice, without allocating memory for each entry; `start` gives their
 * lengths.
 *
 * @param cut bytes to remove from the last entry: its comma
 */
function* entryPieces(
  entries: Uint32Array,
  start: Uint32Array,
  cut: number,
  write: WriteRun,
): Generator<Piece> {
  // Terminates: `to` > `from`.
  for (let from = 0, to = 0; from < entries.length; from = to) {
    let byteLength = 0;
    for (to = from; to < entries.length; to++) {
      const entryBytes = start[entries[to]! + 1]! - start[entries[to]!]!;
      if (to > from && byteLength + entryBytes > BODY_SLICE_BYTES) break;
      byteLength += entryBytes;
    }
    const run = Selection.ofList(entries.subarray(from, to));
    if (to === entries.length) byteLength -= cut;
    yield {
      byteLength,
      write(target, offset) {
        const room = target.subarray(offset, offset + byteLength);
        let at = 0;
        run.forEachRun((first, end) => {
          at = write(first, end, room, at);
        });
      },
    };
  }
}

function bodyOf(lists: readonly List[], closing: Uint8Array): MeasuredBody {
  let byteLength = closing.length;
  for (const list of lists) byteLength += list.opening.length + list.byteLength;
  function* pieces(): Generator<Piece> {
    for (const list of lists) {
      yield list.opening;
      yield* list.pieces();
    }
    yield closing;
  }
  return bodyOfPieces(byteLength, pieces);
}
