import { monotonicMs } from '../base/model/clock.js';
import type { FollowState, SourcePart } from '../base/model/source-state.js';
import type { ViewSource } from './present.js';

/**
 * The content of GET /health of development and GET /status of the admin listener. The content holds no
 * secret.
 */
export function describeHealth(views: ViewSource, version: string): object {
  const { summary, status, source, publication } = views;
  const snapshot =
    summary === null || publication === null
      ? null
      : {
          id: summary.id,
          events: summary.events,
          rejected: summary.rejected,
          builtAt: timeOf(summary.builtAtMs),
          ageSeconds: (monotonicMs() - publication.builtMonotonicMs) / 1000,
          origin: publication.origin,
        };
  const {
    state,
    lastSuccessMs,
    lastError,
    failingSinceMs,
    parts,
    snapshotFileError = null,
    followed = null,
  } = source;
  return {
    status,
    version,
    snapshot,
    snapshotFileError,
    source: {
      state,
      lastSuccess: timeOf(lastSuccessMs),
      lastError,
      failingSince: timeOf(failingSinceMs),
      overdue: overdueSources(views),
      followed: followed && {
        lastCommit: timeOf(followed.lastCommitMs),
        lagSeconds: followLagMs(followed) / 1000,
      },
      parts: parts && {
        total: parts.total,
        stale: parts.stale,
        missing: parts.missing,
        skipped: parts.skipped,
        listed: parts.listed.map(describePart),
      },
    },
  };
}

/** Age of the oldest commit that is not served yet. */
export function followLagMs({ waitingSinceMs }: FollowState): number {
  return waitingSinceMs === null ? 0 : Math.max(0, Date.now() - waitingSinceMs);
}

/** How many sources are missing, or have failed for longer than ten refresh intervals. */
export function overdueSources({ source, summary }: Pick<ViewSource, 'source' | 'summary'>): number {
  const { overdueAtMs, parts } = source;
  const isOverdue = overdueAtMs !== null && (summary === null || Date.now() >= overdueAtMs);
  return Math.max(isOverdue ? 1 : 0, parts?.overdue ?? 0);
}

function describePart({
  name,
  state,
  records,
  lastSuccessMs,
  failingSinceMs,
  lastError,
  isOverdue,
}: SourcePart): object {
  return {
    name,
    state,
    records,
    lastSuccess: timeOf(lastSuccessMs),
    failingSince: timeOf(failingSinceMs),
    lastError,
    overdue: isOverdue,
  };
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
