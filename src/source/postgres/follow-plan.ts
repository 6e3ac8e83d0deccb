import { LecternError } from '../../base/errors.js';
import { RECORD_BYTES_MAX } from '../../base/limits.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import { entriesOf } from '../field-map.js';
import { columnsOf, type MapTemplate } from '../map-value.js';
import { neededRows } from './binary-rows.js';
import type { FollowedTables } from './change-stream.js';
import { type Database, quoteName } from './database.js';
import { type DescribedRows, findTable, jsonOf, quoteIdentifier, type TableFacts } from './described-rows.js';
import { callsIn, PLAN_SETTINGS, type PlanNode, type Scan, type Way, waysOf } from './query-plan.js';

/** How a table or a query is followed. */
export interface FollowPlan extends FollowedTables {
  /** The id of an event, made from the columns of `key`. */
  readonly id: MapTemplate;
  /**
   * A statement that gets arrays of values of the columns of the id and gives `[key, line]`: these values as JSON, and
   * the JSON of a row or null.
   */
  readonly readByKeys: string;
  /** For each table of a query with known keys, statements that get them and give the keys of the rows concerned. */
  readonly concerned: ReadonlyMap<number, readonly string[]>;
  /** Why a change of some tables causes a read of all rows. */
  readonly wholeReads: readonly string[];
  readonly relations: Relations;
  /** The structure that the plan was made for. */
  readonly structure: string;
}

/** Oids of tables, without their partitions, and of views. */
interface Relations {
  readonly tables: readonly number[];
  readonly views: readonly number[];
}

/** Two texts that show whether a table was altered or rewritten. */
export interface TableState {
  /** Differs after any alteration of a table or view. */
  readonly structure: string;
  /**
   * Differs after a table was truncated or rewritten. Older snapshots no longer show the rows of such a
   * table.
   */
  readonly files: string;
}

interface Structure {
  readonly walLevel: string;
  readonly user: string;
  readonly root: number;
  /** The table and its partitions; null if it does not exist. */
  readonly tables: readonly Member[] | null;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Columns that decide on the partition, at every level; an empty text for an expression. */
  readonly partitionColumns: readonly string[] | null;
  /** Columns of each unique index. */
  readonly unique: readonly (readonly string[])[] | null;
  readonly publications:
    | readonly { readonly name: string; readonly isWhole: boolean; readonly isFiltered: boolean }[]
    | null;
}

interface Member {
  readonly oid: number;
  readonly name: string;
  readonly schema: string;
  readonly table: string;
  readonly kind: string;
  readonly isLogged: boolean;
  /** Whether policies decide which rows a user sees. */
  readonly isFiltered: boolean;
  readonly identity: 'd' | 'n' | 'f' | 'i';
  /** Columns of the replica identity; null for the whole row. */
  readonly identityColumns: readonly string[] | null;
  readonly publications: readonly string[] | null;
}

/** The columns of an index without those of INCLUDE. */
const KEY_COLUMNS = 'a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])';

/** One row of JSON for the table with the oid `root.oid`. */
const STATE = `
WITH RECURSIVE tree(oid) AS (
  SELECT root.oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.oid
), named AS (
  SELECT c.oid, c.relkind, c.relreplident, c.relpersistence, c.relrowsecurity, c.relfilenode, n.nspname, c.relname FROM tree JOIN pg_class c USING (oid) JOIN pg_namespace n ON n.oid = c.relnamespace
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
  'root', root.oid::int8,
  'tables', (SELECT json_agg(json_build_object(
      'oid', oid::int8, 'name', format('%I.%I', nspname, relname), 'schema', nspname, 'table', relname, 'kind', relkind, 'isLogged', relpersistence = 'p', 'isFiltered', relrowsecurity, 'identity', relreplident,
      'identityColumns', CASE WHEN relreplident IN ('d', 'i') THEN (
        SELECT coalesce(json_agg(a.attname), '[]') FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND ${KEY_COLUMNS}
        WHERE i.indrelid = named.oid AND CASE relreplident WHEN 'd' THEN i.indisprimary ELSE i.indisreplident END) END,
      'publications', (SELECT json_agg(pubname ORDER BY pubname) FROM published WHERE published.oid = named.oid)
    ) ORDER BY oid) FROM named),
  'columns', (SELECT json_agg(json_build_object('name', attname, 'type', format_type(atttypid, atttypmod), 'isNotNull', attnotnull) ORDER BY attnum)
    FROM pg_attribute WHERE attrelid = root.oid AND attnum > 0 AND NOT attisdropped),
  'partitionColumns', (SELECT json_agg(DISTINCT coalesce(a.attname, '')) FROM named JOIN pg_partitioned_table p ON p.partrelid = named.oid
    CROSS JOIN unnest(p.partattrs::int2[]) AS number LEFT JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = number),
  'unique', (SELECT json_agg((SELECT json_agg(a.attname) FROM pg_attribute a WHERE a.attrelid = i.indrelid AND ${KEY_COLUMNS}))
    FROM pg_index i WHERE i.indrelid = root.oid AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL),
  'publications', (SELECT json_agg(json_build_object('name', p.pubname, 'isWhole', p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate,
      'isFiltered', EXISTS (SELECT FROM published f WHERE f.pubname = p.pubname AND f.rowfilter IS NOT NULL)) ORDER BY p.pubname)
    FROM pg_publication p WHERE p.pubname IN (SELECT pubname FROM published))
)::text AS structure, (SELECT json_agg(relfilenode ORDER BY oid) FROM named)::text AS files`;

