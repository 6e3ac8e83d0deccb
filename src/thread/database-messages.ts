import type { ReadRules } from '../model/read-rules.js';
import type { FollowState } from '../model/source-state.js';
import type { FollowedLoad } from '../source/postgres/follower.js';
import type { PostgresSpec } from '../source/postgres/postgres-spec.js';
import type { ThreadHeap } from './start-thread.js';
import type { Failed } from './task-messages.js';

/** The work of a thread that follows a table until it is ended. */
export interface WatchTask {
  readonly task: 'watch-databases';
  readonly source: PostgresSpec;
  readonly rules: ReadRules;
}

export type ToDatabases =
  | {
      readonly kind: 'next';
      readonly number: number;
      readonly previous: string | null;
      readonly served: string | null;
    }
  /** The whole load of this number has ended. */
  | { readonly kind: 'end'; readonly number: number; readonly isGood: boolean };

type Sent<Load> = Load extends { readonly whole: unknown } ? Omit<Load, 'end'> : Load;

export type FromDatabases =
  | { readonly kind: 'alive'; readonly state: FollowState; readonly heap: ThreadHeap }
  | { readonly kind: 'changed' }
  | { readonly kind: 'given'; readonly number: number; readonly load: Sent<FollowedLoad> }
  | { readonly kind: 'ended'; readonly number: number }
  | ({ readonly kind: 'failed'; readonly number: number } & { readonly failure: Omit<Failed, 'kind'> });
