/** The slow version of GET /schedule/personal, by a linear scan. */
import type { NormalisedEvent } from '../../src/base/model/event.js';
import type { IndexedFieldName } from '../../src/base/model/fields.js';
import { matches, type OracleQuery } from './schedule.js';

/** An identity of a user: any of these values in this field. */
export interface OracleIdentity {
  readonly field: IndexedFieldName;
  readonly values: readonly string[];
}

function belongsTo(event: NormalisedEvent, identities: readonly OracleIdentity[]): boolean {
  for (const identity of identities) {
    const value = event[identity.field];
    if (value !== null && identity.values.includes(value)) return true;
  }
  return false;
}

/** The union of the user's identities, narrowed by the filters. A user without identities has no events. */
export function personalOracle(
  ordered: readonly NormalisedEvent[],
  query: OracleQuery,
  identities: readonly OracleIdentity[],
): NormalisedEvent[] {
  return ordered.filter((event) => belongsTo(event, identities) && matches(event, query));
}