const STATES = `SELECT json_build_array(json_agg(state.structure::json ORDER BY root.oid), (SELECT json_agg(pg_get_viewdef(oid)) FROM unnest($2::oid[]) view(oid)))::text AS structure,
  json_agg(state.files ORDER BY root.oid)::text AS files FROM unnest($1::oid[]) root(oid) CROSS JOIN LATERAL (${STATE}) state`;

/** The state of tables and views, in a transaction as its snapshot sees them. */
export async function stateOf(
  database: Database,
  { tables, views }: Relations,
): Promise<TableState | undefined> {
  const [state] = await database.query<TableState>(STATES, [tables, views]);
  return state;
}

/**
 * Checks, before anything begins, that a table or a query can be followed.
 *
 * @throws LecternError `source-unreadable` with the statement that fixes a missing condition
 */
export async function planFollowing(
  database: Database,
  rows: DescribedRows,
  rules: ReadRules,
  name: string,
  followTables: readonly string[] = [],
): Promise<FollowPlan> {
  const fault = (problem: string): LecternError =>
    new LecternError('source-unreadable', `cannot follow ${name}: ${problem}`);
  const { table } = rows;
  const { template, steps } = entriesOf(rules, 'postgresql').get('id') ?? {
    template: [{ column: 'id' }],
  };
  if (steps !== undefined)
    throw fault('the id of an event must be a column or a template; match and values are for other fields');
  const keyColumns = [...new Set(columnsOf({ template }))];
  const lost = keyColumns.filter((column) => !rows.columns.includes(column));
  if (lost.length > 0) {
    throw fault(
      `the id of an event must come from columns of the table, which has no column ${lost.map(quoteName).join(', ')}; see --map id=COLUMN`,
    );
  }
  const isQuery = table === null || !['r', 'p'].includes(table.kind);
  const reads = isQuery
    ? await readsOf(database, rows, name, followTables)
    : { relations: { tables: [table.oid], views: [] }, plans: [] };
  if (reads.problem !== undefined) throw fault(reads.problem);
  const text = (await stateOf(database, reads.relations))?.structure ?? '[[], []]';
  const [structures] = JSON.parse(text) as [Structure[]];
  for (const structure of structures) {
    if (structure.walLevel === 'logical') continue;
    throw fault(
      `wal_level is ${structure.walLevel}, and following needs logical; run: ALTER SYSTEM SET wal_level = 'logical'; and restart the server`,
    );
  }
  for (const structure of structures) checkPersistence(structure, fault);
  if (!isQuery) checkUnique(structures[0] as Structure, keyColumns, table, rules, fault);
  for (const structure of structures) checkIdentity(structure, isQuery ? [] : keyColumns, fault);
  const publication = await choosePublication(database, structures, fault);
  const types = keyColumns.map((column) => rows.types[rows.columns.indexOf(column)] as number);
  const key = { columns: keyColumns, types };
  const [{ names } = { names: [] }] = await database.query<{ readonly names: readonly string[] }>(
    'SELECT array_agg(format_type(oid, -1) ORDER BY n) AS names FROM unnest($1::oid[]) WITH ORDINALITY AS u(oid, n)',
    [types],
  );
  return {
    id: template,
    publication,
    ...(isQuery
      ? await queryWays(database, reads, structures, rows, keyColumns)
      : tableWays(structures[0] as Structure, keyColumns)),
    readByKeys: readByKeys(neededRows(rows, rules), key, names),
    relations: reads.relations,
    structure: text,
  };
}

