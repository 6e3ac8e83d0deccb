import { SNAPSHOT_DELTA_ENTRIES_MAX } from '../limits.js';
import { compareSnapshots, extendHistory } from '../snapshot/differences.js';
import { isSameImage } from '../snapshot/image.js';
import { OUT_OF_MEMORY, RefusedLoad } from '../snapshot/intake-bounds.js';
import { Snapshot } from '../snapshot/snapshot.js';
import { sourceOfSpec } from '../source/spec.js';
import { loadImage } from './load-image.js';
import type { TaskSurroundings } from './surroundings.js';
import type { LoadTask, TaskResult } from './task-messages.js';

/** Loads a source into an image, and says what is different from the one that is served. Throws LecternErrors. */
export async function runLoadTask(task: LoadTask, surroundings: TaskSurroundings): Promise<TaskResult> {
  try {
    return await load(task, surroundings);
  } catch (error) {
    if (isOutOfMemory(error)) return { kind: 'refused', refusal: OUT_OF_MEMORY };
    if (error instanceof RefusedLoad) return { kind: 'refused', refusal: error.refusal };
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

async function load(task: LoadTask, surroundings: TaskSurroundings): Promise<TaskResult> {
  const { signal, onProgress, openStream } = surroundings;
  const source = task.source.kind === 'stream' ? openStream(task.source) : sourceOfSpec(task.source);
  const loaded = await loadImage(source, task.identifiers, {
    previous: task.previousVersion,
    bounds: task.bounds,
    signal,
    onProgress,
  });
  if (loaded === 'not-modified') return { kind: 'not-modified' };
  const { image, source: summary } = loaded;
  const sourceVersion = task.source.kind === 'stream' ? task.source.version : summary.version;
  // Other bytes, equal content: nothing to publish. An image from disk may only claim to be equal.
  if (
    task.served?.summary.id === image.summary.id &&
    image.summary.rejected === task.served.summary.rejected &&
    isSameImage(task.served, image)
  ) {
    return { kind: 'unchanged', sourceVersion };
  }
  const done = { kind: 'loaded', image, sourceVersion, summary } as const;
  if (task.served === null) return { ...done, delta: null, history: null };
  const present = new Snapshot(image);
  const delta = compareSnapshots(new Snapshot(task.served), present, SNAPSHOT_DELTA_ENTRIES_MAX);
  return { ...done, delta, history: extendHistory(task.deltas, delta, present) };
}
