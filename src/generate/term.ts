import { DAYS_PER_WEEK, EXAM_WEEKS, HALVES_PER_DAY, halvesToMinutes } from './calendar.js';
import type { Course, Group, Institution, Lecturer, LessonType } from './institution.js';
import { createRandom, type Random } from './random.js';

/** A lesson of the weekly pattern, or an examination. One row for each group; without groups, one row with none. */
export interface Lesson {
  readonly startMinute: number;
  readonly endMinute: number;
  readonly title: string | null;
  readonly roomId: string | null;
  readonly courseId: string | null;
  readonly type: LessonType | null;
  readonly lecturer: Lecturer | null;
  readonly groups: readonly Group[];
  /** Takes place in even weeks (0), in odd weeks (1), or in all (null). */
  readonly parity: 0 | 1 | null;
}

/** The lessons of each weekday, and of each day of the examination weeks, by start and end. */
export interface TermPlan {
  readonly teaching: readonly (readonly Lesson[])[];
  readonly exams: readonly (readonly Lesson[])[];
}

const EXAM_MINUTES = 120;
const EXAM_START_MINUTES = [540, 690, 840];
/** Tries to find a free place before all of the week is searched. */
const RANDOM_TRIES = 24;
/** Streams 1 to 15 are for the institution. */
const RANDOM_STREAM_FIRST = 16;

/** Who is busy when: one word of half-period bits for each entity and weekday. */
class Calendar {
  readonly #busy: Uint16Array;

  constructor(entities: number) {
    this.#busy = new Uint16Array(entities * DAYS_PER_WEEK);
  }

  isFree(entity: number, day: number, mask: number): boolean {
    return ((this.#busy[entity * DAYS_PER_WEEK + day] as number) & mask) === 0;
  }

  occupy(entity: number, day: number, mask: number): void {
    const at = entity * DAYS_PER_WEEK + day;
    this.#busy[at] = (this.#busy[at] as number) | mask;
  }
}

/**
 * Plans one term: every lesson gets a day, a time, a room and a lecturer such that nothing clashes. A lesson that no
 * free place can be found for is dropped. Clashes are made on purpose, and later, by the changes of single days.
 */
export function planTerm(seed: number, term: number, institution: Institution): TermPlan {
  const random = createRandom(seed, RANDOM_STREAM_FIRST + 2 * term);
  const groupCount = institution.cohorts.reduce((sum, cohort) => sum + cohort.groups.length, 0);
  const busy = {
    groups: new Calendar(groupCount),
    lecturers: new Calendar(institution.lecturers.length),
    rooms: new Calendar(institution.rooms.length),
  };
  const teaching: Lesson[][] = Array.from({ length: DAYS_PER_WEEK }, () => []);
  const exams: Lesson[][] = Array.from({ length: DAYS_PER_WEEK * EXAM_WEEKS }, () => []);

  function place(
    course: Course,
    type: LessonType,
    halves: number,
    groups: readonly Group[],
    parity: 0 | 1 | null,
  ) {
    // Without a fixed lecturer and room first, a search of the week would have to try all of them at every time.
    const lecturer = random.chance(40)
      ? null
      : type === 'LEC'
        ? (course.staff[0] as Lecturer)
        : random.pick(course.staff);
    const online = random.chance(30);
    const step = halves === 1 ? 1 : 2;
    const starts = Math.floor((HALVES_PER_DAY - halves) / step) + 1;
    const places = DAYS_PER_WEEK * starts;
    const offset = random.below(places);
    for (let attempt = 0; attempt < RANDOM_TRIES + places; attempt++) {
      const at = attempt < RANDOM_TRIES ? random.below(places) : (offset + attempt) % places;
      const day = at % DAYS_PER_WEEK;
      const half = Math.floor(at / DAYS_PER_WEEK) * step;
      const mask = ((1 << halves) - 1) << half;
      if (lecturer !== null && !busy.lecturers.isFree(lecturer.index, day, mask)) continue;
      if (!groups.every((group) => busy.groups.isFree(group.index, day, mask))) continue;
      const room = online ? null : findRoom(random, busy.rooms, institution.rooms.length, day, mask);
      if (room === -1) continue;

      if (lecturer !== null) busy.lecturers.occupy(lecturer.index, day, mask);
      if (room !== null) busy.rooms.occupy(room, day, mask);
      for (const group of groups) busy.groups.occupy(group.index, day, mask);
      // A row that knows no course or group is never one of several of a shared lesson.
      const single = groups.length === 1;
      (teaching[day] as Lesson[]).push({
        ...halvesToMinutes(half, halves),
        title: random.chance(5) ? null : course.title,
        roomId: room === null ? null : (institution.rooms[room] as string),
        courseId: single && random.chance(15) ? null : course.id,
        type: random.chance(10) ? null : type,
        lecturer,
        groups: single && random.chance(10) ? [] : groups,
        parity,
      });
      return;
    }
  }

  for (const { groups, courses } of institution.cohorts) {
    courses.forEach((course, courseOfCohort) => {
      for (const plan of course.plans) {
        for (const attending of plan.shared ? [groups] : groups.map((group) => [group])) {
          const parity = plan.fortnightly ? (random.chance(500) ? 0 : 1) : null;
          place(course, plan.type, plan.halves, attending, parity);
        }
      }
      // A day for each course, so that no group sits two examinations at once; rooms may still be short.
      const examDay = exams[(courseOfCohort + random.below(2) * courses.length) % exams.length] as Lesson[];
      examDay.push(planExam(random, institution, course, groups));
    });
  }
  for (const day of [...teaching, ...exams]) day.sort(byTime);
  return { teaching, exams };
}

/** The index of a room that is free, or -1; looks at a few at random and then at all. */
function findRoom(random: Random, rooms: Calendar, count: number, day: number, mask: number): number {
  const first = random.below(count);
  for (let i = 0; i < count; i++) {
    const room = (first + i) % count;
    if (rooms.isFree(room, day, mask)) return room;
  }
  return -1;
}

function planExam(random: Random, { rooms }: Institution, course: Course, groups: readonly Group[]): Lesson {
  const startMinute = random.pick(EXAM_START_MINUTES);
  return {
    startMinute,
    endMinute: startMinute + EXAM_MINUTES,
    title: course.title,
    roomId: random.pick(rooms),
    courseId: course.id,
    type: 'EXAM',
    lecturer: course.staff[0] as Lecturer,
    groups,
    parity: null,
  };
}

function byTime(a: Lesson, b: Lesson): number {
  return a.startMinute - b.startMinute || a.endMinute - b.endMinute;
}
