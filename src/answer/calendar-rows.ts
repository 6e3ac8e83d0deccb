import { GROUP_ONLY, OWN_CALENDAR } from '../base/model/format.js';
import { compareCodePoints } from '../base/model/text.js';
import type { CodeColumn } from '../base/structures/posting-lists.js';
import type { Rows } from '../snapshot/rows.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import { LessonGroups } from './lesson-groups.js';
import { type ListLayout, NO_ROOM } from './row-layout.js';
import type { FeedHead, RowListForm } from './row-lists.js';
import {
  copyBytes,
  fieldNumber,
  HAS_COMMA,
  HAS_ESCAPE,
  HAS_SEMICOLON_OR_DELETE,
  type NameAt,
  namesAt,
  put,
  RowSpans,
} from './row-spans.js';

/** Content lines of RFC 5545 section 3.1. */

const LINE_OCTETS_MAX = 75;

const SPECIAL = /[\\;,]/g;
const LINE_BREAK = /\r\n?|\n/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 5545 section 3.1 excludes these
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const ESCAPABLE = /[\\;,\x00-\x08\x0a-\x1f\x7f]/;

/** TEXT of section 3.3.11. Control characters are left out, because iCalendar cannot represent them. */
function escapeText(text: string): string {
  if (!ESCAPABLE.test(text)) return text;
  return text.replace(SPECIAL, '\\$&').replace(LINE_BREAK, '\\n').replace(CONTROLS, '');
}

/** A line with its end, folded after at most 75 octets and never within a character. @param value in its written form */
function contentLine(name: string, value: string): string {
  const line = `${name}:${value}`;
  if (line.length * 3 <= LINE_OCTETS_MAX) return `${line}\r\n`;
  let folded = '';
  let from = 0;
  let octets = 0;
  for (let at = 0; at < line.length; ) {
    const code = line.codePointAt(at) as number;
    const size = octetsOfCode(code);
    if (octets + size > LINE_OCTETS_MAX) {
      folded += `${line.slice(from, at)}\r\n `;
      from = at;
      octets = 1;
    }
    octets += size;
    at += code > 0xffff ? 2 : 1;
  }
  return `${folded}${line.slice(from)}\r\n`;
}

function octetsOfCode(code: number): number {
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}

interface EventNames {
  readonly roomName: NameAt;
  readonly courseName: NameAt;
}

/** What a VEVENT has besides its rows. */
interface EventFacts {
  /** Null: the id. */
  readonly uid: string | null;
  /** Seconds since 1970 of the last change. */
  readonly modifiedS: number;
  readonly names: EventNames;
  readonly isClash: boolean;
}

const CLOSING = Buffer.from('END:VCALENDAR\r\n');

/** The lines before the first event. @param more additional lines, such as the name of a feed */
function calendarOpening(more = ''): Buffer {
  return Buffer.from(`BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:${OWN_CALENDAR}\r\n${more}`);
}

/** How often calendar programs should fetch the feed. Few comply. */
const REFRESH = 'PT15M';

/** The lines before the first event of a feed: fields of RFC 7986, and their older equivalents. */
function feedOpening({ name }: FeedHead): Buffer {
  const text = escapeText(name);
  const lines = [
    contentLine('NAME', text),
    contentLine('X-WR-CALNAME', text),
    contentLine('REFRESH-INTERVAL;VALUE=DURATION', REFRESH),
    contentLine('X-PUBLISHED-TTL', REFRESH),
  ];
  return calendarOpening(lines.join(''));
}

const OPENING = calendarOpening();

/**
 * Writes a VEVENT of RFC 5545 for each event, or for the rows of a lesson.
 *
 * @param marksClashes whether events in a conflict have an additional category
 */
export function calendarForm(snapshot: Snapshot, marksClashes: boolean): RowListForm {
  const { merged, modified } = snapshot;
  const isClash = (ordinal: number): boolean =>
    marksClashes && merged.membershipCount(ordinal, ordinal + 1) > 0;
  const names = { roomName: namesAt(snapshot, 'roomId'), courseName: namesAt(snapshot, 'courseId') };
  const number = marksClashes ? 5 : 4;
  const layout: ListLayout = {
    number,
    isOfSnapshot: true,
    sums: null,
    write(rows, ordinal, target, offset) {
      const event = { uid: null, modifiedS: modified[ordinal] as number, names, isClash: isClash(ordinal) };
      return writeEvent(rows, ordinal, event, target, offset);
    },
    ...(snapshot.lessons.codes.length === 0 ? {} : { among: lessonJoiner(number, snapshot, names, isClash) }),
  };
  return { opening: OPENING, closing: CLOSING, openingOf: feedOpening, layout };
}

