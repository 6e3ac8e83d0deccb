/** Folder cli/generate/. Makes synthetic timetables from a seed. This folder imports only the model. */

import type { TimetableEvent } from '../../model/event.js';
import type { Room } from '../../model/room.js';
import { formatInstant } from '../../model/time.js';
import { foundInstitution, type Institution, roomsOf } from './institution.js';
import { Random, uuids } from './random.js';
import { type Lesson, planTerm, type TermDay } from './term.js';

export type GeneratedEvent = Readonly<TimetableEvent> & {
  readonly lecturerId: string | null;
  readonly roomName?: string;
  readonly courseName?: string;
};

export interface GenerateOptions {
  /** Number of events, from 0 to GENERATED_EVENTS_MAX. */
  readonly events: number;
  /** Any safe integer; the same seed gives the same events. */
  readonly seed: number;
  /** Gives every event its own start, the worst case for an index over slots. Default false. */
  readonly distinctSlots?: boolean;
  /** Gives rooms and courses names. Default false. */
  readonly names?: boolean;
}

/**
 * Most events of a term; more events make more terms. An institution has about 9,000 events a week in 340
 * rooms.
 */
const ROWS_PER_TERM_MAX = 120_000;

/** Clashes per 1,000 lessons of a day. */
const ROOM_CLASH_PER_MILLE = 5;
const LECTURER_CLASH_PER_MILLE = 4;
const GROUP_CLASH_PER_MILLE = 3;
/** Extra lessons, because some find no place. Surplus lessons are cancelled. */
const SURPLUS = 1.03;
/** Extra events, so that the last day reaches the number of events asked for. */
const RESERVE = 8;

/** See {@link planTerm}, which uses the even streams. */
const RANDOM_STREAM_FIRST = 17;

const MINUTE_MS = 60_000;

/**
 * A weekly pattern for each term of an institution, with changes on single days. Events come in the order of
 * the service: time, endTime, id. Only one term is held in memory.
 */
export function* generateEvents(options: GenerateOptions): Generator<GeneratedEvent, void, undefined> {
  const { events, seed, distinctSlots = false, names = false } = options;
  const terms = Math.max(1, Math.ceil(events / ROWS_PER_TERM_MAX));
  const institution = institutionOf(options);
  const roomNames = new Map(names ? roomsOf(institution).map(({ id, name }) => [id, name]) : []);
  const nextId = uuids(seed, 'event');
  let made = 0;

  for (let term = 0; made < events; term++) {
    const days = planTerm(seed, term, institution);
    const random = new Random(seed, RANDOM_STREAM_FIRST + 2 * term);
    // Some lessons of each day are cancelled, so that the term has its share of the events.
    let wanted = Math.ceil((events - made) / Math.max(1, terms - term)) + RESERVE;
    let planned = days.reduce((sum, { lessons }) => sum + rowsOf(lessons), 0);
    for (const { midnightMs, lessons } of days) {
      const held = changeDay(random, lessons, wanted / planned);
      const batch = dateLessons({ midnightMs, lessons: held }, distinctSlots, nextId).sort(inOrder);
      const taken = batch.slice(0, events - made);
      if (names) yield* taken.map((event) => withNames(event, roomNames));
      else yield* taken;
      made += taken.length;
      if (made === events) return;
      wanted -= batch.length;
      planned -= rowsOf(lessons);
    }
  }
}

function institutionOf({ events, seed, distinctSlots = false }: GenerateOptions): Institution {
  const terms = Math.max(1, Math.ceil(events / ROWS_PER_TERM_MAX));
  return foundInstitution(seed, Math.ceil((events / terms) * SURPLUS), !distinctSlots);
}

function withNames(event: GeneratedEvent, roomNames: ReadonlyMap<string, string | null>): GeneratedEvent {
  const { roomId, title } = event;
  const roomName = roomId === null ? null : (roomNames.get(roomId) ?? null);
  return {
    ...event,
    ...(roomName === null ? {} : { roomName }),
    ...(title === null || event.courseId === null ? {} : { courseName: title }),
  };
}

/** The rooms of the events with these options, for a rooms file. */
export function generateRooms(options: GenerateOptions): readonly Room[] {
  return roomsOf(institutionOf(options));
}

function rowsOf(lessons: readonly Lesson[]): number {
  return lessons.reduce((sum, { groups }) => sum + Math.max(1, groups.length), 0);
}

function haveSameSlot(a: Lesson | undefined, b: Lesson): boolean {
  return a?.startMinute === b.startMinute && a.endMinute === b.endMinute;
}

/** Cancels some lessons, and makes others clash. */
function changeDay(random: Random, lessons: readonly Lesson[], heldShare: number): Lesson[] {
  const changed: Lesson[] = [];
  let slotStart = 0;
  for (const lesson of lessons) {
    if (random.fraction() >= heldShare) continue;
    if (!haveSameSlot(changed[slotStart], lesson)) slotStart = changed.length;
    changed.push(slotStart < changed.length ? clash(random, lesson, changed, slotStart) : lesson);
  }
  return changed;
}

/** Gives some lessons the room, lecturer or group of an earlier lesson in their slot. */
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

function dateLessons(day: TermDay, distinctSlots: boolean, nextId: () => string): GeneratedEvent[] {
  const instant = (minute: number): string => formatInstant(day.midnightMs + minute * MINUTE_MS);
  const batch: GeneratedEvent[] = [];
  let before: Lesson | undefined;
  let rowOfSlot = 0;
  let time = '';
  let endTime = '';
  for (const lesson of day.lessons) {
    if (!haveSameSlot(before, lesson)) {
      before = lesson;
      rowOfSlot = 0;
      time = instant(lesson.startMinute);
      endTime = instant(lesson.endMinute);
    }
    for (const group of lesson.groups.length === 0 ? [null] : lesson.groups) {
      // Starts move by less than the shortest lesson, so that no new overlaps arise.
      if (distinctSlots) time = instant(lesson.startMinute + rowOfSlot++ / 60);
      batch.push({
        id: nextId(),
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
      });
    }
  }
  return batch;
}

/** Sorts in the order of the service. All times have the same form, so they are compared as text. */
function inOrder(a: GeneratedEvent, b: GeneratedEvent): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1;
  if (a.endTime !== b.endTime) return a.endTime < b.endTime ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}
