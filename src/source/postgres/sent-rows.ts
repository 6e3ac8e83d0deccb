import { FIELDS } from '../../model/fields.js';
import type { ReadRules } from '../../model/read-rules.js';
import { spellingsOf } from '../field-columns.js';
import { MAPPED_FIELDS, mapOf } from '../field-map.js';
import { columnsOf } from '../map-template.js';
import type { BinaryColumn, BinaryForm } from './binary-rows.js';
import type { Database } from './database.js';
import { type DescribedRows, PADDED_TYPE, quoteIdentifier } from './described-rows.js';

/** Forms by the OID of the type. JSON has the same texts, except for instants. */
const FORMS: ReadonlyMap<number, BinaryForm> = new Map([
  [19, 'text'], // name
  [25, 'text'],
  [PADDED_TYPE, 'text'], // char(n)
  [1043, 'text'], // varchar
  [1184, 'instant'], // timestamptz
  [2950, 'uuid'],
]);

/**
 * The rows, with null in the columns that are neither fields nor named by the map: a load only lists the names of
 * these columns.
 */
export function neededRows(rows: DescribedRows, { fieldMap = {} }: ReadRules): DescribedRows {
  const { columns, select } = rows;
  const named = [...mapOf(fieldMap, 'postgresql').values()].flatMap(columnsOf);
  const needed = new Set(
    [...MAPPED_FIELDS, ...named, ...named.map((name) => name.split('.')[0] as string)].flatMap(spellingsOf),
  );
  if (columns.every((column) => needed.has(column)) || hasTwins(columns)) return rows;
  const list = columns.map((column) => {
    const quoted = quoteIdentifier(column);
    return needed.has(column) ? `t.${quoted}` : `NULL AS ${quoted}`;
  });
  return { ...rows, select: `SELECT ${list.join(', ')} FROM (${select}\n) t` };
}

/**
 * The rows with the names of fields as columns, if the map only renames. The reader of NDJSON need not decode
 * such rows. Null if the map is empty, or does more than rename.
 */
export function renamedRows(
  rows: DescribedRows,
  { fieldMap = {}, identifiers }: ReadRules,
): DescribedRows | null {
  const { columns, select, types } = rows;
  const sources = new Map<string, string>();
  for (const [field, [part, ...others]] of mapOf(fieldMap, 'postgresql')) {
    if (typeof part !== 'object' || others.length > 0 || !columns.includes(part.column)) return null;
    sources.set(field, part.column);
  }
  // Derived identifiers need records.
  if (sources.size === 0 || identifiers === 'derived' || hasTwins(columns)) return null;
  const used = new Set(sources.values());
  for (const column of columns)
    if (!sources.has(column) && (MAPPED_FIELDS.includes(column) || !used.has(column)))
      sources.set(column, column);
  const list = [...sources].map(
    ([field, column]) => `t.${quoteIdentifier(column)} AS ${quoteIdentifier(field)}`,
  );
  return {
    ...rows,
    select: `SELECT ${list.join(', ')} FROM (${select}\n) t`,
    columns: [...sources.keys()],
    types: [...sources.values()].map((column) => types[columns.indexOf(column)] as number),
  };
}

/** Whether two columns have one name, so that a name does not tell which column is meant. */
function hasTwins(columns: readonly string[]): boolean {
  return new Set(columns).size < columns.length;
}

export interface BinaryCopy {
  readonly statement: string;
  readonly columns: readonly BinaryColumn[];
  /** Names of columns that are not fields. */
  readonly unserved: readonly string[];
}

/**
 * COPY of the fields in the binary format. Null if the type of a field would have another text in JSON, or if texts
 * may not be UTF-8.
 */
export async function binaryCopyOf(database: Database, rows: DescribedRows): Promise<BinaryCopy | null> {
  if (hasTwins(rows.columns)) return null;
  const [facts] = await database.query<{ readonly encoding: string; readonly enums: readonly number[] }>(
    `SELECT current_setting('server_encoding') AS encoding,
       ARRAY(SELECT oid::int8::float8 FROM pg_type WHERE typtype = 'e' AND oid = ANY ($1::oid[])) AS enums`,
    [rows.types],
  );
  // With this encoding, the server does not check that texts are UTF-8.
  if (facts === undefined || facts.encoding === 'SQL_ASCII') return null;
  const columns: BinaryColumn[] = [];
  for (const { name: field, kind } of FIELDS) {
    const type = rows.types[rows.columns.indexOf(field)];
    if (type === undefined) continue;
    const form = facts.enums.includes(type) ? 'text' : FORMS.get(type);
    if (form === undefined || (form === 'instant' && kind !== 'instant')) return null;
    columns.push({ field, form });
  }
  const list = columns.map(({ field }) => {
    const isPadded = rows.types[rows.columns.indexOf(field)] === PADDED_TYPE;
    return `t.${quoteIdentifier(field)}${isPadded ? '::text' : ''}`;
  });
  return {
    statement: `COPY (SELECT ${list.join(', ')} FROM (${rows.select}\n) t) TO STDOUT (FORMAT binary)`,
    columns,
    unserved: rows.columns.filter((column) => !MAPPED_FIELDS.includes(column)),
  };
}
