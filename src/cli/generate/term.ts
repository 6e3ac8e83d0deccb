import { DAY_MS } from '../../model/time.js';
import {
  type Course,
  type GeneratedGroup,
  type Institution,
  type Lecturer,
  type LessonPlan,
  TEACHING_WEEKS,
} from './institution.js';
import { Random } from './random.js';

/** A lesson or an examination. A lesson has one row for each group; without groups, it has one row. */
export interface Lesson {
  /** Minutes after midnight UTC. */
  readonly startMinute: number;
  readonly endMinute: number;
  readonly title: string | null;
  readonly roomId: string | null;
  readonly courseId: string | null;
  readonly type: LessonPlan['type'] | 'EXAM' | null;
  readonly lecturer: Lecturer | null;
  readonly groups: readonly GeneratedGroup[];
}

/** Lessons are in order of start and end. */
export interface TermDay {
  readonly midnightMs: number;
  readonly lessons: Lesson[];
}

const FIRST_YEAR = 2026;
const EXAM_WEEKS = 2;
const DAYS_PER_WEEK = 5;

/** Seven periods of 90 minutes from 08:00, with breaks of 15. Lessons take a whole number of half periods. */
const HALVES_PER_DAY = 14;
const HALVES = { LEC: 2, SEM: 2, LAB: 4, TUT: 1 };
const EXAM_MINUTES = 120;
const EXAM_START_MINUTES = [540, 690, 840];
/** Random tries before the whole week is searched. */
const RANDOM_TRIES = 24;
/** Streams 1 to 15 are for the institution. */
const RANDOM_STREAM_FIRST = 16;

/** Busy times: a word of half-period bits for each entity and weekday. */
class BusyTimes {
  readonly #busy: Uint16Array;

  constructor(entities: number) {
    this.#busy = new Uint16Array(entities * DAYS_PER_WEEK);
  }

