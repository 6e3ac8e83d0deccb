import { VALUE_MEMO_ENTRIES_MAX } from '../../limits.js';
import { derivedIdentifier } from '../../model/derived-identifier.js';
import type { ReadRules } from '../../model/read-rules.js';
import type { RecordSink } from '../source.js';
import { CALENDAR_FIELD_MAP } from './calendar-field-map.js';

/** Gives calendars' columns to a sink of events. */
export function mappedCalendar(sink: RecordSink, { identifiers }: ReadRules): RecordSink {
  const used = new Set(Object.values(CALENDAR_FIELD_MAP));
  const entries = Object.entries(CALENDAR_FIELD_MAP);
  const rooms = new Map<string, string>();
  const roomIdOf = (name: string): string => {
    let id = rooms.get(name);
    if (id === undefined) {
      if (rooms.size >= VALUE_MEMO_ENTRIES_MAX) rooms.clear();
      id = derivedIdentifier('roomId', name);
      rooms.set(name, id);
    }
    return id;
  };
  return {
    record(value, position) {
      const columns = value as Record<string, string>;
      const event: Record<string, unknown> = {};
      for (const [field, column] of entries) event[field] = columns[column] || null;
      for (const name of Object.keys(columns)) if (!used.has(name)) event[name] = columns[name];
      const { roomId } = event;
      if (typeof roomId === 'string' && identifiers !== 'any') event.roomId = roomIdOf(roomId);
      sink.record(event, position);
    },
    reject: (rejection) => sink.reject(rejection),
  };
}
