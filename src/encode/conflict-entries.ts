import build, { type Schema } from 'fast-json-stringify';
import { BODY_WHOLE_BYTES_MAX } from '../limits.js';
import type { ConflictEntry } from '../model/event.js';
import { CONFLICT_ENTRY_SCHEMA } from '../model/schemas.js';
import { formatInstant } from '../model/time.js';
import { Selection } from '../query/selection.js';
import type { Clusters } from '../snapshot/cluster-reader.js';
import type { Rows } from '../snapshot/rows.js';
import { allocateBody, type Body, madeBody } from './body.js';
import { copyJsonRows, jsonRowPieces } from './json.js';
import { arrayHeader, copyMessagePackRows, packedRowPieces, packPlain } from './msgpack.js';
import { type Piece, slicedBody } from './slices.js';

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const CLOSING_BRACE = 0x7d;
const COMMA = 0x2c;
const BETWEEN_ENTRIES = Buffer.from(']},');
const BEHIND_LAST_ENTRY = Buffer.from(']}]');

const serialiseEntry: (entry: ConflictEntry) => string = build(CONFLICT_ENTRY_SCHEMA as unknown as Schema);

function emptyEntry(clusters: Clusters, cluster: number): ConflictEntry {
  const { by, key, startMs, endMs } = clusters.keyOf(cluster);
  const peak = clusters.image.peak[cluster]!;
  return { by, key, startTime: formatInstant(startMs), endTime: formatInstant(endMs), peak, events: [] };
}

/** `{…,"events":[` of an entry: the closing bracket and brace come behind the rows. */
function jsonHead(clusters: Clusters, cluster: number): string {
  return serialiseEntry(emptyEntry(clusters, cluster)).slice(0, -2);
}

/** The given clusters as one JSON array of conflict entries. */
export function jsonConflicts(rows: Rows, clusters: Clusters, wanted: Uint32Array): Body {
  let byteLength = 1 + Math.max(1, wanted.length);
  for (const cluster of wanted) byteLength += clusters.image.jsonBytes[cluster]!;
  if (byteLength > BODY_WHOLE_BYTES_MAX) {
    return slicedBody(byteLength, () => jsonEntryPieces(rows, clusters, wanted));
  }
  const target = allocateBody(byteLength);
  target[0] = OPENING_BRACKET;
  let at = 1;
  for (const cluster of wanted) {
    at += target.write(jsonHead(clusters, cluster), at, 'utf8');
    at = copyJsonRows(rows, Selection.ofList(clusters.eventsOf(cluster)), target, at);
    // In place of the comma behind the last row.
    target[at - 1] = CLOSING_BRACKET;
    target[at++] = CLOSING_BRACE;
    target[at++] = COMMA;
  }
  if (wanted.length > 0) expectEnd(at, byteLength);
  target[byteLength - 1] = CLOSING_BRACKET;
  return madeBody(target);
}

/** Memory that was not written to must not be sent. */
function expectEnd(at: number, byteLength: number): void {
  if (at !== byteLength) throw new Error('the entries of conflicts have other lengths than are told of them');
}

function* jsonEntryPieces(rows: Rows, clusters: Clusters, wanted: Uint32Array): Generator<Piece> {
  let opening = Buffer.from('[');
  for (const cluster of wanted) {
    yield opening;
    yield Buffer.from(jsonHead(clusters, cluster), 'utf8');
    yield* jsonRowPieces(rows, Selection.ofList(clusters.eventsOf(cluster)));
    opening = BETWEEN_ENTRIES;
  }
  yield BEHIND_LAST_ENTRY;
}

/** The given clusters as one MessagePack array of maps. */
export function messagePackConflicts(rows: Rows, clusters: Clusters, wanted: Uint32Array): Body {
  const header = arrayHeader(wanted.length);
  let byteLength = header.length;
  for (const cluster of wanted) byteLength += clusters.image.packedBytes[cluster]!;
  if (byteLength > BODY_WHOLE_BYTES_MAX) {
    return slicedBody(byteLength, () => packedEntryPieces(rows, clusters, wanted));
  }
  const target = allocateBody(byteLength);
  let at = header.copy(target);
  for (const cluster of wanted) {
    const events = Selection.ofList(clusters.eventsOf(cluster));
    const head = packedHead(clusters, cluster, events);
    target.set(head, at);
    at = copyMessagePackRows(rows, events, target, at + head.length);
  }
  expectEnd(at, byteLength);
  return madeBody(target);
}

/** The map of an entry up to the rows, with the header of their array. */
function packedHead(clusters: Clusters, cluster: number, events: Selection): Uint8Array {
  const head = packPlain(emptyEntry(clusters, cluster));
  // In place of the header of the empty array.
  return Buffer.concat([head.subarray(0, -1), arrayHeader(events.count)]);
}

function* packedEntryPieces(rows: Rows, clusters: Clusters, wanted: Uint32Array): Generator<Piece> {
  yield arrayHeader(wanted.length);
  for (const cluster of wanted) {
    const events = Selection.ofList(clusters.eventsOf(cluster));
    yield packedHead(clusters, cluster, events);
    yield* packedRowPieces(rows, events);
  }
}
