import { SNAPSHOT_DELTA_ENTRIES_MAX } from '../limits.js';
import { loadImage } from '../load.js';
import { compareSnapshots } from '../snapshot/delta.js';
import { readImageFile, writeImageFile } from '../snapshot/image-file.js';
import { Snapshot } from '../snapshot/snapshot.js';
import type { LoadProgress, Source } from '../source/source.js';
import { isNotModified } from '../source/source.js';
import { sourceOfSpec } from '../source/spec.js';
import type { LoadTask, StreamSpec, Task, TaskResult } from './protocol.js';

export interface TaskSurroundings {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: LoadProgress) => void;
  /** The source of a task that is fed by whoever asked. */
  readonly openStream: (spec: StreamSpec) => Source;
}

/** Does a task on the thread that it is called on. Throws LecternErrors. */
export async function runTaskHere(task: Task, surroundings: TaskSurroundings): Promise<TaskResult> {
  switch (task.task) {
    case 'load':
      return load(task, surroundings);
    case 'read-image': {
      const { image, sourceVersion } = readImageFile(task.path);
      return { kind: 'loaded', image, sourceVersion, summary: null, delta: null };
    }
    case 'write-image':
      writeImageFile(task.path, task.image, task.sourceVersion, task.keep);
      return { kind: 'written' };
  }
}

async function load(task: LoadTask, surroundings: TaskSurroundings): Promise<TaskResult> {
  const { signal, onProgress, openStream } = surroundings;
  const source = task.source.kind === 'stream' ? openStream(task.source) : sourceOfSpec(task.source);
  const loaded = await loadImage(source, task.identifiers, {
    previous: task.previousVersion,
    ...(signal === undefined ? {} : { signal }),
    ...(onProgress === undefined ? {} : { onProgress }),
  });
  if (isNotModified(loaded)) return { kind: 'not-modified' };
  const { image, source: summary } = loaded;
  const sourceVersion = task.source.kind === 'stream' ? task.source.version : summary.version;
  // Other bytes, equal content: nothing to publish.
  if (
    task.served?.summary.id === image.summary.id &&
    image.summary.rejected === task.served.summary.rejected
  ) {
    return { kind: 'unchanged', sourceVersion };
  }
  const delta =
    task.served === null
      ? null
      : compareSnapshots(new Snapshot(task.served), new Snapshot(image), SNAPSHOT_DELTA_ENTRIES_MAX);
  return { kind: 'loaded', image, sourceVersion, summary, delta };
}
