import { FIELDS } from '../../base/model/fields.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import { entriesOf, type FieldTable, LEFT_OUT, MAPPED_FIELDS, spellingsOf } from '../field-map.js';
import { columnsOf } from '../map-value.js';
import type { BinaryColumn, BinaryForm } from './binary-rows.js';
import type { Database } from './database.js';
import { type DescribedRows, PADDED_TYPE, quoteIdentifier } from './described-rows.js';

/** Forms by the OID of the type, in which a value has the text that its JSON has. */
const FORMS: ReadonlyMap<number, BinaryForm> = new Map([
  [19, 'text'], // name
  [25, 'text'],
  [PADDED_TYPE, 'text'], // char(n)
  [1043, 'text'], // varchar
  [2950, 'uuid'],
]);
/** timestamptz, whose JSON is another text of the same instant. */
const INSTANT_TYPE = 1184;
const INSTANT_SLOTS = [...FIELDS.keys()].filter((slot) => FIELDS[slot]?.kind === 'instant');

/**
 * The rows, with null in the columns that are neither fields nor named by the map: a load only lists the names of
 * these columns.
 */
export function neededRows(rows: DescribedRows, rules: ReadRules): DescribedRows {
  const { columns, select } = rows;
  const named = [...entriesOf(rules, 'postgresql').values()].flatMap(columnsOf);
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

/** Whether two columns have one name, so that a name does not tell which column is meant. */
function hasTwins(columns: readonly string[]): boolean {
  return new Set(columns).size < columns.length;
}

export interface BinaryCopy {
  readonly statement: string;
  readonly columns: readonly BinaryColumn[];
  /** Names of columns that are not fields. */
  readonly unserved: readonly string[];
  /** Whether the server does not check that texts are UTF-8. */
  readonly isChecked: boolean;
}

/**
 * COPY in the binary format of the columns that the table of fields needs. Values that have no form of their own come as
 * JSON. A row that is looked at comes whole, and as JSON.
 */
export async function binaryCopyOf(
  database: Database,
  { columns, types, select }: DescribedRows,
  table: FieldTable,
): Promise<BinaryCopy> {
  const [facts] = await database.query<{ readonly encoding: string; readonly enums: readonly number[] }>(
    `SELECT current_setting('server_encoding') AS encoding,
       ARRAY(SELECT oid::int8::float8 FROM pg_type WHERE typtype = 'e' AND oid = ANY ($1::oid[])) AS enums`,
    [types],
  );
  const roots = new Set(table.pathRoots);
  const places = table.placesOf(columns);
  // Of several columns with one name, the last counts, as in JSON.
  const isUsed = (name: string, n: number): boolean =>
    columns.lastIndexOf(name) === n &&
    (table.needsObjects || roots.has(name) || (places[n] ?? LEFT_OUT) !== LEFT_OUT);
  const formOf = (name: string, n: number): BinaryForm => {
    const type = types[n] as number;
    if (table.needsObjects || roots.has(name)) return 'json';
    if (type === INSTANT_TYPE && INSTANT_SLOTS.includes(places[n] as number)) return 'instant';
    return facts?.enums.includes(type) ? 'text' : (FORMS.get(type) ?? 'json');
  };
  const sent = columns.flatMap((name, n) => {
    if (!isUsed(name, n)) return [];
    const form = formOf(name, n);
    const isPadded = types[n] === PADDED_TYPE;
    const value = `t.c${n}${isPadded ? '::text' : ''}`;
    return [{ name, form, value: form === 'json' ? `to_json(${value})::text` : value }];
  });
  const aliases = columns.map((_, n) => `c${n}`).join(', ');
  const list = sent.map(({ value }) => value).join(', ');
  return {
    statement: `COPY (SELECT ${list} FROM (${select}\n) t(${aliases})) TO STDOUT (FORMAT binary)`,
    columns: sent,
    unserved: [...new Set(columns)].filter((name) => !table.places.has(name)),
    isChecked: facts?.encoding === 'SQL_ASCII',
  };
}