/** Joins the rows of each lesson: one VEVENT, at that of the first, has their rooms, lecturers and groups. */
function lessonJoiner(
  number: number,
  snapshot: Snapshot,
  names: EventNames,
  isClash: (ordinal: number) => boolean,
): NonNullable<ListLayout['among']> {
  const { lessons, modified } = snapshot;
  const first = firstRows(lessons.codes, lessons.dictionary.size);
  // A lesson at several times has a UID for each; that of the first time is the lessonId.
  const uidOf = (rows: Rows, ordinal: number): string | null => {
    const lesson = lessons.nameOf(ordinal);
    if (lesson === null) return null;
    const isFirst =
      snapshot.slotOf(first[lessons.codes[ordinal] as number] as number) === snapshot.slotOf(ordinal);
    if (isFirst) return lesson;
    spans.read(rows, ordinal);
    return [lesson, ...[TIME, END_TIME].map((field) => instantText(spans.textOf(rows, field) ?? ''))].join(
      '/',
    );
  };
  return (selection) => {
    const groups = new LessonGroups(snapshot, selection);
    return {
      number,
      sums: null,
      write(rows, ordinal, target, offset) {
        const members = groups.membersOf(ordinal);
        if (members === null) return offset;
        const uid = uidOf(rows, ordinal);
        const modifiedS = members.reduce((latest, each) => Math.max(latest, modified[each] as number), 0);
        const event = { uid, names, modifiedS, isClash: members.some(isClash) };
        if (members.length === 1) return writeEvent(rows, ordinal, event, target, offset);
        const text = lessonText(rows, members, event);
        if (Buffer.byteLength(text) > target.length - offset) return NO_ROOM;
        return offset + target.write(text, offset, 'utf8');
      },
    };
  };
}

/** The first row of each code. */
function firstRows(codes: CodeColumn, size: number): Uint32Array {
  const first = new Uint32Array(size);
  for (let ordinal = codes.length - 1; ordinal >= 0; ordinal--) {
    const code = codes[ordinal] as number;
    if (code < size) first[code] = ordinal;
  }
  return first;
}

const ID = fieldNumber('id');
const TIME = fieldNumber('time');
const END_TIME = fieldNumber('endTime');
const TITLE = fieldNumber('title');
const ROOM = fieldNumber('roomId');
const GROUP = fieldNumber('studyGroup');
const LECTURER = fieldNumber('lecturer');
const TYPE = fieldNumber('type');

/** Bytes apart from texts: names of properties, instants, line ends. */
const FRAME_BYTES_MAX = 512;
/** Bytes per byte of JSON: escapes and folds double a text, and the type may be written twice. */
const BYTES_PER_JSON_BYTE_MAX = 5;
/** Longest UTF-8 of a UTF-16 unit, times its growth by escapes and folds. */
const BYTES_PER_UNIT_MAX = 3 * 3;

const BEGIN = Buffer.from('BEGIN:VEVENT\r\n');
// Without METHOD, both say when the event last changed (RFC 5545 sections 3.8.7.2 and 3.8.7.3).
const STAMP = Buffer.from('DTSTAMP:');
const LAST_MODIFIED = Buffer.from('LAST-MODIFIED:');
const START = Buffer.from('DTSTART:');
const END = Buffer.from('DTEND:');
const CLOSE = Buffer.from('END:VEVENT\r\n');
const LINE_END = Buffer.from('\r\n');
const ESCAPED_BREAK = Buffer.from('\\n');
/** The additional category of events in a conflict. */
const CLASH = 'CLASH';
const NEEDS_ESCAPES = HAS_ESCAPE | HAS_COMMA | HAS_SEMICOLON_OR_DELETE;

interface Property {
  readonly name: string;
  readonly bytes: Buffer;
}

const property = (name: string): Property => ({ name, bytes: Buffer.from(`${name}:`) });
const UID = property('UID');
const SUMMARY = property('SUMMARY');
const LOCATION = property('LOCATION');
const DESCRIPTION = property('DESCRIPTION');
/** One line that is a group and no lecturer. */
const DESCRIPTION_OF_GROUP = property(`DESCRIPTION;${GROUP_ONLY}`);
const CATEGORIES = property('CATEGORIES');

