import type { NormalisedEvent, TimetableEvent } from '../model/event.js';
import { Dictionary } from '../structures/dictionary.js';
import { SnapshotBuilder } from './builder.js';
import { CODED_FIELDS } from './columns.js';
import type { ColumnImage, SnapshotImage } from './image.js';
import type { EventChanges } from './patch-edit.js';
import { Rows } from './rows.js';

/** Builds the next image from all events, when a patch would cost more. */
export function rebuildImage(base: SnapshotImage, { upserts, removals }: EventChanges): SnapshotImage {
  const { identifiers } = base.summary;
  const builder = new SnapshotBuilder({ identifiers, hashSeed: base.hashSeed });
  const changed = new Set([...removals, ...upserts.map(({ id }) => id)]);
  let record = 0;
  for (const event of eventsOf(base)) {
    if (!changed.has(event.id)) builder.add(event, { record: ++record });
  }
  for (const event of upserts) builder.add(event, { record: ++record });
  return builder.finish();
}

/** All events of an image, in order. */
function* eventsOf(base: SnapshotImage): Generator<NormalisedEvent> {
  const rows = new Rows(base.rows);
  const columns: Readonly<Record<string, ColumnImage>> = { ...base.fields, ...base.columns };
  const hidden = CODED_FIELDS.filter((field) => !field.output).map(({ name }) => ({
    name,
    codes: columns[name]!.codes,
    dictionary: new Dictionary(columns[name]!.dictionary),
  }));
  for (let ordinal = 0; ordinal < rows.count; ordinal++) {
    const row = JSON.parse(rows.rowOf(ordinal).toString('utf8')) as TimetableEvent;
    const event: Record<string, unknown> = {
      ...row,
      time: Date.parse(row.time),
      endTime: Date.parse(row.endTime),
    };
    for (const { name, codes, dictionary } of hidden) {
      const code = codes[ordinal] ?? dictionary.size;
      event[name] = code < dictionary.size ? dictionary.valueOf(code) : null;
    }
    yield event as NormalisedEvent;
  }
}
