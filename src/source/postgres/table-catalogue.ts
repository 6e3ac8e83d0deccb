import { CATALOGUED_TABLES_MAX } from '../../base/limits.js';
import type { Database } from './database.js';

/** A table with its keys, for a proposal of a query. */
export interface CataloguedTable {
  readonly oid: number;
  /** As SQL names it. */
  readonly name: string;
  /** The bare name, without the schema. */
  readonly relation: string;
  /** Columns with the names of their types in pg_type. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Columns of the primary key. */
  readonly key: readonly string[];
  readonly foreignKeys: readonly ForeignKey[];
  /** An estimate. */
  readonly rows: number;
}

export interface ForeignKey {
  readonly columns: readonly string[];
  /** The oid of the other table. */
  readonly table: number;
  /** The columns of the other table. */
  readonly refers: readonly string[];
}

/** Names of the columns with these numbers. */
const names = (numbers: string, table: string): string =>
  `ARRAY(SELECT a.attname::text FROM unnest(${numbers}) WITH ORDINALITY AS u(number, n)
    JOIN pg_attribute a ON a.attrelid = ${table} AND a.attnum = u.number ORDER BY n)`;

/** The tables that the user may read, without partitions. */
export async function tableCatalogue(database: Database): Promise<readonly CataloguedTable[]> {
  const tables = await database.query<{ readonly table: CataloguedTable }>(
    `SELECT json_build_object('oid', c.oid::int8, 'rows', c.reltuples, 'relation', c.relname,
       'name', CASE WHEN pg_table_is_visible(c.oid) THEN format('%I', c.relname) ELSE format('%I.%I', c.relnamespace::regnamespace::text, c.relname) END,
       'columns', (SELECT json_agg(json_build_object('name', a.attname, 'type', t.typname) ORDER BY a.attnum)
         FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
       'key', coalesce((SELECT to_json(${names('i.indkey::int2[]', 'i.indrelid')}) FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary), '[]'),
       'foreignKeys', coalesce((SELECT json_agg(json_build_object('columns', ${names('k.conkey', 'k.conrelid')}, 'table', k.confrelid::int8,
         'refers', ${names('k.confkey', 'k.confrelid')}) ORDER BY k.conkey) FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f'), '[]')) AS table
     FROM pg_class c WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace::regnamespace::text !~ '^(pg_|information_schema$)'
       AND has_schema_privilege(c.relnamespace, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') ORDER BY c.relname LIMIT ${CATALOGUED_TABLES_MAX}`,
  );
  return tables.map(({ table }) => table);
}
