import { Temporal } from 'temporal-polyfill';
import type { RecordPosition, Rejection } from '../../../src/base/model/event.js';
import type { ReadRules } from '../../../src/base/model/read-rules.js';
import { CalendarReader } from '../../../src/source/calendar/calendar-reader.js';
import { LoadNotes } from '../../../src/source/load-notes.js';
import { rawTable } from '../collect.js';

export interface ReadCalendar {
  readonly events: Record<string, string>[];
  readonly positions: RecordPosition[];
  readonly rejections: Rejection[];
  readonly notes: LoadNotes;
  readonly reader: CalendarReader;
}

/** The columns of the events of a calendar. */
export function readCalendar(
  text: string | Uint8Array,
  rules: Partial<ReadRules> = {},
  pieceBytes = 0,
): ReadCalendar {
  const events: Record<string, string>[] = [];
  const positions: RecordPosition[] = [];
  const rejections: Rejection[] = [];
  const notes = new LoadNotes();
  const table = rawTable(
    (value, position) => {
      events.push(value as Record<string, string>);
      positions.push(position);
    },
    (rejection) => rejections.push(rejection),
    'icalendar',
    notes,
  );
  const reader = new CalendarReader('test', table, { identifiers: 'uuid', ...rules });
  const bytes = Buffer.from(text);
  const size = pieceBytes === 0 ? bytes.length : pieceBytes;
  for (let at = 0; at < bytes.length; at += size) {
    // The reader must not use a chunk later.
    const chunk = Buffer.from(bytes.subarray(at, at + size));
    reader.push(chunk);
    chunk.fill(0xc1);
  }
  reader.finish();
  for (const _step of reader.rest()) reader.records;
  return { events, positions, rejections, notes, reader };
}

export function calendarOf(...lines: readonly string[]): string {
  return ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//EN', ...lines, 'END:VCALENDAR', ''].join('\r\n');
}

/** A calendar of one event, which gets a UID. */
export function eventOf(...lines: readonly string[]): string {
  return calendarOf('BEGIN:VEVENT', 'UID:1', ...lines, 'END:VEVENT');
}

/** `1997-09-02 09:00` on the clock of a zone, according to Temporal. */
export function startsOf({ events }: Pick<ReadCalendar, 'events'>, zone: string): string[] {
  return events.map(({ DTSTART }) =>
    Temporal.Instant.from(DTSTART ?? '')
      .toZonedDateTimeISO(zone)
      .toPlainDateTime()
      .toString({ smallestUnit: 'minute' })
      .replace('T', ' '),
  );
}
