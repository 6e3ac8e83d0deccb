import type { NormalisedEvent } from '../model/event.js';
import { INDEXED_FIELDS, NAMED_FIELDS } from '../model/fields.js';
import { SnapshotBuilder } from './builder.js';
import type { SnapshotImage } from './image.js';
import { Snapshot } from './snapshot.js';

/** Ids are canonical and distinct among all. Unknown removals are skipped. */
export interface EventChanges {
  readonly upserts: readonly NormalisedEvent[];
  readonly removals: readonly string[];
}

/** The next image, equal to a build of all events with the same seed. */
export function patchImage(base: SnapshotImage, changes: EventChanges): SnapshotImage {
  const { hashSeed, summary } = base;
  const builder = new SnapshotBuilder({ identifiers: summary.identifiers, hashSeed });
  const touched = new Set([...changes.removals, ...changes.upserts.map(({ id }) => id)]);
  let record = 0;
  const add = (event: NormalisedEvent): void => builder.add(event, { record: ++record });
  for (const event of eventsOf(new Snapshot(base))) if (!touched.has(event.id)) add(event);
  for (const event of changes.upserts) add(event);
  const image = builder.finish();
  const { rejected, rejectedByCode, rejections, unserved, ambiguousTimes } = summary;
  return {
    ...image,
    summary: { ...image.summary, rejected, rejectedByCode, rejections, unserved, ambiguousTimes },
  };
}

/** Each event has the display names that its values have. */
function* eventsOf(snapshot: Snapshot): Generator<NormalisedEvent> {
  for (let ordinal = 0; ordinal < snapshot.eventCount; ordinal++) {
    const row = JSON.parse(snapshot.rows.rowOf(ordinal).toString('utf8'));
    const event = { ...row, time: Date.parse(row.time), endTime: Date.parse(row.endTime) };
    for (const { name } of INDEXED_FIELDS) {
      const { dictionary, codes } = snapshot.field(name);
      const code = codes[ordinal]!;
      event[name] = code < dictionary.size ? dictionary.valueOf(code) : null;
    }
    for (const { name, namedBy } of NAMED_FIELDS) {
      const code = snapshot.field(name).codes[ordinal]!;
      for (const by of namedBy.filter((each) => each !== 'lecturer')) event[by] = snapshot.nameOf(name, code);
    }
    yield event;
  }
}
