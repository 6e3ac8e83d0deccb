/** The history that a publisher announces with an image, so that all replicas answer /schedule/changes alike. */
import { pack, unpack } from 'msgpackr';
import { SNAPSHOT_HISTORY_ENTRIES_MAX } from '../limits.js';
import { type Delta, newestDeltas } from './differences.js';
import type { SnapshotImage } from './image.js';
import { type PastRecord, readPastRecords, rowDigest, writePastRecords } from './past-records.js';
import { Snapshot } from './snapshot.js';
import { deltasOfStored, withPublications } from './stored-history.js';

/**
 * Raise this number with every change of the form. Replicas of other versions then keep a history of their
 * own.
 */
const VERSION = 1;
/** 200,000 entries of 250 bytes. If ids are UUIDs, 200,000 entries take 10 MB. */
const ANNOUNCED_HISTORY_BYTES_MAX = 50 * 2 ** 20;

/** Null if the history is too long to be announced. */
export function writeAnnouncedHistory(deltas: readonly Delta[]): Buffer | null {
  const { meta, arrays } = withPublications(null, { sequence: VERSION, deltas });
  const bytes = arrays.map((each) => Buffer.from(each.buffer, each.byteOffset, each.byteLength));
  const packed = pack({ version: VERSION, ...meta, arrays: bytes });
  return packed.length <= ANNOUNCED_HISTORY_BYTES_MAX ? packed : null;
}

/** @param id of the image to which the history leads. @returns null for bytes that are no such history */
export function readAnnouncedHistory(bytes: Uint8Array, id: string): readonly Delta[] | null {
  try {
    const { version, publications, arrays } = unpack(bytes) as Partial<Record<string, unknown>>;
    const { deltas } = publications as { readonly deltas?: unknown };
    if (version !== VERSION || !Array.isArray(arrays)) return null;
    return deltasOfStored(deltas, (arrays as Uint8Array[]).map(sharedArray), id);
  } catch {
    return null;
  }
}

/**
 * Of a delta's three arrays, the second holds the places of the ids in the first. Threads share the arrays.
 */
function sharedArray(bytes: Uint8Array, n: number): Uint8Array | Uint32Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return n % 3 === 1 ? new Uint32Array(copy.buffer) : copy;
}

/**
 * The history of the announced images, with `present` as the next one. Null if the changes since the last
 * announcement are unknown.
 *
 * @param announced the history of the last announced image
 * @param lastId id of the last announced image
 * @param own publications of this process, whether announced or not
 */
export function nextAnnouncedHistory(
  announced: readonly Delta[],
  lastId: string,
  own: readonly Delta[],
  present: SnapshotImage,
): readonly Delta[] | null {
  if (lastId === present.summary.id) return announced;
  const first = own.findLastIndex(({ from }) => from === lastId);
  if (first === -1 || own.at(-1)?.to !== present.summary.id) return null;
  const step = joinedDelta(own.slice(first), present);
  return newestDeltas([...announced, step], SNAPSHOT_HISTORY_ENTRIES_MAX);
}

/** One delta with the net changes of several deltas, the last of which leads to `present`. */
function joinedDelta(deltas: readonly [Delta, ...Delta[]] | readonly Delta[], present: SnapshotImage): Delta {
  const [first] = deltas;
  if (first === undefined || deltas.length === 1) return first as Delta;
  const snapshot = new Snapshot(present);
  const earliest = new Map<string, string | null>();
  for (const { before } of deltas) {
    for (const [id, digest] of readPastRecords(before)) if (!earliest.has(id)) earliest.set(id, digest);
  }
  const counts = { added: 0, removed: 0, changed: 0 };
  const past: PastRecord[] = [];
  for (const [id, digest] of earliest) {
    const ordinal = snapshot.ordinalOf(id);
    const now = ordinal === -1 ? null : rowDigest(snapshot, ordinal);
    if (now === digest) continue;
    counts[digest === null ? 'added' : now === null ? 'removed' : 'changed']++;
    past.push([id, digest]);
  }
  const isKnown = deltas.every(({ before }) => before !== null);
  const before = isKnown ? writePastRecords(past) : null;
  return { from: first.from, to: present.summary.id, ...counts, before };
}
