/**
 * Folder change/. What one publication changes: one value and its bytes. Loads make changes, and histories, event
 * streams, replicas and the snapshot file read them. This folder knows neither sources nor requests.
 */
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { pack, unpack } from 'msgpackr';
import {
  CHANGE_BYTES_MAX,
  CHANGE_EVENTS_MAX,
  CHANGE_EVENTS_MIN,
  CHANGE_EVENTS_SHARE_MAX,
  EARLIER_ROWS_BYTES_MAX,
  EARLIER_ROWS_MAX,
} from '../base/limits.js';
import type { NormalisedEvent } from '../base/model/event.js';
import { FIELDS } from '../base/model/fields.js';
import { shared } from '../base/structures/slabs.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import type { SnapshotSummary } from '../snapshot/summary.js';

/** Number of events that differ from another snapshot. */
export interface ChangeCounts {
  /** Events that are new. */
  readonly added: number;
  /** Events that have other values. */
  readonly changed: number;
  /** Events that are gone. */
  readonly removed: number;
}

export function countsOf({ added, changed, removed }: ChangeCounts): ChangeCounts {
  return { added, changed, removed };
}

/** What one publication changed. Plain data, whose arrays threads share. */
export interface Change extends ChangeCounts {
  /** Id of the earlier snapshot. */
  readonly from: string;
  /** Id of the later snapshot. Equal to `from` if only values that no answer shows differ, or rejections. */
  readonly to: string;
  /** The sequence of the publication; 0 before it is published. */
  readonly sequence: number;
  /** The earlier rows of the events that differ; null if there are too many to keep. */
  readonly earlier: EarlierRows | null;
  /**
   * A packed {@link Edit}, from which `apply` makes the later image. Null if many events differ, so that reading the
   * image takes no longer, and in histories.
   */
  readonly edit: Uint8Array | null;
}

/** Events of an image to replace. All ids are canonical and distinct. */
export interface EventEdit {
  /** Events that replace the event with the same id, or are added. */
  readonly came: readonly NormalisedEvent[];
  /** Ids of events to remove; unknown ids are skipped. */
  readonly went: readonly string[];
}

export interface Edit extends EventEdit {
  /** The summary of the later image. */
  readonly summary: SnapshotSummary;
}

/** Flat data: a map of 100,000 entries takes 0.1 s to cross threads. */
export interface EarlierRows {
  /**
   * The ids of the events whose rows differ, then the ids of those that differ only in fields that no row shows. Id n
   * is UTF-8 bytes [idStart[n], idStart[n + 1]).
   */
  readonly ids: Uint8Array;
  readonly idStart: Uint32Array;
  /** DIGEST_BYTES for each event whose row differs: the digest of its earlier row, or zeros if there was none. */
  readonly digests: Uint8Array;
  /**
   * The JSON of the earlier rows, empty if there was none: row n is UTF-8 bytes [rowStart[n], rowStart[n + 1]). Null if
   * they have more than EARLIER_ROWS_BYTES_MAX.
   */
  readonly rows: { readonly bytes: Uint8Array; readonly start: Uint32Array } | null;
}

/** `digest` has DIGEST_BYTES latin1 characters; it is null if there was no row. */
export type EarlierRow = readonly [id: string, digest: string | null];

/** With 96 bits, two rows of one id never share a digest. */
const DIGEST_BYTES = 12;
const NO_DIGEST = '\0'.repeat(DIGEST_BYTES);

export function rowDigest(snapshot: Snapshot, ordinal: number): string {
  return hash('sha1', snapshot.rows.rowOf(ordinal), 'binary').slice(0, DIGEST_BYTES);
}

/**
 * @param before has the rows; null keeps none of them
 * @param hidden ids of events that differ only in fields that no row shows
 */
export function earlierRowsOf(
  before: Snapshot | null,
  rows: readonly EarlierRow[],
  hidden: readonly string[] = [],
): EarlierRows {
  const all = [...rows.map(([id]) => id), ...hidden];
  const ids = Buffer.from(all.join(''), 'utf8');
  const digests = Buffer.from(rows.map(([, digest]) => digest ?? NO_DIGEST).join(''), 'latin1');
  const idStart = shared.uint32(all.length + 1);
  for (const [n, id] of all.entries()) idStart[n + 1] = idStart[n]! + Buffer.byteLength(id, 'utf8');
  return { ids: sharedCopy(ids), idStart, digests: sharedCopy(digests), rows: keptRows(before, rows) };
}

