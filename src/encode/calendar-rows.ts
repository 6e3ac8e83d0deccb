import type { TimetableEvent } from '../model/event.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import { contentLine, escapeText } from './calendar-text.js';
import { NO_ROOM } from './row-layout.js';
import type { RowListForm } from './row-lists.js';

/** Longest UTF-8 of a UTF-16 unit. */
const UNIT_BYTES_MAX = 3;

/** Names of what an event has identifiers of; null if unknown. */
export interface EventNames {
  roomName(roomId: string): string | null;
  courseName(courseId: string): string | null;
}

export const NO_NAMES: EventNames = { roomName: () => null, courseName: () => null };

/** The category of events that are in a conflict. */
const CLASH = 'CLASH';

const CLOSING = Buffer.from('END:VCALENDAR\r\n');

/** What stands before the first event. @param more further lines, such as the name of a feed */
export function calendarOpening(more = ''): Buffer {
  return Buffer.from(`BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Lectern//Lectern//EN\r\n${more}`);
}

const OPENING = calendarOpening();

/**
 * RFC 5545: a VEVENT for each event.
 *
 * @param marksClashes whether events that are in a conflict have a further category
 */
export function calendarForm(snapshot: Snapshot, names: EventNames, marksClashes: boolean): RowListForm {
  const { rows, merged } = snapshot;
  const isClash = (ordinal: number): boolean =>
    marksClashes && merged.membershipCount(ordinal, ordinal + 1) > 0;
  return {
    opening: OPENING,
    closing: CLOSING,
    layout: {
      number: marksClashes ? 5 : 4,
      sums: null,
      write(_, ordinal, target, offset) {
        const event = JSON.parse(rows.rowOf(ordinal).toString('utf8')) as TimetableEvent;
        const text = eventLines(event, names, isClash(ordinal));
        const room = target.length - offset;
        if (text.length * UNIT_BYTES_MAX > room && Buffer.byteLength(text) > room) return NO_ROOM;
        return offset + target.write(text, offset, 'utf8');
      },
    },
  };
}

function eventLines(event: TimetableEvent, names: EventNames, isClash: boolean): string {
  const { id, time, endTime, title, roomId, courseId, studyGroup, lecturer, type } = event;
  const [start, end] = [calendarInstant(time), calendarInstant(endTime)];
  const room = roomId === null ? null : (names.roomName(roomId) ?? roomId);
  const course = courseId === null ? null : names.courseName(courseId);
  const people = [lecturer, studyGroup].filter((text) => text !== null).join('\n');
  const categories = [type, isClash ? CLASH : null].filter((text) => text !== null);
  let lines = `BEGIN:VEVENT\r\n${textLine('UID', id)}`;
  // RFC 5545 section 3.8.7.2 requires an instant. The event's own is the same on every replica.
  lines += `DTSTAMP:${start}\r\nDTSTART:${start}\r\n`;
  // The end must be later than the start (section 3.8.2.2). Without an end the event takes no time.
  if (end !== start) lines += `DTEND:${end}\r\n`;
  lines += textLine('SUMMARY', title ?? course ?? type);
  lines += textLine('LOCATION', room);
  lines += textLine('DESCRIPTION', people);
  if (categories.length > 0) lines += contentLine('CATEGORIES', categories.map(escapeText).join());
  return `${lines}END:VEVENT\r\n`;
}

/** Nothing for null and for an empty text. */
function textLine(name: string, text: string | null): string {
  return text === null || text === '' ? '' : contentLine(name, escapeText(text));
}

/** `2024-09-02T08:00:00.000Z` as `20240902T080000Z`. iCalendar has no fractions of a second. */
function calendarInstant(time: string): string {
  const date = `${time.slice(0, 4)}${time.slice(5, 7)}${time.slice(8, 10)}`;
  return `${date}T${time.slice(11, 13)}${time.slice(14, 16)}${time.slice(17, 19)}Z`;
}
