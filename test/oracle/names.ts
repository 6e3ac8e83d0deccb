/** The display name of a value, found by counting all events one by one. */
import type { NormalisedEvent } from '../../src/base/model/event.js';
import type { FieldName, NamedFieldName } from '../../src/base/model/fields.js';
import { compareText } from './events.js';

const NAMED_BY: Readonly<Record<NamedFieldName, readonly FieldName[]>> = {
  roomId: ['roomName'],
  courseId: ['courseName'],
  groupId: ['groupName', 'studyGroup'],
  lecturerId: ['lecturer'],
};

/** The most frequent name among the events with this value; of equally frequent ones the first by code point. */
export function nameOracle(
  events: readonly NormalisedEvent[],
  field: NamedFieldName,
  value: string,
): string | null {
  for (const by of NAMED_BY[field]) {
    const counts = new Map<string, number>();
    for (const event of events) {
      const name = event[by];
      if (event[field] === value && typeof name === 'string' && name !== '') {
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    }
    const [best] = [...counts].sort(([a, n], [b, m]) => m - n || compareText(a, b));
    if (best !== undefined) return best[0];
  }
  return null;
}
