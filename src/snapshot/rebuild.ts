import type { NormalisedEvent, TimetableEvent } from '../model/event.js';
import { Dictionary } from '../structures/dictionary.js';
import { SnapshotBuilder } from './builder.js';
import { HIDDEN_FIELDS } from './columns.js';
import type { ColumnImage, SnapshotImage } from './image.js';
import type { EventChanges } from './patch-edit.js';
import { Rows } from './rows.js';

/** Builds the next image from all events, when a patch would cost more. */
export function rebuildImage(base: SnapshotImage, { upserts, removals }: EventChanges): SnapshotImage {
  const { identifiers } = base.summary;
  const builder = new SnapshotBuilder({ identifiers, hashSeed: base.hashSeed });
  const changed = new Set([...removals, ...upserts.map(({ id }) => id)]);
  let record = 0;
  const eventAt = eventReader(base);
  for (let ordinal = 0; ordinal < base.summary.events; ordinal++) {
    const event = eventAt(ordinal);
    if (!changed.has(event.id)) builder.add(event, { record: ++record });
  }
  for (const event of upserts) builder.add(event, { record: ++record });
  return builder.finish();
}

/** Reads events of an image by ordinal, with the fields that no row shows. */
export function eventReader(base: SnapshotImage): (ordinal: number) => NormalisedEvent {
  const rows = new Rows(base.rows);
  const columns: Readonly<Record<string, ColumnImage>> = { ...base.fields, ...base.columns };
  const hidden = HIDDEN_FIELDS.map(({ name }) => ({
    name,
    codes: columns[name]!.codes,
    dictionary: new Dictionary(columns[name]!.dictionary),
  }));
  return (ordinal) => {
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
    return event as NormalisedEvent;
  };
}
