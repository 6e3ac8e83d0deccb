import build, { type Schema } from 'fast-json-stringify';
import type { ConflictEntry } from '../model/event.js';
import { CONFLICT_ENTRY_SCHEMA } from '../model/schemas.js';
import { formatInstant } from '../model/time.js';
import { Selection } from '../query/selection.js';
import type { Clusters } from '../snapshot/cluster-reader.js';
import type { Rows } from '../snapshot/rows.js';
import type { Body } from './body.js';
import { copyJsonRows, jsonRowsLength } from './json.js';
import { ARRAY_HEADER_BYTES_MAX, copyMessagePackRows, packPlain, writeArrayHeader } from './msgpack.js';

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const CLOSING_BRACE = 0x7d;
const COMMA = 0x2c;

const serialiseEntry: (entry: ConflictEntry) => string = build(CONFLICT_ENTRY_SCHEMA as unknown as Schema);

/** An entry without its events. */
function headOf(clusters: Clusters, cluster: number): Omit<ConflictEntry, 'events'> {
  const { by, key, startMs, endMs } = clusters.keyOf(cluster);
  return {
    by,
    key,
    startTime: formatInstant(startMs),
    endTime: formatInstant(endMs),
    peak: clusters.peakOf(cluster),
  };
}

/** The given clusters as one JSON array of conflict entries; their events are copied from the rows. */
export function jsonConflicts(rows: Rows, clusters: Clusters, wanted: Uint32Array): Body {
  const heads: Buffer[] = [];
  let byteLength = wanted.length === 0 ? 2 : 1;
  for (const cluster of wanted) {
    const entry = serialiseEntry({ ...headOf(clusters, cluster), events: [] });
    // `…,"events":[` : the closing bracket and brace come behind the rows.
    const head = Buffer.from(entry.slice(0, -2), 'utf8');
    heads.push(head);
    // The comma behind the last row is where the closing bracket goes; brace and comma follow.
    byteLength += head.length + jsonRowsLength(rows, Selection.ofList(clusters.eventsOf(cluster))) + 2;
  }
  const target = Buffer.allocUnsafe(byteLength);
  target[0] = OPENING_BRACKET;
  let at = 1;
  for (let i = 0; i < wanted.length; i++) {
    at += heads[i]?.copy(target, at) ?? 0;
    at = copyJsonRows(rows, Selection.ofList(clusters.eventsOf(wanted[i] ?? 0)), target, at);
    target[at - 1] = CLOSING_BRACKET;
    target[at++] = CLOSING_BRACE;
    target[at++] = COMMA;
  }
  target[byteLength - 1] = CLOSING_BRACKET;
  return { byteLength, chunks: [target] };
}

const ENTRY_MAP = 0x86;

/** The given clusters as one MessagePack array of maps. */
export function messagePackConflicts(rows: Rows, clusters: Clusters, wanted: Uint32Array): Body {
  const chunks: Uint8Array[] = [];
  const header = Buffer.allocUnsafe(ARRAY_HEADER_BYTES_MAX);
  chunks.push(header.subarray(0, writeArrayHeader(header, 0, wanted.length)));
  for (const cluster of wanted) {
    chunks.push(Buffer.from([ENTRY_MAP]));
    for (const [name, value] of Object.entries(headOf(clusters, cluster))) {
      chunks.push(packPlain(name), packPlain(value));
    }
    chunks.push(packPlain('events'));
    const selection = Selection.ofList(clusters.eventsOf(cluster));
    const target = Buffer.allocUnsafe(ARRAY_HEADER_BYTES_MAX + jsonRowsLength(rows, selection));
    const end = copyMessagePackRows(rows, selection, target, writeArrayHeader(target, 0, selection.count));
    chunks.push(target.subarray(0, end));
  }
  const body = Buffer.concat(chunks);
  return { byteLength: body.length, chunks: [body] };
}
