import { LecternError } from '../../errors.js';
import { RECORD_BYTES_MAX } from '../../limits.js';
import type { ReadRules } from '../../model/read-rules.js';
import { mapOf } from '../field-map.js';
import { columnsOf, type MapTemplate } from '../map-template.js';
import type { FollowedTables } from './change-stream.js';
import type { Database } from './database.js';
import { quoteName } from './database-failure.js';
import { type DescribedRows, jsonOf, quoteIdentifier, type TableFacts } from './described-rows.js';

/** How a table is followed. */
export interface FollowPlan extends FollowedTables {
  readonly table: TableFacts;
  /** The id of an event, made from its key columns. */
  readonly id: MapTemplate;
  /**
   * A statement that gets arrays of keys and gives `[key, line]`: the JSON of the key, and the JSON of its row
   * or null.
   */
  readonly readByKeys: string;
  /** The structure that the plan was made for. */
  readonly structure: string;
}

/** Two texts that show whether a table was altered or rewritten. */
export interface TableState {
  /** Differs after any alteration of the table. */
  readonly structure: string;
  /**
   * Differs after the table was truncated or rewritten. Older snapshots no longer show the rows of such a
   * table.
   */
  readonly files: string;
}

interface Structure {
  readonly walLevel: string;
  readonly user: string;
  /** The table and its partitions. */
  readonly tables: readonly {
    readonly oid: number;
    readonly name: string;
    readonly kind: string;
    readonly isLogged: boolean;
    readonly identity: 'd' | 'n' | 'f' | 'i';
    /** Columns of the replica identity; null for the whole row. */
    readonly identityColumns: readonly string[] | null;
    readonly publications: readonly string[] | null;
  }[];
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Columns that decide on the partition, at every level; an empty text for an expression. */
  readonly partitionColumns: readonly string[] | null;
  /** Columns of each unique index. */
  readonly unique: readonly (readonly string[])[] | null;
  readonly publications:
    | readonly { readonly name: string; readonly isWhole: boolean; readonly isFiltered: boolean }[]
    | null;
}

/** The columns of an index without those of INCLUDE. */
const KEY_COLUMNS = 'a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])';

/** One row of JSON for the table with oid $1. */
const STATE = `
WITH RECURSIVE tree(oid) AS (
  SELECT $1::oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.oid
), named AS (
  SELECT c.oid, c.relkind, c.relreplident, c.relpersistence, c.relfilenode, n.nspname, c.relname FROM tree JOIN pg_class c USING (oid) JOIN pg_namespace n ON n.oid = c.relnamespace
), published AS (
  SELECT p.pubname, named.oid, to_jsonb(p)->>'rowfilter' AS rowfilter FROM pg_publication_tables p
  JOIN named ON p.schemaname = named.nspname AND p.tablename = named.relname
  -- The view lists a partitioned table as its partitions, which may not exist yet.
  UNION SELECT p.pubname, named.oid, to_jsonb(r)->>'prqual' FROM named JOIN pg_publication_rel r ON r.prrelid = named.oid
  JOIN pg_publication p ON p.oid = r.prpubid WHERE named.relkind = 'p'
  UNION SELECT p.pubname, named.oid, NULL FROM named JOIN pg_publication p ON p.puballtables WHERE named.relkind = 'p'
)
SELECT json_build_object(
  'walLevel', current_setting('wal_level'),
  'user', current_user,
  'tables', (SELECT json_agg(json_build_object(
      'oid', oid::int8, 'name', format('%I.%I', nspname, relname), 'kind', relkind, 'isLogged', relpersistence = 'p', 'identity', relreplident,
      'identityColumns', CASE WHEN relreplident IN ('d', 'i') THEN (
        SELECT coalesce(json_agg(a.attname), '[]') FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND ${KEY_COLUMNS}
        WHERE i.indrelid = named.oid AND CASE relreplident WHEN 'd' THEN i.indisprimary ELSE i.indisreplident END) END,
      'publications', (SELECT json_agg(pubname ORDER BY pubname) FROM published WHERE published.oid = named.oid)
    ) ORDER BY oid) FROM named),
  'columns', (SELECT json_agg(json_build_object('name', attname, 'type', format_type(atttypid, atttypmod)) ORDER BY attnum)
    FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped),
  'partitionColumns', (SELECT json_agg(DISTINCT coalesce(a.attname, '')) FROM named JOIN pg_partitioned_table p ON p.partrelid = named.oid
    CROSS JOIN unnest(p.partattrs::int2[]) AS number LEFT JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = number),
  'unique', (SELECT json_agg((SELECT json_agg(a.attname) FROM pg_attribute a WHERE a.attrelid = i.indrelid AND ${KEY_COLUMNS}))
    FROM pg_index i WHERE i.indrelid = $1 AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL),
  'publications', (SELECT json_agg(json_build_object('name', p.pubname, 'isWhole', p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate,
      'isFiltered', EXISTS (SELECT FROM published f WHERE f.pubname = p.pubname AND f.rowfilter IS NOT NULL)) ORDER BY p.pubname)
    FROM pg_publication p WHERE p.pubname IN (SELECT pubname FROM published))
)::text AS structure, (SELECT json_agg(relfilenode ORDER BY oid) FROM named)::text AS files`;

