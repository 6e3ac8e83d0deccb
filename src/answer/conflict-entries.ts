import type { Schema } from 'fast-json-stringify';
import build from 'fast-json-stringify';
import type { ConflictEntry } from '../model/event.js';
import { CONFLICT_ENTRY_SCHEMA } from '../model/schemas.js';
import { formatInstant } from '../model/time.js';
import type { Clusters } from '../snapshot/cluster-reader.js';
import { packedArrayHeaderLength, type Rows } from '../snapshot/rows.js';
import type { MeasuredBody } from './body.js';
import { jsonRowPieces } from './json.js';
import { arrayHeader, packedRowPieces, packPlain } from './msgpack.js';
import { Selection } from './selection.js';
import { bodyOfPieces, type Piece } from './slices.js';

const serialiseEntry: (entry: ConflictEntry) => string = build(CONFLICT_ENTRY_SCHEMA as unknown as Schema);

function emptyEntry(clusters: Clusters, cluster: number): ConflictEntry {
  const { by, key, startMs, endMs } = clusters.keyOf(cluster);
  const peak = clusters.image.peak[cluster]!;
  return { by, key, startTime: formatInstant(startMs), endTime: formatInstant(endMs), peak, events: [] };
}

export function jsonConflicts(rows: Rows, clusters: Clusters, wanted: Uint32Array): MeasuredBody {
  let byteLength = 1 + Math.max(1, wanted.length);
  for (const cluster of wanted) byteLength += clusters.image.jsonBytes[cluster]!;
  return bodyOfPieces(byteLength, () => jsonEntryPieces(rows, clusters, wanted));
}

function* jsonEntryPieces(rows: Rows, clusters: Clusters, wanted: Uint32Array): Generator<Piece> {
  let opening = '[';
  for (const cluster of wanted) {
    // Rows go before the closing bracket and brace.
    const head = serialiseEntry(emptyEntry(clusters, cluster)).slice(0, -2);
    yield Buffer.from(opening + head, 'utf8');
    yield* jsonRowPieces(rows, Selection.ofList(clusters.eventsOf(cluster)));
    opening = ']},';
  }
  yield Buffer.from(wanted.length === 0 ? '[]' : ']}]');
}

export function messagePackConflicts(rows: Rows, clusters: Clusters, wanted: Uint32Array): MeasuredBody {
  let byteLength = packedArrayHeaderLength(wanted.length);
  for (const cluster of wanted) byteLength += clusters.image.packedBytes[cluster]!;
  return bodyOfPieces(byteLength, () => packedEntryPieces(rows, clusters, wanted));
}

function* packedEntryPieces(rows: Rows, clusters: Clusters, wanted: Uint32Array): Generator<Piece> {
  yield arrayHeader(wanted.length);
  for (const cluster of wanted) {
    const events = Selection.ofList(clusters.eventsOf(cluster));
    // The header of the empty array is replaced.
    yield packPlain(emptyEntry(clusters, cluster)).subarray(0, -1);
    yield arrayHeader(events.count);
    yield* packedRowPieces(rows, events);
  }
}
