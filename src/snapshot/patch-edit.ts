import { LecternError } from '../errors.js';
import { EVENTS_MAX } from '../limits.js';
import type { NormalisedEvent } from '../model/event.js';
import { compareCodePoints } from '../model/text.js';
import { Splice } from '../structures/splice.js';
import type { SnapshotImage } from './image.js';
import { Snapshot } from './snapshot.js';

/** Changes of events. All ids are canonical and distinct; removals of unknown ids are skipped. */
export interface EventChanges {
  /** Replace the event of the same id, or are added. */
  readonly upserts: readonly NormalisedEvent[];
  readonly removals: readonly string[];
}

/** Changes as places. A changed event goes and comes, also if its place stays. */
export interface Edit {
  readonly splice: Splice;
  /** What comes, in order; one per `splice.come`. */
  readonly events: readonly NormalisedEvent[];
}

/** @throws LecternError `source-too-large` past EVENTS_MAX; an Error for an id that is named twice */
export function placeChanges(base: SnapshotImage, { upserts, removals }: EventChanges): Edit {
  const snapshot = new Snapshot(base);
  const gone: number[] = [];
  const named = new Set<string>();
  for (const id of [...removals, ...upserts.map((event) => event.id)]) {
    if (named.has(id)) throw new Error(`the changes name the id ${JSON.stringify(id)} twice`);
    named.add(id);
    const ordinal = snapshot.ordinalOf(id);
    if (ordinal !== -1) gone.push(ordinal);
  }
  const events = [...upserts].sort(
    (a, b) => a.time - b.time || a.endTime - b.endTime || compareCodePoints(a.id, b.id),
  );
  const places = events.map(({ time, endTime, id }) =>
    snapshot.ordinalAfter({ timeMs: time, endTimeMs: endTime, id }),
  );
  const splice = new Splice(
    snapshot.eventCount,
    gone.sort((a, b) => a - b),
    places,
  );
  if (splice.after > EVENTS_MAX) {
    throw new LecternError('source-too-large', `one snapshot holds at most ${EVENTS_MAX} events`);
  }
  return { splice, events };
}
