/** Events in each format, written in the slow, obvious way. */
import type { NormalisedEvent, TimetableEvent } from '../../src/base/model/event.js';
import { compareEvents, compareText } from './events.js';
import { nameOracle } from './names.js';

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

/** @param all every event of the data set, for their lessons */
export function csvOf(events: readonly TimetableEvent[], all: readonly NormalisedEvent[] = []): string {
  const lessonOf = new Map(all.map(({ id, lessonId }) => [id, lessonId ?? null]));
  const names = all.some(({ lessonId }) => lessonId) ? [...NAMES, 'lessonId' as const] : NAMES;
  const rows = events.map((event) =>
    names
      .map((name) => {
        const value = name === 'lessonId' ? (lessonOf.get(event.id) ?? null) : event[name];
        if (value === null) return '';
        const needsQuotes = value === '' || [...value].some((character) => '",\r\n'.includes(character));
        return needsQuotes ? `"${value.split('"').join('""')}"` : value;
      })
      .join(','),
  );
  return [names.join(','), ...rows].map((line) => `${line}\r\n`).join('');
}

/**
 * @param all every event of the data set, for the names of rooms and courses, and the times of change
 * @param clashes the ids of events that are in a conflict
 */
export function icsOf(
  events: readonly TimetableEvent[],
  all: readonly NormalisedEvent[] = [],
  clashes: ReadonlySet<string> = new Set(),
): string {
  const lines = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Lectern//Lectern//EN'];
  const modifiedMs = new Map(all.map(({ id, modified }) => [id, modified ?? 0]));
  const lessonOf = new Map(all.map(({ id, lessonId }) => [id, lessonId ?? null]));
  const written = new Set<string>();
  for (const event of events) {
    const [start, end] = [event.time, event.endTime].map((time) => time.replace(/\.\d+|[-:]/g, ''));
    const lesson = lessonOf.get(event.id) ?? null;
    const isMember = (other: TimetableEvent): boolean =>
      other === event ||
      (lesson !== null &&
        lessonOf.get(other.id) === lesson &&
        other.time === event.time &&
        other.endTime === event.endTime);
    const members = events.filter(isMember);
    if (members.some(({ id }) => written.has(id))) continue;
    written.add(event.id);
    const changedMs = Math.max(...members.map(({ id }) => modifiedMs.get(id) ?? 0));
    const modified = new Date(changedMs).toISOString().replace(/\.\d+|[-:]/g, '');
    const joined = (read: (row: TimetableEvent) => string | null): string =>
      [...new Set(members.map((row) => read(row) ?? ''))]
        .filter((each) => each !== '')
        .sort(compareText)
        .join(', ');
    const types = [...new Set(members.map(({ type }) => type ?? ''))]
      .filter((each) => each)
      .sort(compareText);
    const known = [joined(({ lecturer }) => lecturer), joined(({ studyGroup }) => studyGroup)].filter(
      Boolean,
    );
    const course = event.courseId === null ? null : nameOracle(all, 'courseId', event.courseId);
    const room = joined(({ roomId }) =>
      roomId === null ? null : nameOracle(all, 'roomId', roomId) || roomId,
    );
    const isGroupOnly = joined(({ lecturer }) => lecturer) === '';
    const isClash = members.some(({ id }) => clashes.has(id));
    const [first] = all.filter(({ lessonId }) => lessonId === lesson).sort(compareEvents);
    const isFirst = first?.time === Date.parse(event.time) && first.endTime === Date.parse(event.endTime);
    const uid = lesson === null ? event.id : isFirst ? lesson : `${lesson}/${start}/${end}`;
    const categories = [...types.map(text), isClash ? 'CLASH' : ''].filter((each) => each);
    const properties = [
      ['UID', text(uid)],
      ['DTSTAMP', modified],
      ['LAST-MODIFIED', modified],
      ['DTSTART', start],
      ['DTEND', end === start ? '' : end],
      ['SUMMARY', text(event.title || course || types.join(', '))],
      ['LOCATION', text(room)],
      [isGroupOnly ? 'DESCRIPTION;X-LECTERN=GROUP' : 'DESCRIPTION', text(known.join('\n'))],
      ['CATEGORIES', categories.join(',')],
    ];
    lines.push('BEGIN:VEVENT');
    for (const [name, value] of properties) if (value !== '') lines.push(`${name}:${value}`);
    lines.push('END:VEVENT');
  }
  lines.push('END:VCALENDAR');
  return lines.map((line) => `${folded(line)}\r\n`).join('');
}

/**
 * The rows of the page of a feed.
 *
 * @param all every event of the data set, for the names of rooms and courses
 */
export function pageRowsOf(events: readonly TimetableEvent[], all: readonly NormalisedEvent[] = []): string {
  const rows = events.map((event) => {
    const course = event.courseId === null ? null : nameOracle(all, 'courseId', event.courseId);
    const room = event.roomId === null ? null : nameOracle(all, 'roomId', event.roomId);
    const [startDay, startTime] = dayAndMinute(event.time);
    const [endDay, endTime] = dayAndMinute(event.endTime);
    const end = startDay === endDay ? endTime : `${endDay} ${endTime}`;
    const cells = [
      `<time datetime="${event.time}">${startDay} ${startTime}</time>`,
      `<time datetime="${event.endTime}">${end}</time>`,
      ...[event.title || course, room ?? event.roomId, event.lecturer, event.studyGroup, event.type].map(
        html,
      ),
    ];
    return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>\n`;
  });
  return rows.join('');
}

function dayAndMinute(instant: string): [day: string, minute: string] {
  return [instant.slice(0, 10), instant.slice(11, 16)];
}

/** The content of an element. */
function html(value: string | null): string {
  return (value ?? '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replace(/\p{Cc}/gu, (control) => (control >= '\u0080' ? control : ' '));
}

/** TEXT of RFC 5545 section 3.3.11, one character at a time. */
function text(value: string): string {
  let written = '';
  for (const character of value.replaceAll('\r\n', '\n').replaceAll('\r', '\n')) {
    if (character === '\n') written += '\\n';
    else if ('\\;,'.includes(character)) written += `\\${character}`;
    else if (character === '\t' || !/\p{Cc}/u.test(character) || character >= '\u0080') written += character;
  }
  return written;
}

function folded(line: string): string {
  if (Buffer.byteLength(line) <= 75) return line;
  const parts = [''];
  for (const character of line) {
    const last = parts.at(-1) as string;
    if (Buffer.byteLength(last + character) > 75) parts.push(` ${character}`);
    else parts[parts.length - 1] = last + character;
  }
  return parts.join('\r\n');
}
