import type { LoadProgress, Source } from '../source/source.js';
import type { StreamSpec } from './task-messages.js';

/** What a task needs of the thread that it is done on. */
export interface TaskSurroundings {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: LoadProgress) => void;
  /** The version of a source that is about to be read. */
  readonly onVersion?: (version: string) => void;
  /** The source of a task that is fed by whoever asked. */
  readonly openStream: (spec: StreamSpec) => Source;
}
