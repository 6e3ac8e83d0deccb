/**
 * The base of every oracle: plain event objects in a plain array, sorted and written in the slow, obvious way. Oracles
 * import only types of src/base/model/, so that no index, column or row byte can agree with them by accident.
 */
import type { NormalisedEvent, TimetableEvent } from '../../src/base/model/event.js';

/** Code point order of strings equals the order of their UTF-8 bytes. */
export function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a, 'utf8'), Buffer.from(b, 'utf8'));
}

/** The documented order: time, endTime, id, ascending. */
export function compareEvents(a: NormalisedEvent, b: NormalisedEvent): number {
  if (a.time !== b.time) return a.time - b.time;
  if (a.endTime !== b.endTime) return a.endTime - b.endTime;
  return compareText(a.id, b.id);
}

/** A sorted copy. Of several events with one id only the first counts: loading rejects the others. */
export function eventsInOrder(events: readonly NormalisedEvent[]): NormalisedEvent[] {
  const seen = new Set<string>();
  const kept: NormalisedEvent[] = [];
  for (const event of events) {
    if (seen.has(event.id)) continue;
    seen.add(event.id);
    kept.push(event);
  }
  return kept.sort(compareEvents);
}

/** The ten fields that clients see, in the specification's order. `lecturerId` is not one of them. */
export function recordOf(event: NormalisedEvent): TimetableEvent {
  return {
    id: event.id,
    time: new Date(event.time).toISOString(),
    endTime: new Date(event.endTime).toISOString(),
    title: event.title,
    roomId: event.roomId,
    courseId: event.courseId,
    studyGroup: event.studyGroup,
    lecturer: event.lecturer,
    type: event.type,
    groupId: event.groupId,
  };
}
