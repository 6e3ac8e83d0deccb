/** Rows of the timetable as lessons: a lesson of several groups, lecturers or rooms is one. */
import { addDays, dayStart, wallTime } from './time.js';

/** A row with the names to show. Feeds have no identifiers, only names. */
export interface Row {
  readonly id: string;
  readonly start: number;
  readonly end: number;
  readonly title: string;
  readonly kind: string;
  readonly room: Named | null;
  readonly course: Named | null;
  readonly lecturer: Named | null;
  readonly group: Named | null;
}

export interface Named {
  readonly id: string | null;
  readonly name: string;
}

export interface Lesson {
  /** The id of the first row. */
  readonly id: string;
  readonly ids: readonly string[];
  readonly start: number;
  readonly end: number;
  readonly title: string;
  readonly kind: string;
  readonly course: Named | null;
  readonly rooms: readonly Named[];
  readonly lecturers: readonly Named[];
  readonly groups: readonly Named[];
}

type Mutable = { -readonly [K in keyof Lesson]: Lesson[K] extends readonly (infer E)[] ? E[] : Lesson[K] };

/** Rows equal in time, course, title and kind are one lesson, as in calendars. Rows without either stay alone. */
export function lessonsOf(rows: readonly Row[]): Lesson[] {
  const lessons = new Map<string, Mutable>();
  const known = new Set<string>();
  for (const row of rows) {
    const what = row.course?.id ?? row.course?.name ?? row.title;
    const key = what === '' ? row.id : `${row.start}\n${row.end}\n${what}\n${row.title}\n${row.kind}`;
    let lesson = lessons.get(key);
    if (lesson === undefined) {
      const { id, start, end, title, kind, course } = row;
      lesson = { id, ids: [], start, end, title, kind, course, rooms: [], lecturers: [], groups: [] };
      lessons.set(key, lesson);
    }
    lesson.ids.push(row.id);
    add(lesson, 'rooms', row.room, known);
    add(lesson, 'lecturers', row.lecturer, known);
    add(lesson, 'groups', row.group, known);
  }
  return [...lessons.values()].sort((a, b) => a.start - b.start || b.end - a.end || (a.id < b.id ? -1 : 1));
}

/** @param known what all lists have after their first, because a lesson may have 40,000 groups */
function add(
  lesson: Mutable,
  field: 'rooms' | 'lecturers' | 'groups',
  item: Named | null,
  known: Set<string>,
): void {
  if (item === null || item.name === '') return;
  const [first] = lesson[field];
  if (first?.id === item.id && first.name === item.name) return;
  if (first !== undefined) {
    const { size } = known;
    known.add(`${lesson.id} ${field} ${item.id}\n${item.name}`);
    if (known.size === size) return;
  }
  lesson[field].push(item);
}

/** A lesson, or the part of it on one day, in minutes on the clock of that day. */
export interface Span {
  readonly lesson: Lesson;
  readonly from: number;
  readonly to: number;
  /** Whether it began on an earlier day, or goes on into a later one. */
  readonly isContinued: boolean;
  readonly continues: boolean;
}

const DAY_MINUTES = 1440;
const DAY_MS = 86_400_000;

/** Lessons of a day or longer stand above the hours. */
export function isLong({ start, end }: Pick<Lesson, 'start' | 'end'>): boolean {
  return end - start >= DAY_MS;
}

/** Half-open, as windows of the API; a lesson without length is in the window that its start is in. */
export function isWithin({ start, end }: Pick<Lesson, 'start' | 'end'>, from: number, to: number): boolean {
  return start < to && (end > from || (start === end && start >= from));
}

/** The lessons of one day of a timetable. */
export interface Day {
  readonly lessons: readonly Lesson[];
  readonly long: readonly Lesson[];
  /** The parts of the shorter ones. */
  readonly spans: readonly Span[];
}

/** By timetable, then by date and zone: several parts of a view ask for the same days. */
const daysKnown = new WeakMap<readonly Lesson[], Map<string, Day>>();

/** @param zone of the clock */
export function dayOf(lessons: readonly Lesson[], date: string, zone: string): Day {
  let days = daysKnown.get(lessons);
  if (days === undefined) {
    days = new Map();
    daysKnown.set(lessons, days);
  }
  const key = `${date} ${zone}`;
  let day = days.get(key);
  if (day === undefined) {
    const [from, to] = [dayStart(date, zone), dayStart(addDays(date, 1), zone)];
    const own = lessons.filter((lesson) => isWithin(lesson, from, to));
    const spans = own.filter((lesson) => !isLong(lesson)).map((lesson) => spanOf(lesson, from, to, zone));
    day = { lessons: own, long: own.filter(isLong), spans };
    days.set(key, day);
  }
  return day;
}

function spanOf(lesson: Lesson, from: number, to: number, zone: string): Span {
  // On a day of 24 hours the clock does not change.
  const minuteOf = (instant: number): number =>
    to - from === DAY_MS ? (instant - from) / 60_000 : wallTime(instant, zone).minute;
  const [isContinued, continues] = [lesson.start < from, lesson.end > to];
  const begin = isContinued ? 0 : minuteOf(lesson.start);
  let end = lesson.end >= to ? DAY_MINUTES : minuteOf(lesson.end);
  // When clocks go back, a lesson may end at an earlier time than it began.
  if (end < begin) end = Math.min(DAY_MINUTES, begin + (lesson.end - lesson.start) / 60_000);
  return { lesson, from: begin, to: end, isContinued, continues };
}
