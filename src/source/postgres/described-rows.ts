import { LecternError } from '../../errors.js';
import { FIELDS } from '../../model/fields.js';
import type { ReadRules } from '../../model/read-rules.js';
import { suggest } from '../../model/suggest.js';
import { checkColumns } from '../column-watch.js';
import { mapOf } from '../field-map.js';
import { columnsOf } from '../map-template.js';
import type { Database } from './database.js';
import { quoteName } from './database-failure.js';
import type { RowsSpec } from './postgres-spec.js';

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
  /** The SQL for a row's JSON, on one line, for rows called `t`. */
  readonly json: string;
}

const TABLES_LISTED_MAX = 20;

/** Types whose JSON may have line breaks: json, json[], and user-defined types, which may contain json. */
const JSON_TYPES: ReadonlySet<number> = new Set([114, 199]);
const USER_TYPES_MIN = 16_384;

/** COPY as CSV with a delimiter and a quote that JSON never holds, so the rows are NDJSON. */
export function copyStatement({ select, json }: DescribedRows): string {
  return `COPY (SELECT ${json} FROM (${select}\n) t) TO STDOUT (FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')`;
}

/** @throws LecternError `source-unreadable` with the existing tables; failures of the statement */
export async function describeRows(database: Database, spec: RowsSpec, name: string): Promise<DescribedRows> {
  const table = spec.table === undefined ? null : await findTable(database, spec.table, name);
  const statement = table === null ? selectOf(spec.query ?? '') : `SELECT * FROM ${table.name}`;
  const { fields } = await database.result(`SELECT * FROM (${statement}\n) t LIMIT 0`);
  const columns = fields.map((field) => field.name);
  const mayBreak = fields.some(
    ({ dataTypeID }) => JSON_TYPES.has(dataTypeID) || dataTypeID >= USER_TYPES_MIN,
  );
  return {
    table,
    // Columns are named, so that a read fails if the table has lost a column. `*` would give rows without
    // that column.
    select:
      table === null ? statement : `SELECT ${columns.map(quoteIdentifier).join(', ')} FROM ${table.name}`,
    columns,
    types: fields.map((field) => field.dataTypeID),
    // A json column may have line breaks between values; within texts they are escaped.
    json: mayBreak ? "translate(row_to_json(t.*)::text, e'\\n\\r', '  ')" : 'row_to_json(t.*)::text',
  };
}

function selectOf(query: string): string {
  return query.trim().replace(/;$/, '');
}

async function findTable(database: Database, table: string, name: string): Promise<TableFacts> {
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
  throw new LecternError(
    'source-unreadable',
    `cannot read ${name}: there is no table ${quoteName(table)}${hint} (${there})`,
  );
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
  const templates = mapOf(rules.fieldMap ?? {}, 'postgresql');
  const isThere = (column: string): boolean =>
    columns.includes(column) || columns.includes(column.split('.')[0] as string);
  const missing = [...templates].flatMap(([field, template]) =>
    columnsOf(template).flatMap((column) => (isThere(column) ? [] : [{ field, column }])),
  );
  checkColumns({ sourceName: name, records: 1, missing, present: columns });
  if (!isWhole) return;
  const lost = FIELDS.filter(
    (field) =>
      field.required &&
      !templates.has(field.name) &&
      !columns.includes(field.name) &&
      !(field.name === 'id' && rules.identifiers === 'derived'),
  );
  if (lost.length === 0) return;
  const mapped = new Set(
    [...templates.values()].flatMap(columnsOf).flatMap((column) => [column, column.split('.')[0]]),
  );
  const isOwn = (column: string): boolean =>
    !templates.has(column) && FIELDS.some(({ name: field }) => field === column);
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
