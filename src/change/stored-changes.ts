/** The publications in a snapshot file, so that `since` survives a restart. */
import type { SnapshotImage } from '../snapshot/image.js';
import type { Beside } from '../snapshot/image-layout.js';
import { Snapshot } from '../snapshot/snapshot.js';
import { type Change, decodeChanges, encodeChanges, SEQUENCE_MAX } from './change.js';
import { type History, historyOf, leadTo } from './history.js';

export interface KeptPublications {
  /** The publication of the image. */
  readonly sequence: number;
  /** The last change leads to the image. */
  readonly changes: readonly Change[];
}

/** Adds the publications to the other additions of a snapshot file. */
export function withPublications(others: Beside | null, { sequence, changes }: KeptPublications): Beside {
  const arrays = [...(others?.arrays ?? []), encodeChanges(changes)];
  return { meta: { ...others?.meta, sequence }, arrays };
}

/** Null if the file has no publications. */
export function publicationsOf(
  beside: Beside | null,
  image: SnapshotImage,
): { readonly sequence: number; readonly history: History | null } | null {
  const { sequence } = (beside?.meta ?? {}) as { readonly sequence?: unknown };
  const bytes = beside?.arrays.at(-1);
  if (!Number.isSafeInteger(sequence) || Number(sequence) <= 0 || Number(sequence) > SEQUENCE_MAX)
    return null;
  return { sequence: Number(sequence), history: historyOfStored(bytes, image) };
}

function historyOfStored(bytes: unknown, image: SnapshotImage): History | null {
  try {
    const changes = bytes instanceof Uint8Array ? decodeChanges(bytes) : [];
    if (changes.length === 0 || !leadTo(changes, image.summary.id)) return null;
    return historyOf(changes, new Snapshot(image));
  } catch {
    // The rows are damaged. The check of the rows, which comes later, reports this.
    return null;
  }
}
