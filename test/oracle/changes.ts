/** The slow version of GET /schedule/changes: compares both full sets, event by event. */
import type { NormalisedEvent, TimetableEvent } from '../../src/base/model/event.js';
import { compareText, eventsInOrder, recordOf } from './events.js';

export interface OracleChanges {
  readonly added: TimetableEvent[];
  readonly changed: TimetableEvent[];
  readonly removed: string[];
}

/** Added and changed events with their present values, in the documented order; ids of removed ones by code point. */
export function changesOracle(
  before: readonly NormalisedEvent[],
  after: readonly NormalisedEvent[],
): OracleChanges {
  const recordsOf = (events: readonly NormalisedEvent[]): ReadonlyMap<string, string> =>
    new Map(events.map((event) => [event.id, JSON.stringify(recordOf(event))]));
  const [old, present] = [recordsOf(before), recordsOf(after)];
  const now = eventsInOrder(after);
  return {
    added: now.filter(({ id }) => !old.has(id)).map(recordOf),
    changed: now.filter(({ id }) => old.has(id) && old.get(id) !== present.get(id)).map(recordOf),
    removed: [...old.keys()].filter((id) => !present.has(id)).sort(compareText),
  };
}