function keptRows(before: Snapshot | null, rows: readonly EarlierRow[]): EarlierRows['rows'] {
  if (before === null || rows.length > EARLIER_ROWS_MAX) return null;
  const all = rows.map(([id, digest]) =>
    digest === null ? new Uint8Array(0) : before.rows.rowOf(before.ordinalOf(id)),
  );
  const start = shared.uint32(all.length + 1);
  for (const [n, { length }] of all.entries()) start[n + 1] = start[n]! + length;
  if (start[all.length]! > EARLIER_ROWS_BYTES_MAX) return null;
  return { bytes: sharedCopy(Buffer.concat(all.map(unsharedCopy))), start };
}

/** The number of events whose rows differ. */
export function earlierRowCount(rows: EarlierRows | null): number {
  return rows === null ? 0 : rows.digests.length / DIGEST_BYTES;
}

/** The ids of all events that differ. Null if there is a change that has no edit, since only edits name them all. */
export function differingIds(changes: readonly Change[]): string[] | null {
  const ids = new Set<string>();
  for (const { earlier, edit } of changes) {
    if (earlier === null || edit === null) return null;
    const bytes = bufferOf(earlier.ids);
    for (let n = 0; n + 1 < earlier.idStart.length; n++)
      ids.add(bytes.toString('utf8', earlier.idStart[n], earlier.idStart[n + 1]));
  }
  return [...ids];
}

/** Events whose rows differ, with their present ordinals. An event that is gone has the ordinal -1 and its id. */
export function* earlierRowsIn(
  rows: EarlierRows | null,
  present: Snapshot,
): Generator<readonly [ordinal: number, id: string, digest: string | null]> {
  if (rows === null) return;
  const { idStart } = rows;
  const ids = bufferOf(rows.ids);
  const find = present.ordinalsOf(ids);
  const digests = bufferOf(rows.digests).toString('latin1');
  for (let n = 0; n < earlierRowCount(rows); n++) {
    const [from, end] = [idStart[n]!, idStart[n + 1]!];
    const ordinal = find(from, end);
    const digest = digests.slice(n * DIGEST_BYTES, (n + 1) * DIGEST_BYTES);
    yield [
      ordinal,
      ordinal === -1 ? ids.toString('utf8', from, end) : '',
      digest === NO_DIGEST ? null : digest,
    ];
  }
}

/** Unlike a TextDecoder, a Buffer decodes shared memory. */
function bufferOf(bytes: Uint8Array | Uint32Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The native part of msgpackr ends the process when it reads shared memory. */
function unsharedCopy(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes);
}

export function sharedCopy(bytes: Uint8Array): Uint8Array {
  const copy = shared.uint8(bytes.length);
  copy.set(bytes);
  return copy;
}

/** Null if reading the whole image takes no longer than applying the edit. */
export function packEdit({ summary, came, went }: Edit): Uint8Array | null {
  const share = Math.floor(CHANGE_EVENTS_SHARE_MAX * summary.events);
  const eventsMax = Math.min(Math.max(share, CHANGE_EVENTS_MIN), CHANGE_EVENTS_MAX);
  if (came.length + went.length > eventsMax) return null;
  const rows = came.map((event) => FIELDS.map(({ name }) => event[name] ?? null));
  const packed = pack([summary, rows, went] satisfies PackedEdit);
  return packed.length <= CHANGE_BYTES_MAX ? sharedCopy(packed) : null;
}

export function unpackEdit(bytes: Uint8Array): Edit {
  const [summary, rows, went] = unpack(unsharedCopy(bytes)) as PackedEdit;
  const came = rows.map((row) => Object.fromEntries(FIELDS.map(({ name }, n) => [name, row[n]])));
  return { summary, came: came as unknown as NormalisedEvent[], went };
}

