import { BODY_WHOLE_BYTES_MAX } from '../limits.js';
import { Selection } from '../query/selection.js';
import type { Difference, DifferenceList } from '../snapshot/differences.js';
import type { GoneIds } from '../snapshot/gone-ids.js';
import type { Rows } from '../snapshot/rows.js';
import { allocateBody, type Body, laterBody } from './body.js';
import { jsonRowPieces } from './json.js';
import { arrayHeader, packedRowPieces, packPlain } from './msgpack.js';
import { gather, type Piece, slicedBody } from './slices.js';

/** What a difference leads to. */
interface Present {
  readonly rows: Rows;
  readonly summary: { readonly id: string };
}

/** One list of a difference in one representation. */
interface List {
  /** What stands before its entries. */
  readonly opening: Uint8Array;
  readonly byteLength: number;
  pieces(): Iterable<Piece>;
}

/** What changed, as one JSON object: from, to, added, changed, removed. Nothing is made before it is asked for. */
export function jsonChanges({ rows, summary }: Present, difference: Difference, goneIds: GoneIds): Body {
  const { from, added, changed, removed } = difference;
  const ends = JSON.stringify({ from, to: summary.id }).slice(0, -1);
  const list = (opening: string, of: DifferenceList, texts: GoneIds['json']): List => ({
    opening: Buffer.from(opening, 'utf8'),
    byteLength: of.jsonBytes,
    pieces: () => jsonRowPieces(texts, selectionOf(of)),
  });
  return bodyOf(
    [
      list(`${ends},"added":[`, added, rows),
      list('],"changed":[', changed, rows),
      list('],"removed":[', removed, goneIds.json),
    ],
    JSON_CLOSING,
  );
}

const JSON_CLOSING = Buffer.from(']}');
const MAP_OF_FIVE = 0x85;

/** The same as a MessagePack map. */
export function messagePackChanges(
  { rows, summary }: Present,
  difference: Difference,
  goneIds: GoneIds,
): Body {
  const { from, added, changed, removed } = difference;
  const ends = ['from', from, 'to', summary.id].map(packPlain);
  const list = (name: string, before: readonly Uint8Array[], of: DifferenceList): Omit<List, 'pieces'> => ({
    opening: Buffer.concat([...before, packPlain(name), arrayHeader(of.entries.length)]),
    byteLength: of.packedBytes,
  });
  return bodyOf(
    [
      {
        ...list('added', [Uint8Array.of(MAP_OF_FIVE), ...ends], added),
        pieces: () => packedRowPieces(rows, selectionOf(added)),
      },
      { ...list('changed', [], changed), pieces: () => packedRowPieces(rows, selectionOf(changed)) },
      { ...list('removed', [], removed), pieces: () => packedIdPieces(goneIds, selectionOf(removed)) },
    ],
    NOTHING,
  );
}

const NOTHING = new Uint8Array(0);

function* packedIdPieces({ packed }: GoneIds, selection: Selection): Generator<Uint8Array> {
  const { bytes, start } = packed;
  for (const [first, end] of selection.runs()) yield bytes.subarray(start[first]!, start[end]!);
}

function selectionOf({ entries }: DifferenceList): Selection {
  return Selection.ofList(entries);
}

function bodyOf(lists: readonly List[], closing: Uint8Array): Body {
  let byteLength = closing.length;
  for (const list of lists) byteLength += list.opening.length + list.byteLength;
  function* pieces(): Generator<Piece> {
    for (const list of lists) {
      yield list.opening;
      yield* list.pieces();
    }
    yield closing;
  }
  return byteLength > BODY_WHOLE_BYTES_MAX
    ? slicedBody(byteLength, pieces)
    : laterBody(byteLength, () => gather(pieces(), allocateBody(byteLength)));
}
