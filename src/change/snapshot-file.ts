/**
 * A snapshot file: an image, the changes before it, and the changes after it. So a small change adds kilobytes to the
 * file, `since` survives a restart, and a writer that is killed leaves a file that opens with its last whole change.
 */
import type { SnapshotImage } from '../snapshot/image.js';
import {
  appendToImageFile,
  type FilePlace,
  readImageFile,
  unusable,
  writeImageFile,
} from '../snapshot/image-file.js';
import type { StoredImage } from '../snapshot/image-layout.js';
import { Snapshot } from '../snapshot/snapshot.js';
import { apply } from './apply.js';
import { type Change, decodeWholeChanges, encodeChanges } from './change.js';
import { type History, historyOf, leadTo, newestChanges } from './history.js';

export interface SnapshotInFile extends StoredImage {
  /** Null if the file has none. */
  readonly history: History | null;
  readonly place: FilePlace;
}

/** @throws LecternError like {@link readImageFile} */
export function readSnapshotFile(path: string): SnapshotInFile {
  const { tail, place, ...stored } = readImageFile(path);
  try {
    const { changes, byteLength, sourceVersion } = decodeWholeChanges(tail);
    // Changes without an edit were published before the image.
    const following = changes.filter(({ edit }) => edit !== null);
    const last = following.at(-1);
    const image = last === undefined ? stored.image : apply(stored.image, ...following);
    return {
      ...stored,
      image,
      ...(last && { sequence: last.sequence, sourceVersion }),
      history: historyIn(changes, image),
      place: { ...place, bytes: place.imageBytes + byteLength },
    };
  } catch (error) {
    throw unusable(path, error instanceof Error ? error.message : String(error));
  }
}

function historyIn(changes: readonly Change[], image: SnapshotImage): History | null {
  if (changes.length === 0 || !leadTo(changes, image.summary.id)) return null;
  return historyOf(newestChanges(changes), new Snapshot(image));
}

/**
 * @param past the publications up to the image
 * @throws LecternError like {@link writeImageFile}
 */
export function writeSnapshotFile(path: string, stored: StoredImage, past: readonly Change[]): FilePlace {
  return writeImageFile(path, stored, encodeChanges(past));
}

/** @returns like {@link appendToImageFile} */
export function appendChanges(
  path: string,
  place: FilePlace,
  changes: readonly Change[],
  sourceVersion: string | null,
): Promise<FilePlace | null> {
  return appendToImageFile(path, place, encodeChanges(changes, sourceVersion));
}
