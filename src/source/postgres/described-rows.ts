import { cannotRead, LecternError } from '../../base/errors.js';
import { FIELDS } from '../../base/model/fields.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import { suggest } from '../../base/model/suggest.js';
import { entriesOf, placeOf } from '../field-map.js';
import { checkColumns } from '../load-notes.js';
import { columnsOf } from '../map-value.js';
import type { Catalogue } from '../source.js';
import { type Database, quoteName } from './database.js';
import type { RowsSpec } from './postgres-address.js';

export interface TableFacts {
  /** The OID in pg_class. */
  readonly oid: number;
  /** The `relkind` in pg_class: `r` for a table, `p` for a partitioned table, `v` for a view, … */
  readonly kind: string;
  /** The quoted name, with the schema. */
  readonly name: string;
}

export interface DescribedRows {
  /** Null for a statement. */
  readonly table: TableFacts | null;
  /** A SELECT without a semicolon at the end. */
  readonly select: string;
  readonly columns: readonly string[];
  /** For each column, the OID of its type. */
  readonly types: readonly number[];
  /** For each column, the OID of its table and its number there; zeros for other values. */
  readonly origins: readonly { readonly table: number; readonly column: number }[];
}

const TABLES_LISTED_MAX = 20;

/** Types whose JSON may have line breaks: json, json[], and user-defined types, which may contain json. */
const JSON_TYPES: ReadonlySet<number> = new Set([114, 199]);
const USER_TYPES_MIN = 16_384;

/** The type char(n), which pads its values with spaces. PostgreSQL drops them in the cast to text. */
export const PADDED_TYPE = 1042;

/** The forms of values by the OID of their type. Other types, such as text, may hold any form. */
const FORMS_OF_TYPES: ReadonlyMap<number, FormOfType> = new Map([
  [2950, 'uuid'],
  [1184, 'instant'], // timestamptz
  [1114, 'local'], // timestamp
  [1082, 'date'],
  [1083, 'clock'], // time
  [20, 'number'], // bigint
  [21, 'number'], // smallint
  [23, 'number'], // integer
]);

type FormOfType = Catalogue['forms'] extends ReadonlyMap<string, infer Form> ? Form : never;

/** The SQL for the JSON of a row of `rows`, on one line. */
export function jsonOf({ columns, types }: Pick<DescribedRows, 'columns' | 'types'>, rows = 't'): string {
  const list = columns.map((column, n) => {
    const quoted = quoteIdentifier(column);
    return types[n] === PADDED_TYPE ? `${rows}.${quoted}::text AS ${quoted}` : `${rows}.${quoted}`;
  });
  const isPadded = types.includes(PADDED_TYPE) && new Set(columns).size === columns.length;
  const json = isPadded
    ? `(SELECT row_to_json(s.*) FROM (SELECT ${list.join(', ')}) s)::text`
    : `row_to_json(${rows}.*)::text`;
  // A json column may have line breaks between values; within texts they are escaped.
  const mayBreak = types.some((type) => JSON_TYPES.has(type) || type >= USER_TYPES_MIN);
  return mayBreak ? `translate(${json}, e'\\n\\r', '  ')` : json;
}

/** @throws LecternError `source-unreadable` with the existing tables; failures of the statement */
export async function describeRows(database: Database, spec: RowsSpec, name: string): Promise<DescribedRows> {
  const table = spec.table === undefined ? null : await findTable(database, spec.table, name);
  const statement = table === null ? selectOf(spec.query ?? '') : `SELECT * FROM ${table.name}`;
  const { fields } = await database.result(`SELECT * FROM (${statement}\n) t LIMIT 0`);
  const columns = fields.map((field) => field.name);
  return {
    table,
    // Columns are named, so that a read fails if the table has lost a column. `*` would give rows without
    // that column.
    select:
      table === null ? statement : `SELECT ${columns.map(quoteIdentifier).join(', ')} FROM ${table.name}`,
    columns,
    types: fields.map((field) => field.dataTypeID),
    origins: fields.map(({ tableID, columnID }) => ({ table: tableID, column: columnID })),
  };
}

