import { formatPosition } from '../base/model/event.js';
import { outsideHint } from '../base/model/expansion.js';
import type { Refusal } from '../snapshot/intake-bounds.js';
import { faultyRecords, type SnapshotSummary } from '../snapshot/summary.js';

/** Checks that a new snapshot must pass to replace the served one. */
export interface GateOptions {
  /**
   * A snapshot is refused if it has fewer events than the served one, by more than this percentage: 0 to 100.
   * A snapshot without events is refused even as the first, unless the percentage is 100. Default 30.
   */
  readonly shrinkPercentMax?: number | undefined;
  /**
   * A snapshot, except the first, is refused if more than this percentage of its records were rejected: 0 to
   * 100. Default 10.
   */
  readonly rejectPercentMax?: number | undefined;
}

export type Gate = { readonly [Name in keyof GateOptions]-?: NonNullable<GateOptions[Name]> };

export type { Refusal, RefusalCode } from '../snapshot/intake-bounds.js';

/**
 * Decides whether a newly built snapshot is published. A broken source often delivers nothing, a part, or
 * garbage, and the last good snapshot is better than any of these. Returns null to publish.
 *
 * @param served null at the first load, when only a snapshot without events is refused
 */
export function judge(next: SnapshotSummary, served: SnapshotSummary | null, options: Gate): Refusal | null {
  const { events } = next;
  if (events === 0 && options.shrinkPercentMax < 100) return { code: 'empty', detail: describeEmpty(next) };
  if (served === null) return null;
  const faulty = faultyRecords(next);
  const rejectedPercent = percentRejected(next);
  if (rejectedPercent > options.rejectPercentMax) {
    const detail =
      `${faulty} of ${events + faulty} records were rejected (${percent(rejectedPercent)}); ` +
      `at most ${options.rejectPercentMax} % may be rejected${describeFirst(next, '; the first rejection is')}`;
    return { code: 'rejected', detail };
  }
  const shrunkPercent = percentOf(served.events - events, served.events);
  if (shrunkPercent > options.shrinkPercentMax) {
    const detail =
      `it has ${events} ${events === 1 ? 'event' : 'events'}, ${percent(shrunkPercent)} fewer than the ${served.events} being served; ` +
      `at most ${options.shrinkPercentMax} % fewer are accepted`;
    return { code: 'shrunk', detail };
  }
  return null;
}

/** Percent of all records, 0 to 100. A record that a later source overrides is no fault, so it does not count. */
export function percentRejected(summary: SnapshotSummary): number {
  const faulty = faultyRecords(summary);
  return percentOf(faulty, summary.events + faulty);
}

function percentOf(part: number, whole: number): number {
  return whole === 0 ? 0 : (100 * part) / whole;
}

function describeEmpty(next: SnapshotSummary): string {
  const { rejected, expanded } = next;
  const hint = expanded === undefined ? null : outsideHint(expanded);
  if (hint !== null) {
    return `it has no events: recurring events are expanded from ${expanded?.from} until ${expanded?.to} (exclusive), and ${hint}`;
  }
  if (rejected === 0) return 'it has no events';
  const which =
    rejected === 1
      ? `its only record was rejected${describeFirst(next, ',')}`
      : `all ${rejected} records were rejected${describeFirst(next, ', the first')}`;
  return `it has no events: ${which}; lectern inspect shows its columns and proposes a field map`;
}

function describeFirst({ rejections }: SnapshotSummary, lead: string): string {
  const first = rejections.find(({ code }) => code !== 'overridden');
  return first === undefined ? '' : `${lead} at ${formatPosition(first.position)}: ${first.detail}`;
}

function percent(value: number): string {
  return `${value.toFixed(1)} %`;
}
