import type { Logger } from '../http/logger.js';
import type { OverloadCounts } from '../http/server/overload.js';

/** What a port can tell whoever distributes requests among several services. */
export interface ServingCondition {
  /** The port is about to be closed: no new connections should come. */
  readonly isDraining: boolean;
  /** Every thread that serves has more requests than it can answer. One that has, among others, is no reason to go elsewhere. */
  readonly isOverloaded: boolean;
  /** Threads that have. */
  readonly threadsOverloaded: number;
  /** Requests that were refused for that. Of a thread that was lost, those that it had told of, at most a second before. */
  readonly refused: number;
  /** How often a thread came to have more requests than it can answer; counted as `refused` is. */
  readonly overloads: number;
}

/** What threads that were lost had told of. */
export interface PastCounts {
  refused: number;
  overloads: number;
}

/** @param loads of each thread that serves */
export function conditionOf(
  isDraining: boolean,
  loads: readonly OverloadCounts[],
  past: Readonly<PastCounts> = { refused: 0, overloads: 0 },
): ServingCondition {
  const threadsOverloaded = loads.filter((load) => load.isOverloaded).length;
  return {
    isDraining,
    isOverloaded: threadsOverloaded > 0 && threadsOverloaded === loads.length,
    threadsOverloaded,
    refused: loads.reduce((sum, load) => sum + load.refused, past.refused),
    overloads: loads.reduce((sum, load) => sum + load.overloads, past.overloads),
  };
}

/** One line when a thread's overload begins, and one when it is over. */
export function logOverload(log: Logger | undefined, isOverloaded: boolean, refused: number): void {
  if (isOverloaded) log?.warn({ refused }, 'overloaded: requests are refused');
  else log?.info({ refused }, 'no longer overloaded');
}

/** One line where parts of Node are not as expected. */
export function warnOfInnerParts(missing: readonly string[], log: Logger | undefined): void {
  if (missing.length === 0) return;
  log?.warn(
    { parts: missing, node: process.version },
    'parts inside Node are not as expected and are not used: answers are right, but slower',
  );
}