type Ways = Pick<FollowPlan, 'keys' | 'concerned' | 'wholeReads'>;

/** The key of a row of the table is that of its event. */
function tableWays({ tables }: Structure, keyColumns: readonly string[]): Ways {
  const keys = new Map((tables ?? []).map(({ oid }) => [oid, keyColumns]));
  return { keys, concerned: new Map(), wholeReads: [] };
}

interface Reads {
  readonly relations: Relations;
  /** None for a table. */
  readonly plans: readonly PlanNode[];
  /** Why changes of the data would go unnoticed. */
  readonly problem?: string;
}

/** Relations that the transaction has locked, which are those that a statement names or that its views name. */
const LOCKED = `
WITH locked AS (
  SELECT c.oid, c.relkind AS kind, format('%I.%I', n.nspname, c.relname) AS name
  FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
)
SELECT oid::int8::float8 AS oid, kind, name FROM locked
WHERE NOT EXISTS (SELECT FROM pg_inherits i JOIN locked p ON p.oid = i.inhparent WHERE i.inhrelid = locked.oid)`;

/** The relations and the plan of a query. */
async function readsOf(
  database: Database,
  { select }: DescribedRows,
  name: string,
  followTables: readonly string[],
): Promise<Reads> {
  await database.query('BEGIN READ ONLY');
  await database.query(PLAN_SETTINGS);
  const plans: PlanNode[] = [];
  for (const statement of [select, `SELECT * FROM (${select}\n) t`]) {
    const [answer] = await database.query<{
      readonly 'QUERY PLAN': readonly { readonly Plan: PlanNode }[];
    }>(`EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) ${statement}`);
    plans.push(...(answer?.['QUERY PLAN'] ?? []).map(({ Plan }) => Plan));
  }
  const locked = [...(await database.query<TableFacts>(LOCKED))];
  await database.query('COMMIT');
  for (const each of followTables) locked.push(await findTable(database, each, name));
  const ofKind = (...kinds: string[]): TableFacts[] => locked.filter(({ kind }) => kinds.includes(kind));
  const [unlogged] = ofKind('m', 'f');
  const relations = {
    tables: [...new Set(ofKind('r', 'p').map(({ oid }) => oid))].sort((a, b) => a - b),
    views: ofKind('v').map(({ oid }) => oid),
  };
  const problem =
    unlogged !== undefined
      ? `${unlogged.name} is a ${unlogged.kind === 'm' ? 'materialized view' : 'foreign table'}, whose changes are not reported; use --refresh-seconds`
      : relations.tables.length === 0
        ? 'it reads no table; use --refresh-seconds'
        : followTables.length === 0
          ? await hiddenReadsOf(database, plans)
          : undefined;
  return { relations, plans, ...(problem !== undefined && { problem }) };
}

/** Functions other than those of PostgreSQL may read tables that the plan does not show. */
async function hiddenReadsOf(database: Database, plans: readonly PlanNode[]): Promise<string | undefined> {
  const [found] = await database.query<{ readonly name: string }>(
    `SELECT p.oid::regprocedure::text AS name FROM pg_proc p WHERE proname = ANY ($1) AND provolatile <> 'i' AND prokind = 'f'
       AND pronamespace <> 'pg_catalog'::regnamespace AND prolang IN (SELECT oid FROM pg_language WHERE lanname <> 'c') LIMIT 1`,
    [plans.flatMap(callsIn)],
  );
  if (found === undefined) return undefined;
  return `it calls ${found.name}, which may read further tables; name these tables in followTables, or use --refresh-seconds`;
}