const spans = new RowSpans();

/** The texts that are not empty, by code point. */
function inOrder(texts: ReadonlySet<string>): string[] {
  return [...texts].filter((text) => text !== '').sort(compareCodePoints);
}

/** The VEVENT of a lesson. Title and times are those of the first row. */
function lessonText(
  rows: Rows,
  members: Uint32Array,
  { uid, names, modifiedS, isClash }: EventFacts,
): string {
  const [leader = 0] = members;
  const [places, lecturers, groups, types] = [
    new Set<string>(),
    new Set<string>(),
    new Set<string>(),
    new Set<string>(),
  ];
  for (const ordinal of members) {
    spans.read(rows, ordinal);
    places.add(names.roomName(ordinal) ?? spans.textOf(rows, ROOM) ?? '');
    lecturers.add(spans.textOf(rows, LECTURER) ?? '');
    groups.add(spans.textOf(rows, GROUP) ?? '');
    types.add(spans.textOf(rows, TYPE) ?? '');
  }
  spans.read(rows, leader);
  const [start, end] = [TIME, END_TIME].map((field) => instantText(spans.textOf(rows, field) ?? ''));
  const title = spans.textOf(rows, TITLE) || names.courseName(leader) || inOrder(types).join(', ');
  const [lecturer = '', group = ''] = [lecturers, groups].map((texts) => inOrder(texts).join(', '));
  const people = [lecturer, group].filter((text) => text !== '').join('\n');
  const description = lecturer === '' ? DESCRIPTION_OF_GROUP : DESCRIPTION;
  const categories = [...inOrder(types).map(escapeText), ...(isClash ? [CLASH] : [])];
  const lines = [
    contentLine('UID', escapeText(uid ?? '')),
    `${STAMP}${stampOf(modifiedS)}\r\n${LAST_MODIFIED}${stampOf(modifiedS)}\r\n`,
    `DTSTART:${start}\r\n`,
    start === end ? '' : `DTEND:${end}\r\n`,
    ...[
      ['SUMMARY', escapeText(title)] as const,
      ['LOCATION', escapeText(inOrder(places).join(', '))] as const,
      [description.name, escapeText(people)] as const,
      ['CATEGORIES', categories.join(',')] as const,
    ].map(([name, value]) => (value === '' ? '' : contentLine(name, value))),
  ];
  return `${BEGIN}${lines.join('')}${CLOSE}`;
}

/** `20240902T080000Z` */
function instantText(text: string): string {
  return text.replace(/[-:]|\.\d+/g, '');
}

/** Most texts need no escapes and no folds, and are copied. */
function writeEvent(
  rows: Rows,
  ordinal: number,
  { uid, modifiedS, names, isClash }: EventFacts,
  target: Buffer,
  offset: number,
): number {
  const { bytes, start } = rows;
  spans.read(rows, ordinal);
  const hasTitle = hasText(TITLE);
  const courseName = hasTitle ? null : names.courseName(ordinal);
  const roomName = names.roomName(ordinal);
  const nameUnits = (courseName?.length ?? 0) + (roomName?.length ?? 0) + (uid?.length ?? 0);
  const bytesMax =
    FRAME_BYTES_MAX +
    (start[ordinal + 1]! - start[ordinal]!) * BYTES_PER_JSON_BYTE_MAX +
    nameUnits * BYTES_PER_UNIT_MAX;
  if (bytesMax > target.length - offset) return NO_ROOM;
  let to = put(BEGIN, target, offset);
  if (uid === null) to = writeText(rows, UID, ID, target, to);
  else to = writeLine(UID, escapeText(uid), target, to);
  const modified = stampOf(modifiedS);
  to = put(LINE_END, target, put(modified, target, put(STAMP, target, to)));
  to = put(LINE_END, target, put(modified, target, put(LAST_MODIFIED, target, to)));
  to = writeInstant(bytes, START, TIME, target, to);
  // The end must be after the start (section 3.8.2.2). Without an end the event takes no time.
  if (!isSameSecond(bytes)) to = writeInstant(bytes, END, END_TIME, target, to);
  if (courseName !== null) to = writeLine(SUMMARY, escapeText(courseName), target, to);
  else to = writeText(rows, SUMMARY, hasTitle ? TITLE : TYPE, target, to);
  if (roomName !== null) to = writeLine(LOCATION, escapeText(roomName), target, to);
  else to = writeText(rows, LOCATION, ROOM, target, to);
  to = writePeople(rows, target, to);
  to = writeCategories(rows, isClash, target, to);
  return put(CLOSE, target, to);
}