/** The state of a table, in a transaction as its snapshot sees the table. Undefined if the table does not exist. */
export async function stateOf(database: Database, { oid }: TableFacts): Promise<TableState | undefined> {
  const [state] = await database.query<TableState>(STATE, [oid]);
  return state;
}

/**
 * Checks, before anything begins, that a table can be followed.
 *
 * @throws LecternError `source-unreadable` with the statement that fixes a missing condition
 */
export async function planFollowing(
  database: Database,
  rows: DescribedRows,
  rules: ReadRules,
  name: string,
): Promise<FollowPlan> {
  const fault = (problem: string): LecternError =>
    new LecternError('source-unreadable', `cannot follow ${name}: ${problem}`);
  const { table } = rows;
  if (table === null || !['r', 'p'].includes(table.kind)) {
    throw fault(
      'this is a view or a foreign table, and only a table can be followed; name its table, or use --refresh-seconds',
    );
  }
  const text = (await stateOf(database, table))?.structure ?? '{}';
  const structure = JSON.parse(text) as Structure;
  if (structure.walLevel !== 'logical') {
    throw fault(
      `wal_level is ${structure.walLevel}, and following needs logical; run: ALTER SYSTEM SET wal_level = 'logical'; and restart the server`,
    );
  }
  const id = mapOf(rules.fieldMap ?? {}, 'postgresql').get('id') ?? [{ column: 'id' }];
  const keyColumns = [...new Set(columnsOf(id))];
  const types = keyColumns.map((column) => structure.columns.find((each) => each.name === column)?.type);
  const lost = keyColumns.filter((_, n) => types[n] === undefined);
  if (lost.length > 0) {
    throw fault(
      `the id of an event must come from columns of the table, which has no column ${lost.map(quoteName).join(', ')}; see --map id=COLUMN`,
    );
  }
  checkPersistence(structure, fault);
  checkUnique(structure, keyColumns, table, rules, fault);
  checkIdentity(structure, keyColumns, fault);
  const publication = await choosePublication(database, structure, table, fault);
  return {
    table,
    id,
    keyColumns,
    publication,
    oids: new Set(structure.tables.map(({ oid }) => oid)),
    readByKeys: readByKeys(rows, keyColumns, types as string[]),
    structure: text,
  };
}

type FaultOf = (problem: string) => LecternError;

/** Checks that PostgreSQL reports the changes of every row. */
function checkPersistence({ tables }: Structure, fault: FaultOf): void {
  const unlogged = tables.find(({ isLogged }) => !isLogged);
  if (unlogged !== undefined) {
    throw fault(
      `changes of ${unlogged.name} are not logged; run: ALTER TABLE ${unlogged.name} SET LOGGED; or use --refresh-seconds`,
    );
  }
  const foreign = tables.find(({ kind }) => kind === 'f');
  if (foreign === undefined) return;
  throw fault(
    `its partition ${foreign.name} is a foreign table, whose changes are not reported; use --refresh-seconds`,
  );
}

function checkUnique(
  { partitionColumns, unique }: Structure,
  keyColumns: readonly string[],
  table: TableFacts,
  { identifiers }: ReadRules,
  fault: FaultOf,
): void {
  const isUnique = (columns: readonly string[]): boolean =>
    (unique ?? []).some((index) => index.every((column) => columns.includes(column)));
  if (isUnique(keyColumns)) return;
  const problem = `the column of the id (${listOf(keyColumns)}) is not unique`;
  if (partitionColumns?.includes('')) {
    throw fault(
      `${problem}, and PostgreSQL has no unique constraints for tables that are partitioned by an expression; use --refresh-seconds`,
    );
  }
  const whole = [...new Set([...keyColumns, ...(partitionColumns ?? [])])];
  const statement = isUnique(whole) ? '' : `run: ALTER TABLE ${table.name} ADD UNIQUE (${listOf(whole)});`;
  if (whole.length === keyColumns.length) throw fault(`${problem}; ${statement}`);
  const template = whole.map((column) => `{${column}}`).join('/');
  const options = `--map 'id=${template}'${identifiers === 'uuid' ? ' --identifiers derived' : ''}`;
  throw fault(
    `${problem}, and a unique constraint of this table must have the columns of its partitions; ${statement === '' ? '' : `${statement} and `}give ${options}`,
  );
}

