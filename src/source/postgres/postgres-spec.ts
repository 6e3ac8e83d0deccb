import { LecternError } from '../../base/errors.js';
import { type PostgresAddress, parsePostgresAddress } from './postgres-address.js';

/** The data to read: a table or view, or a statement. */
export interface RowsSpec {
  /** A table or view, as named in SQL: `events`, `school.events`, `"Events"`. */
  readonly table?: string | undefined;
  /** A SELECT to use instead of a table. */
  readonly query?: string | undefined;
}

/** How a database is read. */
export interface PostgresOptions extends RowsSpec {
  /** A cheap SELECT. While its rows are the same, the data counts as unchanged. Default: each load reads all. */
  readonly versionQuery?: string | undefined;
  /** Follow the table, or the tables of the query, by logical replication. Default false. */
  readonly follow?: boolean | undefined;
  /** Tables that functions of a followed query read. A change of one of them causes a read of all rows. Default none. */
  readonly followTables?: readonly string[] | undefined;
}

/** A PostgreSQL database as a source: a table or view, or a SELECT. */
export interface PostgresSpec extends PostgresOptions {
  /** Identifies this kind of source. */
  readonly kind: 'postgres';
  /** `postgres://user@host:5432/database`, with parameters of libpq. Missing parts come from the PG* variables. */
  readonly url: string;
  /** A snapshot, exported by another connection, to read in. Default: a new snapshot. */
  readonly snapshot?: string | undefined;
  /** Longest time until a statement has an answer, connecting included. Default UPSTREAM_HEADERS_MS_MAX. */
  readonly headersMsMax?: number | undefined;
  /** Longest time between two pieces of an answer. Default UPSTREAM_IDLE_MS_MAX. */
  readonly idleMsMax?: number | undefined;
  /** Longest time of the whole load. Default UPSTREAM_TOTAL_MS_MAX. */
  readonly totalMsMax?: number | undefined;
}

/** Fault messages with their conditions. `{name}` is an option; the command line shows its flag instead. */
export const POSTGRES_RULES: Readonly<Record<string, (rows: RowsSpec) => boolean>> = {
  'a PostgreSQL source needs {table} or {query}': ({ table, query }) =>
    table === undefined && query === undefined,
  '{table} and {query} are both given; expected one of the two': ({ table, query }) =>
    table !== undefined && query !== undefined,
};

/** Makes all checks that are possible without the database. Throws LecternError `option-invalid`. */
export function checkPostgresSpec(spec: PostgresSpec): PostgresAddress {
  const address = parsePostgresAddress(spec.url);
  const { table, query } = spec;
  for (const [problem, isBroken] of Object.entries(POSTGRES_RULES)) {
    if (isBroken(spec)) throw invalid(problem.replaceAll(/[{}]/g, ''));
  }
  for (const [name, text] of Object.entries({
    table,
    query,
    'version query': spec.versionQuery,
  })) {
    if (text !== undefined && (typeof text !== 'string' || text.trim() === ''))
      throw invalid(`the ${name} is empty`);
  }
  return address;
}

function invalid(problem: string): LecternError {
  return new LecternError('option-invalid', `the PostgreSQL source is not valid: ${problem}`);
}

/** The name of the source, for messages. */
export function postgresName({ shown }: PostgresAddress, { table }: RowsSpec): string {
  return `${shown} (${table ?? 'query'})`;
}

/** An id that is equal for equal sources. */
export function postgresId({ digest }: PostgresAddress, { table, query }: RowsSpec): string {
  return `postgres ${digest} ${table === undefined ? `query ${query}` : `table ${table}`}`;
}

/** A load of a followed table or query. */
export type FollowedLoad =
  | { readonly notModified: true }
  /** The changes since the served version: rows as chunks of NDJSON with the ids of their events, and ids of removed rows. */
  | {
      readonly chunks: readonly Uint8Array<ArrayBuffer>[];
      readonly ids: readonly (string | number)[];
      readonly removals: readonly (string | number)[];
      readonly version: string;
    }
  /**
   * All rows, to be read in an exported snapshot, which is kept until `end` is called. `end` rejects if the table was
   * altered meanwhile.
   */
  | { readonly whole: PostgresSpec; readonly version: string | null; end(isGood: boolean): Promise<void> };
