import { SNAPSHOT_HISTORY_ENTRIES_MAX, SNAPSHOTS_KEPT_MAX } from '../limits.js';
import { type Delta, type History, historyOf } from './differences.js';
import type { SnapshotImage } from './image.js';
import type { Beside } from './image-layout.js';
import { DIGEST_BYTES, type PastRecords, pastRecordCount } from './past-records.js';
import { Snapshot } from './snapshot.js';

/** The earlier publications in a snapshot file, so that `since` survives a restart. */
export interface KeptPublications {
  /** The publication of the image. */
  readonly sequence: number;
  /** The last delta leads to the image. */
  readonly deltas: readonly Delta[];
}

/** Raise this number with every change of the stored form. */
const VERSION = 1;
/** Later publications count from the stored sequence, so some room is left. */
const SEQUENCE_MAX = 2 ** 52;
const SNAPSHOT_ID = /^[\w-]{22}$/;
const ARRAYS_PER_DELTA = 3;

interface StoredDelta extends Pick<Delta, 'from' | 'to' | 'added' | 'removed' | 'changed'> {
  /** Index of the first of the delta's three arrays: ids, places of the ids, and digests. */
  readonly first: number;
}

/** Adds the publications to the other additions of a snapshot file. */
export function withPublications(others: Beside | null, { sequence, deltas }: KeptPublications): Beside {
  const arrays = [...(others?.arrays ?? [])];
  const stored: StoredDelta[] = [];
  for (const { before, ...delta } of deltas) {
    if (before === null) continue;
    stored.push({ ...delta, first: arrays.length });
    arrays.push(before.ids, before.idStart, before.digests);
  }
  return { meta: { ...others?.meta, publications: { version: VERSION, sequence, deltas: stored } }, arrays };
}

/** Null if the file has no publications (early files have none), or if they do not lead to its image. */
export function publicationsOf(
  beside: Beside | null,
  image: SnapshotImage,
): { readonly sequence: number; readonly history: History | null } | null {
  const { publications } = (beside?.meta ?? {}) as { readonly publications?: unknown };
  if (beside === null || typeof publications !== 'object' || publications === null) return null;
  const { version, sequence, deltas } = publications as Readonly<Record<string, unknown>>;
  const isSequence = Number.isSafeInteger(sequence) && Number(sequence) > 0;
  if (version !== VERSION || !isSequence || Number(sequence) > SEQUENCE_MAX) return null;
  return { sequence: Number(sequence), history: historyOfStored(deltas, beside.arrays, image) };
}

function historyOfStored(stored: unknown, arrays: Beside['arrays'], image: SnapshotImage): History | null {
  const deltas = deltasOfStored(stored, arrays, image.summary.id);
  if (deltas === null || deltas.length === 0) return null;
  try {
    return historyOf(deltas, new Snapshot(image));
  } catch {
    // The rows are damaged. The check of the rows, which comes later, reports this.
    return null;
  }
}

/**
 * @param id of the image to which the last delta leads. @returns null if the deltas do not lead to this
 * image, or are too many
 */
export function deltasOfStored(
  stored: unknown,
  arrays: Beside['arrays'],
  id: string,
): readonly Delta[] | null {
  if (!Array.isArray(stored) || stored.length > SNAPSHOTS_KEPT_MAX) return null;
  const deltas: Delta[] = [];
  let entries = 0;
  for (const each of stored as unknown[]) {
    const delta = deltaOf(each, arrays);
    if (delta === null || (deltas.length > 0 && deltas.at(-1)?.to !== delta.from)) return null;
    entries += pastRecordCount(delta.before);
    deltas.push(delta);
  }
  const leadsThere = deltas.length === 0 || deltas.at(-1)?.to === id;
  return leadsThere && entries <= SNAPSHOT_HISTORY_ENTRIES_MAX ? deltas : null;
}

function deltaOf(value: unknown, arrays: Beside['arrays']): Delta | null {
  if (typeof value !== 'object' || value === null) return null;
  const { from, to, added, removed, changed, first } = value as Readonly<Record<keyof StoredDelta, unknown>>;
  const areIds = [from, to].every((id) => typeof id === 'string' && SNAPSHOT_ID.test(id));
  const areCounts = [added, removed, changed, first].every((n) => Number.isSafeInteger(n) && Number(n) >= 0);
  if (!areIds || !areCounts) return null;
  const place = Number(first);
  const [ids, idStart, digests] = arrays.slice(place, place + ARRAYS_PER_DELTA);
  if (!(ids instanceof Uint8Array && idStart instanceof Uint32Array && digests instanceof Uint8Array))
    return null;
  const before: PastRecords = { ids, idStart, digests };
  if (!areRecords(before)) return null;
  const counts = { added: Number(added), removed: Number(removed), changed: Number(changed) };
  return { from: String(from), to: String(to), ...counts, before };
}

function areRecords({ ids, idStart, digests }: PastRecords): boolean {
  if (idStart.length === 0 || idStart[0] !== 0 || idStart.at(-1) !== ids.length) return false;
  if (idStart.some((start, n) => n > 0 && start < idStart[n - 1]!)) return false;
  return digests.length === (idStart.length - 1) * DIGEST_BYTES;
}
