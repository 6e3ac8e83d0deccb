/** Room generate/. Synthetic timetables from a seed. It imports nothing of the service but the model. */
import { formatInstant } from '../model/time.js';
import { DAYS_PER_WEEK, EXAM_WEEKS, instantMs, mondayMs, TEACHING_WEEKS } from './calendar.js';
import { foundInstitution, type Group } from './institution.js';
import { createRandom, type Random } from './random.js';
import { type Lesson, planTerm, type TermPlan } from './term.js';
import { createUuids } from './uuid.js';

/** One generated record, with its fields in the order of the output. */
export interface GeneratedEvent {
  readonly id: string;
  readonly time: string;
  readonly endTime: string;
  readonly title: string | null;
  readonly roomId: string | null;
  readonly courseId: string | null;
  readonly studyGroup: string | null;
  readonly lecturer: string | null;
  readonly lecturerId: string | null;
  readonly type: string | null;
  readonly groupId: string | null;
}

export interface GenerateOptions {
  /** How many, from 0 to GENERATED_EVENTS_MAX. */
  readonly events: number;
  /** Any safe integer; the same seed gives the same events. */
  readonly seed: number;
  /**
   * Gives every event a start and end of its own (no lecture is shared, and starts differ by seconds), to measure the
   * worst case of an index over slots. Default false.
   */
  readonly distinctSlots?: boolean;
}

/**
 * Events of one term at most, which keeps an institution at about 9,000 events a week and 1,800 a day in 340 rooms;
 * more events make more terms. What is held in memory is one term's weekly pattern and one day's events.
 */
const ROWS_PER_TERM_MAX = 120_000;

/** Of a thousand lessons of a single day: how many clash with another. */
const ROOM_CLASH_PER_MILLE = 5;
const LECTURER_CLASH_PER_MILLE = 4;
const GROUP_CLASH_PER_MILLE = 3;
/** Planned beyond what is asked for, since some lessons find no place; what is too much is called off. */
const SURPLUS = 1.03;
/** Events that are aimed at beyond what is asked for, so that the last day reaches it. */
const RESERVE = 8;

/** See {@link planTerm}, which has the even streams. */
const RANDOM_STREAM_FIRST = 17;

/**
 * A synthetic timetable: a weekly pattern for each term of an institution, with what happens to it day by day.
 *
 * Events come in the order of the service (time, endTime, id) and there are exactly as many as asked for; the last
 * term ends early where they are enough. The institution grows with the number of events up to the size of a large
 * faculty, and beyond that the number of terms does, so that memory does not grow.
 */
export function* generateEvents(options: GenerateOptions): Generator<GeneratedEvent, void, undefined> {
  const { events, seed, distinctSlots = false } = options;
  const terms = Math.max(1, Math.ceil(events / ROWS_PER_TERM_MAX));
  const institution = foundInstitution(seed, Math.ceil((events / terms) * SURPLUS), !distinctSlots);
  const eventId = createUuids(seed, 'event');
  let made = 0;

  for (let term = 0; made < events; term++) {
    const plan = planTerm(seed, term, institution);
    const random = createRandom(seed, RANDOM_STREAM_FIRST + 2 * term);
    // Day by day as many lessons are called off as leave the term with its share of the events.
    let wanted = Math.ceil((events - made) / Math.max(1, terms - term)) + RESERVE;
    let planned = rowsOfTerm(plan);
    for (let week = 0; week < WEEKS; week++) {
      for (let day = 0; day < DAYS_PER_WEEK; day++) {
        const lessons = lessonsOf(plan, week, day);
        const held = changeDay(random, lessons, wanted / planned);
        const batch = dateLessons(held, mondayMs(term, week), day, distinctSlots, (row) =>
          eventId(made + row),
        );
        batch.sort(inOrder);
        const count = Math.min(batch.length, events - made);
        for (let i = 0; i < count; i++) yield batch[i] as GeneratedEvent;
        made += count;
        if (made === events) return;
        wanted -= batch.length;
        planned -= rowsOf(lessons);
      }
    }
  }
}

const WEEKS = TEACHING_WEEKS + EXAM_WEEKS;

