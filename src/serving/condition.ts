import type { OverloadCounts } from '../http/server/overload.js';

/** What a port can tell a load balancer. */
export interface ServingCondition {
  /** The port is about to be closed: no new connections should come. */
  readonly isDraining: boolean;
  /** Every serving thread has more requests than it can answer. */
  readonly isOverloaded: boolean;
  /** Threads that have more requests than they can answer. */
  readonly threadsOverloaded: number;
  /** Requests refused for that. A thread that was lost may take those of its last second with it. */
  readonly refused: number;
  /** How often a thread became overloaded; counted as `refused` is. */
  readonly overloads: number;
}

export function conditionOf(
  isDraining: boolean,
  loads: readonly OverloadCounts[],
  past: Omit<OverloadCounts, 'isOverloaded'> = { refused: 0, overloads: 0 },
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
