import { PROBLEMS } from '../errors.js';

/** Places of the counts in shared memory. */

/** Labels name documented resources, never text from a client. */
export const ROUTE_LABELS = [
  '/schedule',
  '/schedule/personal',
  '/schedule/all',
  '/schedule/types',
  '/schedule/conflicts',
  '/schedule/free',
  '/schedule/changes',
  '/schedule/rooms',
  '/schedule/courses',
  '/schedule/groups',
  '/schedule/lecturers',
  '/schedule/events',
  '/schedule/feed',
  '/feeds',
  '/login',
  '/docs',
  '/view',
  '/health',
  /** The resource does not exist, or the answer came before its look-up. */
  'none',
  /** node:http could not read the request. */
  'unreadable',
] as const;
export type RouteLabel = (typeof ROUTE_LABELS)[number];

export function routeNumber(label: RouteLabel): number {
  return ROUTE_LABELS.indexOf(label);
}

export const STATUSES: readonly number[] = [
  ...new Set([200, 204, 304, ...Object.values(PROBLEMS).map(({ status }) => status)]),
].sort((a, b) => a - b);

/** The inclusive ends of the classes of durations. The last class has no end. */
export const DURATION_ENDS_MS: readonly number[] = [
  0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000,
];

export const TOKEN_FAILURES = [
  'missing',
  'malformed',
  'algorithm',
  'type',
  'no-key',
  'signature',
  'expired',
  'not-yet-valid',
  'issuer',
  'audience',
  'claims',
  /** 503: no key was available. */
  'unavailable',
] as const;
export type TokenFailure = (typeof TOKEN_FAILURES)[number];

const SINGLES = [
  'tokenHits',
  'tokenMisses',
  'answerHits',
  'answerMisses',
  'answerBytes',
  'rowHits',
  'rowMisses',
  'rowBytes',
  'connectionsOpen',
  'connectionsDropped',
  'slowReaders',
  'silent',
  'flooded',
  'streamsOpen',
  'loopActiveMs',
  'loopIdleMs',
  'loopLagMs',
  'loopDelayMinMs',
  'loopDelayMeanMs',
  'loopDelayStddevMs',
  'loopDelayP50Ms',
  'loopDelayP90Ms',
  'loopDelayP99Ms',
  'loopDelayMaxMs',
  'heapUsedBytes',
  'heapTotalBytes',
  'heapExternalBytes',
  'logLinesDropped',
] as const;
export type SingleName = (typeof SINGLES)[number];

export const DURATION_CLASSES: number = DURATION_ENDS_MS.length + 1;

const ROUTES = ROUTE_LABELS.length;
export const REQUESTS_AT = 0;
/** Number of places for statuses: one for each of STATUSES, and one for all others. */
export const STATUS_PLACES: number = STATUSES.length + 1;
export const BYTES_AT: number = REQUESTS_AT + ROUTES * STATUS_PLACES;
export const DURATION_SUMS_AT: number = BYTES_AT + ROUTES;
export const DURATIONS_AT: number = DURATION_SUMS_AT + ROUTES;
export const FAILURES_AT: number = DURATIONS_AT + ROUTES * DURATION_CLASSES;
const SINGLES_AT = FAILURES_AT + TOKEN_FAILURES.length;
export const CELLS: number = SINGLES_AT + SINGLES.length;

export const CELL: Readonly<Record<SingleName, number>> = Object.fromEntries(
  SINGLES.map((name, n) => [name, SINGLES_AT + n]),
) as Record<SingleName, number>;
