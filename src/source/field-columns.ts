/** Maps the columns of a source to fields, for readers that pass records without decoding them. */
import { FIELDS, type FieldName } from '../model/fields.js';
import type { MapTemplate } from './map-template.js';

/**
 * The field of each column; null for a column to leave out. Columns not in the map are listed as not served.
 */
export type FieldColumns = ReadonlyMap<string, FieldName | null>;

/** Each field is in the column of its name. */
export const OWN_COLUMNS: FieldColumns = new Map(FIELDS.map(({ name }) => [name, name]));

/**
 * The columns of a field map that only renames: each field comes from one column, and each column fills at most one
 * field. Null for other maps.
 *
 * @param isFlat whether dots are part of names
 */
export function renamedColumns(
  templates: ReadonlyMap<string, MapTemplate>,
  isFlat: boolean,
): FieldColumns | null {
  const columns = new Map(OWN_COLUMNS).set('__proto__', null);
  for (const field of templates.keys()) columns.set(field, null);
  for (const [field, [only, ...others]] of templates) {
    if (typeof only !== 'object' || others.length > 0) return null;
    if (!isFlat && only.column.includes('.')) return null;
    for (const column of spellingsOf(only.column)) {
      const known = columns.get(column);
      if (known !== undefined && known !== null) return null;
      columns.set(column, field as FieldName);
    }
  }
  return columns;
}

/** The spellings of a name that look the same: some systems write accents as separate characters. */
export function spellingsOf(name: string): string[] {
  return [...new Set([name, name.normalize('NFC'), name.normalize('NFD')])];
}
