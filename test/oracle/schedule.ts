/** The slow version of GET /schedule and GET /schedule/all, by a linear scan. */
import type { NormalisedEvent } from '../../src/base/model/event.js';
import type { ParameterFieldName } from '../../src/base/model/fields.js';
import { compareEvents } from './events.js';

/** One filter: the event's field is one of these canonical values. */
export interface OracleFilter {
  readonly field: ParameterFieldName;
  readonly values: readonly string[];
  /** Whether events with one of the values are left out. */
  readonly isExcluding?: boolean;
}

/** The seven parameters, parsed. Instants are epoch milliseconds; null for an open side of the window. */
export interface OracleQuery {
  readonly filters: readonly OracleFilter[];
  readonly startMs: number | null;
  readonly endMs: number | null;
}

/**
 * The half-open window rule (RFC 4791 section 9.9): an event that only touches the window is outside. A
 * zero-length event is inside at the window's start and outside at its end.
 */
export function isInWindow(event: NormalisedEvent, startMs: number | null, endMs: number | null): boolean {
  const start = startMs ?? Number.NEGATIVE_INFINITY;
  const end = endMs ?? Number.POSITIVE_INFINITY;
  if (event.time === event.endTime) return start <= event.time && event.time < end;
  return event.time < end && event.endTime > start;
}

/** All filters match (AND), each by any of its values (OR). A null field matches no value. */
export function matches(event: NormalisedEvent, query: OracleQuery): boolean {
  for (const filter of query.filters) {
    const value = event[filter.field];
    const has = value !== null && filter.values.includes(value);
    if (has === (filter.isExcluding === true)) return false;
  }
  return isInWindow(event, query.startMs, query.endMs);
}

/** @param ordered the result of `eventsInOrder`; the order is kept */
export function scheduleOracle(ordered: readonly NormalisedEvent[], query: OracleQuery): NormalisedEvent[] {
  return ordered.filter((event) => matches(event, query));
}

/** The page of at most `limit` entries after the sort key of `after`. */
export function pageOf<Entry>(
  list: readonly Entry[],
  limit: number,
  after: Entry | null,
  compare: (a: Entry, b: Entry) => number,
): { readonly page: Entry[]; readonly isLast: boolean } {
  const rest = after === null ? [...list] : list.filter((entry) => compare(entry, after) > 0);
  return { page: rest.slice(0, limit), isLast: rest.length <= limit };
}

export function eventPageOf(
  list: readonly NormalisedEvent[],
  limit: number,
  after: NormalisedEvent | null,
): { readonly page: NormalisedEvent[]; readonly isLast: boolean } {
  return pageOf(list, limit, after, compareEvents);
}
