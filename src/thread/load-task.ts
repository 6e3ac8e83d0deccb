import {
  DIFFERENCE_BYTES_PER_ENTRY,
  SNAPSHOT_DELTA_ENTRIES_MAX,
  SNAPSHOT_HISTORY_ENTRIES_MAX,
} from '../limits.js';
import { compareSnapshots } from '../snapshot/delta.js';
import { extendHistory } from '../snapshot/history.js';
import { isSameImage } from '../snapshot/image.js';
import { outOfMemory } from '../snapshot/intake-bounds.js';
import { RefusedLoad } from '../snapshot/load-refusal.js';
import { Snapshot } from '../snapshot/snapshot.js';
import { isNotModified } from '../source/source.js';
import { sourceOfSpec } from '../source/spec.js';
import { loadImage } from './load-image.js';
import type { LoadDone, LoadTask, TaskSurroundings } from './task-messages.js';

/** Loads a source into an image, and says what is different from the one that is served. Throws LecternErrors. */
export async function runLoadTask(task: LoadTask, surroundings: TaskSurroundings): Promise<LoadDone> {
  try {
    return await load(task, surroundings);
  } catch (error) {
    const refused = isOutOfMemory(error) ? outOfMemory() : error;
    if (refused instanceof RefusedLoad) return { kind: 'refused', refusal: refused.refusal };
    throw error;
  }
}

/** What V8 throws where the system gives no memory for an array, or a Map is as large as it can be. */
function isOutOfMemory(error: unknown): boolean {
  return (
    error instanceof RangeError &&
    /^(?:Array buffer allocation failed|Map maximum size exceeded)/.test(error.message)
  );
}

async function load(task: LoadTask, { openStream, ...listeners }: TaskSurroundings): Promise<LoadDone> {
  const { served, previousVersion, bounds } = task;
  const source = task.source.kind === 'stream' ? openStream(task.source) : sourceOfSpec(task.source);
  const options = { ...listeners, previous: previousVersion, bounds };
  const loaded = await loadImage(source, task.identifiers, options);
  if (isNotModified(loaded)) return { kind: 'not-modified' };
  const { image, bytesLeft } = loaded;
  const sourceVersion = task.source.kind === 'stream' ? task.source.version : loaded.source.version;
  // Other bytes, equal content: nothing to publish. An image from disk may only claim to be equal.
  if (
    served?.summary.id === image.summary.id &&
    image.summary.rejected === served.summary.rejected &&
    isSameImage(served, image)
  ) {
    return { kind: 'unchanged', sourceVersion };
  }
  const done = { kind: 'loaded', image, sourceVersion } as const;
  if (served === null) return { ...done, delta: null, history: null };
  // Differences that do not fit into the load's memory are not kept: the timetable matters more.
  const entriesMax = Math.floor(bytesLeft / DIFFERENCE_BYTES_PER_ENTRY);
  const deltaMax = Math.min(entriesMax, SNAPSHOT_DELTA_ENTRIES_MAX);
  const historyMax = Math.min(entriesMax, SNAPSHOT_HISTORY_ENTRIES_MAX);
  const present = new Snapshot(image);
  const delta = compareSnapshots(new Snapshot(served), present, deltaMax);
  return { ...done, delta, history: extendHistory(task.deltas, delta, present, historyMax) };
}