function lessonsOf(plan: TermPlan, week: number, day: number): readonly Lesson[] {
  if (week >= TEACHING_WEEKS) return plan.exams[(week - TEACHING_WEEKS) * DAYS_PER_WEEK + day] ?? [];
  return (plan.teaching[day] ?? []).filter(({ parity }) => parity === null || parity === week % 2);
}

function rowsOf(lessons: readonly Lesson[]): number {
  return lessons.reduce((sum, { groups }) => sum + Math.max(1, groups.length), 0);
}

function rowsOfTerm(plan: TermPlan): number {
  let rows = 0;
  for (let week = 0; week < WEEKS; week++) {
    for (let day = 0; day < DAYS_PER_WEEK; day++) rows += rowsOf(lessonsOf(plan, week, day));
  }
  return rows;
}

/** What becomes of the pattern on one day: lessons called off, and clashes with another lesson of the same time. */
function changeDay(random: Random, lessons: readonly Lesson[], heldShare: number): Lesson[] {
  const changed: Lesson[] = [];
  let slotStart = 0;
  for (const lesson of lessons) {
    if (random.fraction() >= heldShare) continue;
    const slot = changed[slotStart];
    if (slot?.startMinute !== lesson.startMinute || slot.endMinute !== lesson.endMinute)
      slotStart = changed.length;
    changed.push(slotStart < changed.length ? clash(random, lesson, changed, slotStart) : lesson);
  }
  return changed;
}

/** Now and then a lesson takes the room, the lecturer or a group of an earlier one of its slot. */
function clash(random: Random, lesson: Lesson, changed: readonly Lesson[], slotStart: number): Lesson {
  const draw = random.below(1000);
  if (draw >= ROOM_CLASH_PER_MILLE + LECTURER_CLASH_PER_MILLE + GROUP_CLASH_PER_MILLE) return lesson;
  const other = changed[slotStart + random.below(changed.length - slotStart)] as Lesson;
  if (other.courseId === lesson.courseId) return lesson;
  if (draw < ROOM_CLASH_PER_MILLE) return { ...lesson, roomId: other.roomId };
  if (draw < ROOM_CLASH_PER_MILLE + LECTURER_CLASH_PER_MILLE) return { ...lesson, lecturer: other.lecturer };
  const guest = other.groups[0];
  if (guest === undefined || lesson.groups.includes(guest)) return lesson;
  return { ...lesson, groups: [...lesson.groups.slice(1), guest] };
}

/** The events of one day, in no particular order. */
function dateLessons(
  lessons: readonly Lesson[],
  weekMondayMs: number,
  day: number,
  distinctSlots: boolean,
  idOfRow: (row: number) => string,
): GeneratedEvent[] {
  const batch: GeneratedEvent[] = [];
  let before: Lesson | undefined;
  let rowOfSlot = 0;
  let time = '';
  let endTime = '';
  for (const lesson of lessons) {
    if (lesson.startMinute !== before?.startMinute || lesson.endMinute !== before.endMinute) {
      before = lesson;
      rowOfSlot = 0;
      time = formatInstant(instantMs(weekMondayMs, day, lesson.startMinute));
      endTime = formatInstant(instantMs(weekMondayMs, day, lesson.endMinute));
    }
    for (const group of lesson.groups.length === 0 ? [null] : lesson.groups) {
      if (distinctSlots) {
        // Only starts move, and by less than the shortest lesson, so no two lessons begin to overlap.
        time = formatInstant(instantMs(weekMondayMs, day, lesson.startMinute + rowOfSlot / 60));
      }
      batch.push(toEvent(lesson, group, idOfRow(batch.length), time, endTime));
      rowOfSlot++;
    }
  }
  return batch;
}

function toEvent(
  lesson: Lesson,
  group: Group | null,
  id: string,
  time: string,
  endTime: string,
): GeneratedEvent {
  return {
    id,
    time,
    endTime,
    title: lesson.title,
    roomId: lesson.roomId,
    courseId: lesson.courseId,
    studyGroup: group?.code ?? null,
    lecturer: lesson.lecturer?.name ?? null,
    lecturerId: lesson.lecturer?.id ?? null,
    type: lesson.type,
    groupId: group?.id ?? null,
  };
}

/** The order of the service. Times of one form sort as text. */
function inOrder(a: GeneratedEvent, b: GeneratedEvent): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1;
  if (a.endTime !== b.endTime) return a.endTime < b.endTime ? -1 : 1;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