function checkIdentity({ tables }: Structure, keyColumns: readonly string[], fault: FaultOf): void {
  for (const { name, kind, identity, identityColumns } of tables.filter((each) => each.kind === 'r')) {
    const isKnown = identity === 'f' || keyColumns.every((column) => identityColumns?.includes(column));
    if (kind === 'r' && isKnown) continue;
    const has =
      identity === 'n' || identityColumns?.length === 0 ? 'none' : `(${identityColumns?.join(', ')})`;
    throw fault(
      `a deleted row of ${name} would not show its id (${listOf(keyColumns)}): the replica identity of the table is ${has}; run: ALTER TABLE ${name} REPLICA IDENTITY FULL;` +
        ' or, with a unique index of NOT NULL columns, REPLICA IDENTITY USING INDEX',
    );
  }
}

function listOf(columns: readonly string[]): string {
  return columns.map(quoteIdentifier).join(', ');
}

/** The first publication that reports every change of every row. */
async function choosePublication(
  database: Database,
  { tables, publications }: Structure,
  table: TableFacts,
  fault: FaultOf,
): Promise<string> {
  const [root] = tables.filter(({ oid }) => oid === table.oid);
  const leaves = tables.filter(({ kind }) => kind === 'r');
  const covers = (name: string): boolean =>
    (root?.publications?.includes(name) && root.kind === 'p') ||
    leaves.every((leaf) => leaf.publications?.includes(name));
  const covering = (publications ?? []).filter(({ name }) => covers(name));
  const good = covering.find(({ isWhole, isFiltered }) => isWhole && !isFiltered);
  if (good !== undefined) return good.name;
  const statement = `run as its owner: ${await publishStatement(database, table)}`;
  const [partial] = covering;
  if (partial === undefined) throw fault(`no publication has the table ${table.name}; ${statement}`);
  const reason = partial.isFiltered ? 'leaves out rows' : 'leaves out kinds of changes';
  throw fault(`the publication ${quoteName(partial.name)} ${reason}; ${statement}`);
}

/** The statement that publishes the table: by the publication `lectern` if it can be extended, else by a new one. */
async function publishStatement(database: Database, { name, oid }: TableFacts): Promise<string> {
  const known = await database.query<{ readonly name: string; readonly isOpen: boolean }>(
    `SELECT pubname AS name, NOT puballtables AND pubinsert AND pubupdate AND pubdelete AND pubtruncate
       AND NOT EXISTS (SELECT FROM pg_publication_rel WHERE prpubid = p.oid AND prrelid = $1) AS "isOpen" FROM pg_publication p`,
    [oid],
  );
  if (known.some((each) => each.name === 'lectern' && each.isOpen))
    return `ALTER PUBLICATION lectern ADD TABLE ${name};`;
  let free = 'lectern';
  for (let n = 2; known.some((each) => each.name === free); n++) free = `lectern_${n}`;
  return `CREATE PUBLICATION ${free} FOR TABLE ${name};`;
}

/** The SQL to read rows by their keys, cut where they are too long for a record. The statement takes one array of texts for each key column. */
function readByKeys(rows: DescribedRows, keyColumns: readonly string[], types: readonly string[]): string {
  const names = keyColumns.map(quoteIdentifier);
  const arrays = types.map((type, n) => `$${n + 1}::text[]::${type}[]`);
  const equal = names.map((column) => `t.${column} = k.${column}`).join(' AND ');
  const key = {
    columns: keyColumns,
    types: keyColumns.map((each) => rows.types[rows.columns.indexOf(each)] as number),
  };
  return (
    `SELECT ${jsonOf(key, 'k')} AS key, r.line FROM (SELECT * FROM unnest(${arrays.join(', ')}) AS u(${names.join(', ')})) k ` +
    `LEFT JOIN LATERAL (SELECT left(${jsonOf(rows)}, ${RECORD_BYTES_MAX + 1}) AS line FROM (${rows.select}) t WHERE ${equal}) r ON true`
  );
}
