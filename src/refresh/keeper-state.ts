import type { SourceParts } from '../model/source-parts.js';

/** The state of the source; see view/view-source.ts. */
export interface KeeperState {
  readonly state: 'loading' | 'loaded' | 'failed' | 'refused';
  readonly lastSuccessMs: number | null;
  readonly lastSuccessMonotonicMs: number | null;
  readonly lastError: string | null;
  /** Since when loads have failed or were refused. */
  readonly failingSinceMs: number | null;
  /** The time at which failing has lasted ten refresh intervals. */
  readonly overdueAtMs: number | null;
  /** The parts of several sources; null for a single source. */
  readonly parts: SourceParts | null;
  /** The published snapshot is damaged and must not be served until the next publication. */
  readonly isWithdrawn?: boolean;
}
