import { digitsOf } from '../model/identifier.js';
import type { Records } from './records.js';

/** For each comparable id, the record that replaces all records with that id; null removes them. */
export type Overlay = Map<string, object | null>;

/** The records that the overlay does not replace, followed by the records of the overlay. */
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

/** The id of a record in comparable form; null if it has none. */
export function idOf(record: unknown): string | null {
  if (typeof record !== 'object' || record === null || !('id' in record)) return null;
  return comparable(record.id);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The comparable form of an id: equal for all spellings of a UUID, and for a number and its digits; null for a
 * value that is not an id.
 */
export function comparable(id: unknown): string | null {
  if (typeof id !== 'string') return digitsOf(id);
  return UUID.test(id) ? id.toLowerCase() : id;
}