  isFree(entity: number, day: number, mask: number): boolean {
    return ((this.#busy[entity * DAYS_PER_WEEK + day] as number) & mask) === 0;
  }

  occupy(entity: number, day: number, mask: number): void {
    this.#busy[entity * DAYS_PER_WEEK + day] = (this.#busy[entity * DAYS_PER_WEEK + day] as number) | mask;
  }
}

/** Gives each lesson a day, a time, a room and a lecturer without clashes. Lessons without a free place are dropped. */
export function planTerm(seed: number, term: number, institution: Institution): TermDay[] {
  const random = new Random(seed, RANDOM_STREAM_FIRST + 2 * term);
  const { rooms, cohorts } = institution;
  const busyGroups = new BusyTimes(institution.groupCount);
  const busyLecturers = new BusyTimes(institution.lecturers.length);
  const busyRooms = new BusyTimes(rooms.length);
  const days = termDaysOf(term);
  const examDays = days.slice(-DAYS_PER_WEEK * EXAM_WEEKS);

  function place(course: Course, { type, fortnightly }: LessonPlan, groups: readonly GeneratedGroup[]): void {
    const firstWeek = fortnightly && !random.chance(500) ? 1 : 0;
    // The lecturer is chosen first, because trying all lecturers at every time would take long.
    const lecturer = random.chance(40)
      ? null
      : type === 'LEC'
        ? (course.staff[0] as Lecturer)
        : random.pick(course.staff);
    const online = random.chance(30);
    const halves = HALVES[type];
    const step = halves === 1 ? 1 : 2;
    const starts = Math.floor((HALVES_PER_DAY - halves) / step) + 1;
    const places = DAYS_PER_WEEK * starts;
    const offset = random.below(places);
    for (let attempt = 0; attempt < RANDOM_TRIES + places; attempt++) {
      const at = attempt < RANDOM_TRIES ? random.below(places) : (offset + attempt) % places;
      const day = at % DAYS_PER_WEEK;
      const half = Math.floor(at / DAYS_PER_WEEK) * step;
      const mask = ((1 << halves) - 1) << half;
      if (lecturer !== null && !busyLecturers.isFree(lecturer.index, day, mask)) continue;
      if (!groups.every((group) => busyGroups.isFree(group.index, day, mask))) continue;
      const room = online ? null : findRoom(random, busyRooms, rooms.length, day, mask);
      if (room === -1) continue;

      if (lecturer !== null) busyLecturers.occupy(lecturer.index, day, mask);
      if (room !== null) busyRooms.occupy(room, day, mask);
      for (const group of groups) busyGroups.occupy(group.index, day, mask);
      // Shared lessons keep their course and groups.
      const single = groups.length === 1;
      const lesson = {
        startMinute: halfStartMinute(half),
        endMinute: halfStartMinute(half + halves - 1) + 45,
        title: random.chance(5) ? null : course.title,
        roomId: room === null ? null : (rooms[room] as string),
        courseId: single && random.chance(15) ? null : course.id,
        type: random.chance(10) ? null : type,
        lecturer,
        groups: single && random.chance(10) ? [] : groups,
      };
      for (let week = firstWeek; week < TEACHING_WEEKS; week += fortnightly ? 2 : 1) {
        days[week * DAYS_PER_WEEK + day]?.lessons.push(lesson);
      }
      return;
    }
  }

  for (const { groups, courses } of cohorts) {
    for (const [n, course] of courses.entries()) {
      for (const plan of course.plans) {
        for (const attending of plan.type === 'LEC' ? [groups] : groups.map((group) => [group])) {
          place(course, plan, attending);
        }
      }
      // Each course has its own day, so no group has two examinations at once. Rooms may clash.
      const examDay = examDays[(n + random.below(2) * courses.length) % examDays.length];
      const startMinute = random.pick(EXAM_START_MINUTES);
      examDay?.lessons.push({
        startMinute,
        endMinute: startMinute + EXAM_MINUTES,
        title: course.title,
        roomId: random.pick(rooms),
        courseId: course.id,
        type: 'EXAM',
        lecturer: course.staff[0] as Lecturer,
        groups,
      });
    }
  }
  for (const { lessons } of days) {
    lessons.sort((a, b) => a.startMinute - b.startMinute || a.endMinute - b.endMinute);
  }
  return days;
}

/** The index of a free room, or -1. The search begins at a random room. */
function findRoom(random: Random, busy: BusyTimes, count: number, day: number, mask: number): number {
  const first = random.below(count);
  for (let i = 0; i < count; i++) {
    const room = (first + i) % count;
    if (busy.isFree(room, day, mask)) return room;
  }
  return -1;
}

function halfStartMinute(half: number): number {
  return 480 + 105 * (half >> 1) + 45 * (half & 1);
}

/** Terms count from 0 and alternate autumn and spring. */
function termDaysOf(term: number): TermDay[] {
  const year = FIRST_YEAR + (term >> 1);
  const isSpring = term % 2 === 1;
  const teachingMs = isSpring ? firstMondayMs(year + 1, 1, 8) : firstMondayMs(year, 8, 10);
  // Autumn examinations come after the holidays.
  const examsMs = isSpring ? teachingMs + TEACHING_WEEKS * 7 * DAY_MS : firstMondayMs(year + 1, 0, 4);
  return [...daysFrom(teachingMs, TEACHING_WEEKS), ...daysFrom(examsMs, EXAM_WEEKS)];
}

function daysFrom(mondayMs: number, weeks: number): TermDay[] {
  return Array.from({ length: weeks * DAYS_PER_WEEK }, (_, n) => {
    const days = 7 * Math.floor(n / DAYS_PER_WEEK) + (n % DAYS_PER_WEEK);
    return { midnightMs: mondayMs + days * DAY_MS, lessons: [] };
  });
}

/** The first Monday on or after a date; months count from 0. */
function firstMondayMs(year: number, month: number, day: number): number {
  const fromMs = Date.UTC(year, month, day);
  const weekday = new Date(fromMs).getUTCDay();
  return fromMs + ((8 - weekday) % 7) * DAY_MS;
}
