/**
 * Timetables with alternating long and short slots. Half of the events around the start of a window are
 * running: as many runs of ordinals as events, which is the hardest case for narrowing posting lists.
 */
import type { NormalisedEvent } from '../../src/base/model/event.js';

export const BEGIN_MS: number = Date.UTC(2024, 8, 2);
export const MINUTE_MS = 60_000;

export interface AlternatingOptions {
  readonly events: number;
  /** Distinct study groups, each with alternating long and short events. */
  readonly groups: number;
  /** One event in this many is long. Default 2. */
  readonly longEvery?: number;
  /** How long these are. Default: beyond the last event. */
  readonly longMinutes?: number;
}

/** An event a minute, lasting one minute or many. */
export function alternatingEvents(options: AlternatingOptions): NormalisedEvent[] {
  const { events, groups, longEvery = 2, longMinutes = 2 * events } = options;
  return Array.from({ length: events }, (_, i): NormalisedEvent => {
    const time = BEGIN_MS + i * MINUTE_MS;
    const minutes = i % longEvery === 0 ? longMinutes : 1;
    return {
      id: `event ${i}`,
      time,
      endTime: time + minutes * MINUTE_MS,
      title: `Lesson ${i}`,
      roomId: `room ${i % 7}`,
      courseId: `course ${Math.floor(i / longEvery) % 11}`,
      studyGroup: groupOf(Math.floor(i / longEvery) % groups),
      lecturer: null,
      type: i % 3 === 0 ? 'LEC' : null,
      groupId: `tutorial ${i % 13}`,
      lecturerId: null,
    };
  });
}

export function groupOf(n: number): string {
  return `group ${n}`;
}

/** The requested number of groups, spread evenly over all groups. */
export function someGroups(asked: number, groups: number): string[] {
  return Array.from({ length: asked }, (_, i) => groupOf(Math.floor((i * groups) / asked)));
}
