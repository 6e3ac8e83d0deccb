import type { ReadRules } from '../model/read-rules.js';
import { DAY_MS } from '../model/time.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import { hasMovingWindow } from '../source/renewed-daily.js';

const RETRY_MS = 3_600_000;
/** Renewals are spread over this time, so that replicas do not all load at once. */
const SPREAD_MS = 600_000;

/**
 * The time until recurring events must be expanded again, because their window moves at midnight UTC. Null if
 * never.
 *
 * @param random from 0 to 1
 */
export function renewalMs(
  { expanded }: Pick<SnapshotSummary, 'expanded'>,
  rules: ReadRules,
  hasFailed: boolean,
  now: () => number,
  random: () => number,
): number | null {
  if (expanded === undefined || !hasMovingWindow(rules)) return null;
  const untilMidnightMs = DAY_MS - (now() % DAY_MS);
  return Math.round(Math.min(untilMidnightMs, hasFailed ? RETRY_MS : DAY_MS) + random() * SPREAD_MS);
}
