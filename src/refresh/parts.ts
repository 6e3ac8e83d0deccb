import { PARTS_LISTED_MAX } from '../limits.js';
import type { SourcePart, SourceParts } from '../model/source-parts.js';
import type { PartReport, PartsReport } from '../source/source.js';

/** A source is overdue after failing for this many intervals. */
const INTERVALS_MAX = 10;

/**
 * How long a source may fail before it is overdue. Without regular loads, a source that fails is overdue at
 * once.
 */
export function failingMsMaxOf(intervalMs: number): number {
  return INTERVALS_MAX * intervalMs;
}

/** Null for a single source. */
export function sourceParts({ parts, skipped }: PartsReport, failingMsMax: number): SourceParts | null {
  if (parts.length === 0) return null;
  const beforeMs = Date.now() - failingMsMax;
  const all = parts.map((part) => sourcePart(part, beforeMs));
  const failing = all.filter(({ state }) => state !== 'ok');
  const good = all.filter(({ state }) => state === 'ok');
  const since = failing.flatMap(({ failingSinceMs }) => failingSinceMs ?? []);
  return {
    total: all.length,
    stale: all.filter(({ state }) => state === 'stale').length,
    missing: all.filter(({ state }) => state === 'missing').length,
    overdue: all.filter(({ isOverdue }) => isOverdue).length,
    skipped,
    failingSinceMs: since.length === 0 ? null : since.reduce((a, b) => Math.min(a, b)),
    listed: all.length <= PARTS_LISTED_MAX ? all : [...failing, ...good].slice(0, PARTS_LISTED_MAX),
  };
}

function sourcePart({ name, copy, confirmedMs, failure }: PartReport, beforeMs: number): SourcePart {
  return {
    name,
    state: failure === null ? 'ok' : copy === null ? 'missing' : 'stale',
    records: copy?.records ?? 0,
    lastSuccessMs: confirmedMs,
    failingSinceMs: failure?.sinceMs ?? null,
    lastError: failure?.message ?? null,
    isOverdue: failure !== null && (copy === null || failure.sinceMs <= beforeMs),
  };
}

/** Parts that began to fail, and parts that work again. */
export function changedParts(before: SourceParts | null, after: SourceParts | null): SourcePart[] {
  const failed = new Set(before?.listed.flatMap(({ name, state }) => (state === 'ok' ? [] : [name])));
  return (after?.listed ?? []).filter(({ name, state }) => (state === 'ok') === failed.has(name));
}

/** A forced load asks all parts, even those with a Retry-After. */
export function askedParts({ parts }: PartsReport, force: boolean): PartsReport['parts'] {
  return parts.map((part) =>
    !force || part.failure === null ? part : { ...part, failure: { ...part.failure, retryAtMs: 0 } },
  );
}
