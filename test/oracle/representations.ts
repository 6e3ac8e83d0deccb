/** Events in each representation, written the slow and obvious way. */
import type { TimetableEvent } from '../../src/model/event.js';

export function ndjsonOf(events: readonly TimetableEvent[]): string {
  return events.map((event) => `${JSON.stringify(event)}\n`).join('');
}

const NAMES = [
  'id',
  'time',
  'endTime',
  'title',
  'roomId',
  'courseId',
  'studyGroup',
  'lecturer',
  'type',
  'groupId',
] as const;

export function csvOf(events: readonly TimetableEvent[]): string {
  const rows = events.map((event) =>
    NAMES.map((name) => {
      const value = event[name];
      if (value === null) return '';
      const needsQuotes = value === '' || [...value].some((character) => '",\r\n'.includes(character));
      return needsQuotes ? `"${value.split('"').join('""')}"` : value;
    }).join(','),
  );
  return [NAMES.join(','), ...rows].map((line) => `${line}\r\n`).join('');
}