/** An event is a list of its values, in the order of the descriptor table. */
type PackedEdit = readonly [
  SnapshotSummary,
  readonly (readonly (string | number | null)[])[],
  readonly string[],
];

/** The format of changes. Others are refused. */
const FORMAT = 1;
const FRAME_BYTES = 8;

/**
 * Changes as bytes, one after the other:
 *
 * ```
 * 4 bytes   length of the content, little endian
 * 4 bytes   CRC-32 of the content
 * content   MessagePack: format, the change, version of the source
 * ```
 *
 * @param sourceVersion of the source after the changes, for a file; null if there is none
 */
export function encodeChanges(changes: readonly Change[], sourceVersion: string | null = null): Buffer {
  return Buffer.concat(changes.map((change) => encodeChange(change, sourceVersion)));
}

function encodeChange(change: Change, sourceVersion: string | null): Buffer {
  const { earlier, edit } = change;
  const packed = { ...change, earlier: earlier && packedRows(earlier), edit: edit && bufferOf(edit) };
  const content = pack([FORMAT, packed, sourceVersion] satisfies PackedChange);
  const frame = Buffer.alloc(FRAME_BYTES);
  frame.writeUInt32LE(content.length, 0);
  frame.writeUInt32LE(crc32(content), 4);
  return Buffer.concat([frame, content]);
}

/** As bytes, because MessagePack has no other typed arrays. */
function packedRows({ ids, idStart, digests, rows }: EarlierRows): PackedRows {
  return {
    ids: bufferOf(ids),
    idStart: bufferOf(idStart),
    digests: bufferOf(digests),
    rows: rows && { bytes: bufferOf(rows.bytes), start: bufferOf(rows.start) },
  };
}

/** @throws Error for bytes that are not changes */
export function decodeChanges(bytes: Uint8Array): Change[] {
  const { changes, byteLength } = decodeWholeChanges(bytes);
  if (byteLength < bytes.length) throw new Error('a change is damaged');
  return changes;
}

/**
 * The changes at the beginning of these bytes, and their length. The last writer may have been ended in the middle of
 * a change, so a change that is cut off or damaged ends the list.
 *
 * @throws Error for changes of another format
 */
export function decodeWholeChanges(bytes: Uint8Array): {
  readonly changes: Change[];
  readonly byteLength: number;
  /** Of the last change. */
  readonly sourceVersion: string | null;
} {
  const source = unsharedCopy(bytes);
  const changes: Change[] = [];
  let sourceVersion: string | null = null;
  let at = 0;
  while (source.length - at > FRAME_BYTES) {
    const end = at + FRAME_BYTES + source.readUInt32LE(at);
    const content = source.subarray(at + FRAME_BYTES, end);
    if (end > source.length || crc32(content) !== source.readUInt32LE(at + 4)) break;
    const values = unpack(content) as PackedChange;
    changes.push(changeOf(values));
    sourceVersion = values[2];
    at = end;
  }
  return { changes, byteLength: at, sourceVersion };
}

type PackedChange = readonly [
  format: number,
  change: Omit<Change, 'earlier'> & { readonly earlier: PackedRows | null },
  sourceVersion: string | null,
];

interface PackedRows extends Pick<EarlierRows, 'ids' | 'digests'> {
  readonly idStart: Uint8Array;
  readonly rows: { readonly bytes: Uint8Array; readonly start: Uint8Array } | null;
}

function changeOf([format, { earlier, edit, ...change }]: PackedChange): Change {
  if (format !== FORMAT)
    throw new Error(`a change has format ${format}; this version of Lectern reads ${FORMAT}`);
  return { ...change, earlier: earlier && earlierOf(earlier), edit: edit && sharedCopy(edit) };
}

function earlierOf({ ids, idStart, digests, rows }: PackedRows): EarlierRows {
  return {
    ids: sharedCopy(ids),
    idStart: placesIn(idStart),
    digests: sharedCopy(digests),
    rows: rows && { bytes: sharedCopy(rows.bytes), start: placesIn(rows.start) },
  };
}

function placesIn(bytes: Uint8Array): Uint32Array {
  const places = shared.uint32(bytes.length / Uint32Array.BYTES_PER_ELEMENT);
  bufferOf(places).set(bytes);
  return places;
}
