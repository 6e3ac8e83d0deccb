/**
 * Timetables designed to make finding conflicts as hard as possible, and an ordinary one for comparison. All
 * have rows of about the same length.
 */

import { generateEvents } from '../../bench/generate.mjs';
import type { NormalisedEvent } from '../../src/base/model/event.js';

const START_MS = Date.UTC(2024, 8, 2, 8);
const MINUTE_MS = 60_000;

type What = 'event' | 'room' | 'course' | 'group' | 'lecturer';
const KINDS: readonly What[] = ['event', 'room', 'course', 'group', 'lecturer'];

/** The n-th identifier of a kind. */
export function uuidOf(what: What, n: number): string {
  // Multiplying by an odd number permutes the 32-bit integers, so the results are distinct and unordered.
  const scattered = (Math.imul(n + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0');
  return `${scattered}-0000-4000-8000-${KINDS.indexOf(what)}${n.toString(16).padStart(11, '0')}`;
}

export type LayoutName =
  | 'all in one room at once'
  | 'all groups in two lessons'
  | 'a chain'
  | 'nested like dolls'
  | 'pairs of everything'
  | 'many groups in many lessons at once';

/** Event n of a layout, without its id and texts. */
type Place = (
  n: number,
  count: number,
) => Pick<NormalisedEvent, 'time' | 'endTime'> &
  Partial<Record<'room' | 'course' | 'group' | 'lecturer', number>>;

const at = (fromMinutes: number, toMinutes: number): Pick<NormalisedEvent, 'time' | 'endTime'> => ({
  time: START_MS + fromMinutes * MINUTE_MS,
  endTime: START_MS + toMinutes * MINUTE_MS,
});

const PLACES: Readonly<Record<LayoutName, Place>> = {
  // Without a course every row is a separate lesson.
  'all in one room at once': (n) => ({ ...at(0, 90), room: 0, group: n % 300, lecturer: n % 300 }),
  'all groups in two lessons': (n) => ({
    ...at((n % 2) * 30, 90 + (n % 2) * 30),
    room: n % 2,
    course: n % 2,
    group: n >> 1,
    lecturer: n % 2,
  }),
  'a chain': (n) => ({ ...at(n * 60, n * 60 + 90), room: 0, course: n % 50, group: 0, lecturer: 0 }),
  'nested like dolls': (n, count) => ({
    time: START_MS + n * 1000,
    endTime: START_MS + (2 * count - n) * 1000,
    room: 0,
    course: n % 50,
    group: 0,
    lecturer: 0,
  }),
  // There are as many clusters as possible, all at the same time.
  'pairs of everything': (n) => ({ ...at(0, 90), room: n >> 1, course: n, group: n >> 1, lecturer: n >> 1 }),
  'many groups in many lessons at once': (n, count) => {
    const lessons = Math.max(1, Math.round(Math.sqrt(count)));
    const lesson = n % lessons;
    return { ...at(0, 90), room: lesson, course: lesson, group: Math.floor(n / lessons), lecturer: lesson };
  },
};

export const LAYOUTS: readonly LayoutName[] = Object.keys(PLACES) as LayoutName[];
/** Layouts without mostly distinct values. Distinct values cost more than in an ordinary timetable, with any overlaps. */
export const COMPARED_LAYOUTS: readonly LayoutName[] = LAYOUTS.filter(
  (name) => name !== 'pairs of everything',
);

export function eventsLaidOut(layout: LayoutName, count: number): NormalisedEvent[] {
  const place = PLACES[layout];
  return Array.from({ length: count }, (_, n) => {
    const { time, endTime, room, course, group, lecturer } = place(n, count);
    return {
      id: uuidOf('event', n),
      time,
      endTime,
      title: `Introduction to subject ${n % 300}`,
      roomId: room === undefined ? null : uuidOf('room', room),
      courseId: course === undefined ? null : uuidOf('course', course),
      studyGroup: group === undefined ? null : `CS-${group}`,
      lecturer: lecturer === undefined ? null : `Lecturer ${lecturer}`,
      type: 'LEC',
      groupId: group === undefined ? null : uuidOf('group', group),
      lecturerId: lecturer === undefined ? null : uuidOf('lecturer', lecturer),
    };
  });
}

/** An ordinary timetable of that size. */
export function ordinaryEvents(count: number): NormalisedEvent[] {
  return Array.from(generateEvents({ events: count, seed: 11 }), (event) => ({
    ...event,
    time: Date.parse(event.time),
    endTime: Date.parse(event.endTime),
  }));
}

/** Events as a source gives them. */
export function toNdjson(events: readonly NormalisedEvent[]): string {
  return events
    .map(({ time, endTime, ...rest }) => {
      const [from, to] = [time, endTime].map((ms) => new Date(ms).toISOString());
      return `${JSON.stringify({ ...rest, time: from, endTime: to })}\n`;
    })
    .join('');
}