/** Reads the types and keys of the rows from the catalogue. */
export async function catalogueOf(
  database: Database,
  { columns, types, origins }: DescribedRows,
): Promise<Catalogue> {
  const keys = await database.query<{ readonly table: number; readonly columns: readonly number[] }>(
    `SELECT indrelid::int8::float8 AS table, array_to_json((indkey::int2[])[0:indnkeyatts - 1]) AS columns
     FROM pg_index WHERE indisprimary AND indrelid = ANY ($1::oid[]) ORDER BY array_position($1::oid[], indrelid)`,
    [[...new Set(origins.map(({ table }) => table))]],
  );
  const named = keys.map((key) =>
    key.columns.map((number) => {
      const at = origins.findIndex(({ table, column }) => table === key.table && column === number);
      return columns[at];
    }),
  );
  const formOf = (n: number): FormOfType | undefined => FORMS_OF_TYPES.get(types[n] as number);
  return {
    forms: new Map(columns.flatMap((column, n) => (formOf(n) ? [[column, formOf(n) as FormOfType]] : []))),
    keys: named.filter((key): key is string[] => key.every((column) => column !== undefined)),
  };
}

function selectOf(query: string): string {
  return query.trim().replace(/;$/, '');
}

export async function findTable(database: Database, table: string, name: string): Promise<TableFacts> {
  const [found] = await database.query<TableFacts>(
    `SELECT c.oid::int8::float8 AS oid, c.relkind AS kind, format('%I.%I', n.nspname, c.relname) AS name
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)`,
    [table],
  );
  if (found !== undefined) return found;
  const known = await database.query<{ readonly shown: string }>(
    `SELECT CASE WHEN pg_table_is_visible(oid) THEN format('%I', relname) ELSE format('%I.%I', relnamespace::regnamespace::text, relname) END AS shown
     FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND relnamespace::regnamespace::text !~ '^(pg_|information_schema$)'
       AND NOT relispartition AND has_schema_privilege(relnamespace, 'USAGE') AND has_table_privilege(oid, 'SELECT') ORDER BY 1 LIMIT 200`,
  );
  const names = known.map(({ shown }) => shown);
  const near = suggest(table, names);
  const listed = names.slice(0, TABLES_LISTED_MAX);
  if (names.length > listed.length) listed.push('…');
  const hint = near === null ? '' : `; did you mean ${quoteName(near)}?`;
  const there =
    names.length === 0 ? 'this user can read no table' : `this user can read ${listed.join(', ')}`;
  throw cannotRead(name, `there is no table ${quoteName(table)}${hint} (${there})`);
}

/** A name after a dot or AS, where SQL allows its own words, too. */
export function simpleName(name: string): string {
  return /^[a-z_][a-z\d_]*$/.test(name) ? name : quoteIdentifier(name);
}

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Checks before reading that the columns of the field map exist, and that each field that an event needs has a
 * column.
 *
 * @throws LecternError `source-malformed` with the existing columns
 */
export function checkMappedColumns(
  columns: readonly string[],
  rules: ReadRules,
  name: string,
  isWhole: boolean,
): void {
  const entries = entriesOf(rules, 'postgresql');
  const isThere = (column: string): boolean =>
    columns.includes(column) || columns.includes(column.split('.')[0] as string);
  const missing = [...entries].flatMap(([field, entry]) =>
    columnsOf(entry).flatMap((column) =>
      isThere(column) ? [] : [{ field, column, place: placeOf(rules, 'postgresql', field) }],
    ),
  );
  checkColumns({ sourceName: name, records: 1, missing, present: columns });
  if (!isWhole) return;
  const lost = FIELDS.filter(
    (field) =>
      field.required &&
      (rules.when === undefined || field.kind !== 'instant') &&
      !entries.has(field.name) &&
      !columns.includes(field.name) &&
      !(field.name === 'id' && rules.identifiers === 'derived'),
  );
  if (lost.length === 0) return;
  const mapped = new Set(
    [...entries.values()].flatMap(columnsOf).flatMap((column) => [column, column.split('.')[0]]),
  );
  const isOwn = (column: string): boolean =>
    !entries.has(column) && FIELDS.some(({ name: field }) => field === column);
  const unused = columns.filter((column) => !mapped.has(column) && !isOwn(column));
  const maps = lost
    .map((field) => `--map ${field.name}=${suggest(field.name, unused) ?? 'COLUMN'}`)
    .join(' ');
  throw new LecternError(
    'source-malformed',
    `${name} has no column ${lost.map((field) => quoteName(field.name)).join(' and ')}: name the column, as ${maps}. ` +
      `The columns are ${columns.map(quoteName).join(', ')}`,
  );
}
