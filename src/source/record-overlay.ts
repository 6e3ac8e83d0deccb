import { digitsOf } from '../model/identifier.js';
import type { Records } from './records.js';

/** By comparable id: the record that takes the place of all with that id; null for none. */
export type Overlay = Map<string, object | null>;

/** The records with those of the overlay in place of all that have their ids. They come last. */
export function overlaid(records: Records, overlay: Overlay): Records {
  if (overlay.size === 0) return records;
  return Symbol.iterator in records ? overlaidHere(records, overlay) : overlaidInTime(records, overlay);
}

function* overlaidHere(records: Iterable<unknown>, overlay: Overlay): Generator<unknown> {
  for (const record of records) if (!isReplaced(record, overlay)) yield record;
  for (const record of overlay.values()) if (record !== null) yield record;
}

async function* overlaidInTime(records: AsyncIterable<unknown>, overlay: Overlay): AsyncGenerator<unknown> {
  for await (const record of records) if (!isReplaced(record, overlay)) yield record;
  for (const record of overlay.values()) if (record !== null) yield record;
}

function isReplaced(record: unknown, overlay: Overlay): boolean {
  const id = idOf(record);
  return id !== null && overlay.has(id);
}

/** In comparable form; null for none. */
export function idOf(record: unknown): string | null {
  if (typeof record !== 'object' || record === null || !('id' in record)) return null;
  return comparable(record.id);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The same for all spellings of a UUID, and for a number and its digits; null for what is no id. */
export function comparable(id: unknown): string | null {
  if (typeof id !== 'string') return digitsOf(id);
  return UUID.test(id) ? id.toLowerCase() : id;
}