/** How a change of each table is traced to rows of the query. */
async function queryWays(
  database: Database,
  { plans, relations }: Reads,
  structures: readonly Structure[],
  { columns }: DescribedRows,
  keyColumns: readonly string[],
): Promise<Ways> {
  const members = structures.flatMap(({ tables }) => tables ?? []);
  const columnTypes = new Map(
    structures.flatMap((each) => (each.tables ?? []).map(({ oid }) => [oid, each.columns] as const)),
  );
  const memberOf = ({ schema, table }: Scan): Member | undefined =>
    members.find((each) => each.schema === schema && each.table === table);
  const isKnown = (scan: Scan, column: string): boolean => {
    const member = memberOf(scan);
    return member?.identity === 'f' || member?.identityColumns?.includes(column) === true;
  };
  const group = keyColumns.map((column) => columns.indexOf(column));
  const found = waysOf(plans, group, isKnown);
  const { ways: anyway } = waysOf(plans, group, () => true);
  const keys = new Map<number, readonly string[] | null>();
  const concerned = new Map<number, readonly string[]>();
  const wholeReads: string[] = [];
  for (const { tables } of structures) {
    for (const member of tables ?? []) {
      const { oid, name, kind } = member;
      const scans = found.scans.filter((scan) => memberOf(scan) === member);
      // The plan leaves out tables that cannot change the rows.
      if (scans.length === 0 && tables?.length === 1) continue;
      const ways = scans.flatMap((scan) => found.ways.find((each) => each.scan === scan) ?? []);
      const known = [...new Set(ways.flatMap((way) => way.columns))];
      const types = known.map(
        (column) => columnTypes.get(oid)?.find((each) => each.name === column)?.type ?? 'text',
      );
      const statements = ways.map((way) => concernedBy(way, found.group, known, types));
      const isComplete = scans.length > 0 && ways.length === scans.length;
      const couldBe = scans.every(({ alias }) => anyway.some((way) => way.scan.alias === alias));
      const reason =
        found.problem ??
        (isComplete
          ? // The owner of a view may see more rows than this user.
            member.isFiltered && relations.views.length > 0
            ? 'it has policies, and the query reads it through a view'
            : await refusalOf(database, statements, known.length)
          : couldBe
            ? `its replica identity lacks columns of the join; run: ALTER TABLE ${name} REPLICA IDENTITY FULL;`
            : 'its join does not lead to the id in a known way');
      if (reason === null) {
        keys.set(oid, known);
        concerned.set(oid, statements);
        continue;
      }
      keys.set(oid, null);
      if (kind === 'r') wholeReads.push(`${name}: ${reason}`);
    }
  }
  return { keys, concerned, wholeReads };
}

/** Why the server does not accept statements, which are made from texts of the plan; null if it does. */
async function refusalOf(
  database: Database,
  statements: readonly string[],
  arrays: number,
): Promise<string | null> {
  const values = Array.from({ length: arrays }, () => []);
  for (const statement of statements) {
    const failure = await database.query(statement, values).then(
      () => null,
      (error: Error) => error.message,
    );
    if (failure !== null) return failure;
  }
  return null;
}

/** The SQL of the keys of rows that rows with these values concern. It takes an array of texts for each column. */
function concernedBy(
  { scan, steps }: Way,
  group: readonly string[],
  columns: readonly string[],
  types: readonly string[],
): string {
  const values = group.map((value, n) => `(${value})::text AS k${n}`);
  const joins = steps.map(
    ({ to, conditions }) =>
      `JOIN ${quoteIdentifier(to.schema)}.${quoteIdentifier(to.table)} AS ${quoteIdentifier(to.alias)} ON ${conditions.join(' AND ')}`,
  );
  return [
    `SELECT DISTINCT ${values.join(', ')} FROM ${arraysOf(types)} AS ${quoteIdentifier(scan.alias)}(${listOf(columns)})`,
    ...joins,
  ].join(' ');
}

/** Rows from one array of texts for each type. */
function arraysOf(types: readonly string[]): string {
  return `unnest(${types.map((type, n) => `$${n + 1}::text[]::${type}[]`).join(', ')})`;
}

type FaultOf = (problem: string) => LecternError;