let lastS = 0;
let lastStamp: Buffer = Buffer.from('19700101T000000Z');

/** Most events of a timetable changed at the same time. */
function stampOf(seconds: number): Buffer {
  if (seconds !== lastS) {
    lastS = seconds;
    lastStamp = Buffer.from(new Date(seconds * 1000).toISOString().replace(/[-:]|\.000/g, ''), 'latin1');
  }
  return lastStamp;
}

function hasText(field: number): boolean {
  return spans.from[field] !== -1 && spans.to[field]! > spans.from[field]!;
}

/** Number of octets of a text in a line. If the text needs escapes, the number is larger than any line. */
function octetsOf(field: number): number {
  return spans.has[field]! & NEEDS_ESCAPES ? LINE_OCTETS_MAX + 1 : spans.to[field]! - spans.from[field]!;
}

function copyText(rows: Rows, field: number, target: Buffer, offset: number): number {
  return copyBytes(rows.bytes, spans.from[field]!, spans.to[field]!, target, offset);
}

/** Writes nothing for null and for an empty text. */
function writeText(rows: Rows, name: Property, field: number, target: Buffer, offset: number): number {
  if (!hasText(field)) return offset;
  if (name.bytes.length + octetsOf(field) > LINE_OCTETS_MAX) {
    return writeLine(name, escapeText(spans.textOf(rows, field) ?? ''), target, offset);
  }
  return put(LINE_END, target, copyText(rows, field, target, put(name.bytes, target, offset)));
}

/** Writes nothing for an empty value. @param value escaped, without folds */
function writeLine({ name }: Property, value: string, target: Buffer, offset: number): number {
  if (value === '') return offset;
  return offset + target.write(contentLine(name, value), offset, 'utf8');
}

/** The lecturer and the study group. */
function writePeople(rows: Rows, target: Buffer, offset: number): number {
  const [hasLecturer, hasGroup] = [hasText(LECTURER), hasText(GROUP)];
  if (!hasGroup) return writeText(rows, DESCRIPTION, LECTURER, target, offset);
  if (!hasLecturer) return writeText(rows, DESCRIPTION_OF_GROUP, GROUP, target, offset);
  const octets = DESCRIPTION.bytes.length + octetsOf(LECTURER) + ESCAPED_BREAK.length + octetsOf(GROUP);
  if (octets > LINE_OCTETS_MAX) {
    const text = `${spans.textOf(rows, LECTURER)}\n${spans.textOf(rows, GROUP)}`;
    return writeLine(DESCRIPTION, escapeText(text), target, offset);
  }
  let to = copyText(rows, LECTURER, target, put(DESCRIPTION.bytes, target, offset));
  to = put(ESCAPED_BREAK, target, to);
  return put(LINE_END, target, copyText(rows, GROUP, target, to));
}

function writeCategories(rows: Rows, isClash: boolean, target: Buffer, offset: number): number {
  if (!isClash) return writeText(rows, CATEGORIES, TYPE, target, offset);
  const type = escapeText(spans.textOf(rows, TYPE) ?? '');
  return writeLine(CATEGORIES, type === '' ? CLASH : `${type},${CLASH}`, target, offset);
}

/** Places of the digits in `2024-09-02T08:00:00.000Z`. */
const DATE_DIGITS = [0, 1, 2, 3, 5, 6, 8, 9];
const TIME_DIGITS = [11, 12, 14, 15, 17, 18];
const SECOND_CHARACTERS = 'YYYY-MM-DDTHH:mm:ss'.length;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;

/** Writes `20240902T080000Z`: iCalendar has no fractions of a second. */
function writeInstant(bytes: Buffer, name: Buffer, field: number, target: Buffer, offset: number): number {
  const from = spans.from[field]!;
  let to = put(name, target, offset);
  for (const digit of DATE_DIGITS) target[to++] = bytes[from + digit]!;
  target[to++] = LETTER_T;
  for (const digit of TIME_DIGITS) target[to++] = bytes[from + digit]!;
  target[to++] = LETTER_Z;
  return put(LINE_END, target, to);
}

function isSameSecond(bytes: Buffer): boolean {
  const [start, end] = [spans.from[TIME]!, spans.from[END_TIME]!];
  for (let n = 0; n < SECOND_CHARACTERS; n++) if (bytes[start + n] !== bytes[end + n]) return false;
  return true;
}
