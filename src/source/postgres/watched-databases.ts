import type { ReadRules } from '../../model/read-rules.js';
import type { FollowState } from '../../model/source-state.js';
import type { RecordLoadOptions, RecordWatch } from '../records.js';
import type { SourceSpec } from '../spec.js';
import { type FollowedLoad, PostgresFollower } from './follower.js';
import { listenTo } from './listen.js';

/** Reports changes of a source's databases, from this thread or from a thread of its own. */
export interface DatabaseWatch {
  /** Whether the source is a followed table. Then `next` makes its loads. */
  readonly isFollowed: boolean;
  /** Null if the source is not followed. */
  readonly state: FollowState | null;
  watch(onChange: () => void): RecordWatch;
  next(options: RecordLoadOptions): Promise<FollowedLoad>;
}

/** Whether any database of the source is followed or listened to. */
export function hasWatchedDatabases(source: SourceSpec): boolean {
  if (source.kind === 'merged') return source.specs.some(hasWatchedDatabases);
  return source.kind === 'postgres' && (source.follow === true || source.listen !== undefined);
}

export function isFollowed(source: SourceSpec): boolean {
  return source.kind === 'postgres' && source.follow === true;
}

export class WatchedDatabases implements DatabaseWatch {
  readonly #source: SourceSpec;
  readonly #follower: PostgresFollower | null;

  /** @throws LecternError `option-invalid` */
  constructor(source: SourceSpec, rules: ReadRules) {
    this.#source = source;
    this.#follower =
      source.kind === 'postgres' && isFollowed(source) ? new PostgresFollower(source, rules) : null;
  }

  get isFollowed(): boolean {
    return this.#follower !== null;
  }

  get state(): FollowState | null {
    return this.#follower?.state ?? null;
  }

  watch(onChange: () => void): RecordWatch {
    const watches = [this.#follower?.watch(onChange), ...listenTo(this.#source, onChange)];
    return {
      close() {
        for (const each of watches) each?.close();
      },
    };
  }

  next(options: RecordLoadOptions): Promise<FollowedLoad> {
    if (this.#follower === null) throw new Error('the source is not followed');
    return this.#follower.next(options);
  }
}