/** Checks that PostgreSQL reports the changes of every row. */
function checkPersistence({ tables }: Structure, fault: FaultOf): void {
  const unlogged = tables?.find(({ isLogged }) => !isLogged);
  if (unlogged !== undefined) {
    throw fault(
      `changes of ${unlogged.name} are not logged; run: ALTER TABLE ${unlogged.name} SET LOGGED; or use --refresh-seconds`,
    );
  }
  const foreign = tables?.find(({ kind }) => kind === 'f');
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

/** @param keyColumns columns that the replica identity must have; with none, any replica identity is good */
function checkIdentity({ tables }: Structure, keyColumns: readonly string[], fault: FaultOf): void {
  for (const { name, kind, identity, identityColumns } of tables ?? []) {
    const hasNone = identity === 'n' || identityColumns?.length === 0;
    const isKnown =
      identity === 'f' || (!hasNone && keyColumns.every((column) => identityColumns?.includes(column)));
    if (kind !== 'r' || isKnown) continue;
    const has = hasNone ? 'none' : `(${identityColumns?.join(', ')})`;
    const shown = keyColumns.length === 0 ? 'which one it was' : `its id (${listOf(keyColumns)})`;
    throw fault(
      `a deleted row of ${name} would not show ${shown}: the replica identity of the table is ${has}; run: ALTER TABLE ${name} REPLICA IDENTITY FULL;` +
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
  structures: readonly Structure[],
  fault: FaultOf,
): Promise<string> {
  const rootOf = ({ root, tables }: Structure): Member | undefined => tables?.find(({ oid }) => oid === root);
  const covers = (structure: Structure, name: string): boolean => {
    const root = rootOf(structure);
    const leaves = (structure.tables ?? []).filter(({ kind }) => kind === 'r');
    return (
      (root?.kind === 'p' && root.publications?.includes(name)) ||
      leaves.every(({ publications }) => publications?.includes(name))
    );
  };
  const covering = (structures[0]?.publications ?? []).filter(({ name }) =>
    structures.every((structure) => covers(structure, name)),
  );
  const isGood = (name: string): boolean =>
    structures.every(({ publications }) =>
      publications?.some((each) => each.name === name && each.isWhole && !each.isFiltered),
    );
  const good = covering.find(({ name }) => isGood(name));
  if (good !== undefined) return good.name;
  const names = structures.flatMap((structure) => rootOf(structure)?.name ?? []);
  const statement = `run as its owner: ${await publishStatement(database, names)}`;
  const [partial] = covering;
  if (partial === undefined) throw fault(`no publication has ${namesOf(names)}; ${statement}`);
  const reason = structures.some(({ publications }) =>
    publications?.some((each) => each.name === partial.name && each.isFiltered),
  )
    ? 'leaves out rows'
    : 'leaves out kinds of changes';
  throw fault(`the publication ${quoteName(partial.name)} ${reason}; ${statement}`);
}

function namesOf([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? `the table ${first}` : `all the tables ${[first, ...others].join(', ')}`;
}

/** The statement that publishes the tables: by the publication `lectern` if it can be extended, else by a new one. */
async function publishStatement(database: Database, names: readonly string[]): Promise<string> {
  const known = await database.query<{
    readonly name: string;
    readonly isOpen: boolean;
    readonly lacks: readonly string[];
  }>(
    `SELECT pubname AS name, NOT puballtables AND pubinsert AND pubupdate AND pubdelete AND pubtruncate AS "isOpen",
       ARRAY(SELECT name FROM unnest($1::text[]) WITH ORDINALITY AS u(name, n)
         WHERE NOT EXISTS (SELECT FROM pg_publication_rel WHERE prpubid = p.oid AND prrelid = to_regclass(name)) ORDER BY n) AS lacks
     FROM pg_publication p`,
    [names],
  );
  const extended = known.find((each) => each.name === 'lectern' && each.isOpen && each.lacks.length > 0);
  if (extended !== undefined) return `ALTER PUBLICATION lectern ADD TABLE ${extended.lacks.join(', ')};`;
  let free = 'lectern';
  for (let n = 2; known.some((each) => each.name === free); n++) free = `lectern_${n}`;
  return `CREATE PUBLICATION ${free} FOR TABLE ${names.join(', ')};`;
}

/** The SQL to read rows by their keys, cut where they are too long for a record. It takes an array of texts for each column of the key. */
function readByKeys(
  rows: DescribedRows,
  key: Pick<DescribedRows, 'columns' | 'types'>,
  types: readonly string[],
): string {
  const names = key.columns.map(quoteIdentifier);
  const equal = names.map((column, n) => `r.k${n} = k.${column}`).join(' AND ');
  // Within the rows, the planner passes these conditions on to the tables, also below an aggregate.
  const among = names
    .map((column, n) => `t.${column} = ANY ($${n + 1}::text[]::${types[n]}[])`)
    .join(' AND ');
  const given = names.map((column, n) => `t.${column} AS k${n}`).join(', ');
  return (
    `SELECT ${jsonOf(key, 'k')} AS key, r.line FROM (SELECT * FROM ${arraysOf(types)} AS u(${names.join(', ')})) k ` +
    `LEFT JOIN (SELECT ${given}, left(${jsonOf(rows)}, ${RECORD_BYTES_MAX + 1}) AS line FROM (${rows.select}\n) t WHERE ${among}) r ON ${equal}`
  );
}
