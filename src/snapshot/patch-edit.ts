import { LecternError } from '../errors.js';
import { EVENTS_MAX } from '../limits.js';
import type { NormalisedEvent, TimetableEvent } from '../model/event.js';
import { OUTPUT_FIELDS } from '../model/fields.js';
import { compareCodePoints } from '../model/text.js';
import { formatInstant } from '../model/time.js';
import { NO_CODE } from '../structures/dictionary.js';
import { Splice } from '../structures/splice.js';
import { HIDDEN_FIELDS } from './columns.js';
import type { ColumnImage, SnapshotImage } from './image.js';
import { serialiseEvent } from './rows.js';
import { Snapshot } from './snapshot.js';

/** Changes of events. All ids are canonical and distinct; removals of unknown ids are skipped. */
export interface EventChanges {
  /** Events that replace the event with the same id, or are added. */
  readonly upserts: readonly NormalisedEvent[];
  readonly removals: readonly string[];
}

/**
 * Changes as places. An upsert without effect is left out. A changed event counts as removed and added, even
 * if its place stays the same.
 */
export interface Edit {
  readonly splice: Splice;
  /** The added items, in order; one for each entry of `splice.come`. */
  readonly events: readonly NormalisedEvent[];
  /** The rows of the added events, each with a comma. */
  readonly rows: readonly Buffer[];
}

/** @throws LecternError `source-too-large` past EVENTS_MAX; an Error for an id that occurs twice */
export function placeChanges(base: SnapshotImage, { upserts, removals }: EventChanges): Edit {
  const snapshot = new Snapshot(base);
  const gone: number[] = [];
  const named = new Set<string>();
  for (const id of [...removals, ...upserts.map((event) => event.id)]) {
    if (named.has(id)) throw new Error(`the changes name the id ${JSON.stringify(id)} twice`);
    named.add(id);
  }
  for (const id of removals) {
    const ordinal = snapshot.ordinalOf(id);
    if (ordinal !== -1) gone.push(ordinal);
  }
  const changed: { event: NormalisedEvent; row: Buffer }[] = [];
  for (const event of upserts) {
    const ordinal = snapshot.ordinalOf(event.id);
    const row = Buffer.from(`${serialiseEvent(recordOf(event))},`, 'utf8');
    if (ordinal !== -1 && isSameEvent(base, ordinal, event, row)) continue;
    if (ordinal !== -1) gone.push(ordinal);
    changed.push({ event, row });
  }
  changed.sort(
    ({ event: a }, { event: b }) => a.time - b.time || a.endTime - b.endTime || compareCodePoints(a.id, b.id),
  );
  const places = changed.map(({ event: { time, endTime, id } }) =>
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
  return { splice, events: changed.map(({ event }) => event), rows: changed.map(({ row }) => row) };
}

function isSameEvent(
  { rows, fields, columns }: SnapshotImage,
  ordinal: number,
  event: NormalisedEvent,
  row: Buffer,
): boolean {
  const [from, to] = [rows.start[ordinal]!, rows.start[ordinal + 1]! - 1];
  if (row.compare(rows.bytes, from, to, 0, row.length - 1) !== 0) return false;
  const all: Readonly<Record<string, ColumnImage>> = { ...fields, ...columns };
  return HIDDEN_FIELDS.every(({ name }) => {
    const { dictionary, codes } = all[name]!;
    const code = codes[ordinal] ?? NO_CODE;
    const { start, bytes } = dictionary;
    const value = event[name] ?? null;
    if (value === null || code >= start.length - 1) return value === null && code >= start.length - 1;
    return Buffer.from(value, 'utf8').compare(bytes, start[code], start[code + 1]) === 0;
  });
}

function recordOf(event: NormalisedEvent): TimetableEvent {
  const values = OUTPUT_FIELDS.map(({ name, kind }) => [
    name,
    kind === 'instant' ? formatInstant(event[name] as number) : event[name],
  ]);
  return Object.fromEntries(values) as TimetableEvent;
}
