import { LecternError } from '../base/errors.js';
import { CATALOGUED_TABLES_MAX, UPSTREAM_HEADERS_MS_MAX } from '../base/limits.js';
import type { IdentifierMode } from '../base/model/event.js';
import { Database } from '../source/postgres/database.js';
import { simpleName } from '../source/postgres/described-rows.js';
import { parsePostgresAddress } from '../source/postgres/postgres-address.js';
import { type ColumnRole, certaintyOf, likeliest } from './column-names.js';

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

interface ForeignKey {
  readonly columns: readonly string[];
  /** The oid of the other table. */
  readonly table: number;
  /** The columns of the other table. */
  readonly refers: readonly string[];
}

/** A query for the events of a database, from its keys and from the names of its tables and columns. */
export interface QueryProposal {
  readonly query: string;
  readonly identifiers: IdentifierMode;
  /** Statements that make the tables fit for `--follow`. */
  readonly statements: readonly string[];
  readonly notes: readonly string[];
}

/** What another table may add to a lesson, with the fields for the key and for the name of its row. */
const LOOKUPS: readonly { readonly role: ColumnRole; readonly key: string; readonly name: string }[] = [
  { role: 'roomId', key: 'roomId', name: 'roomName' },
  { role: 'courseId', key: 'courseId', name: 'courseName' },
  { role: 'studyGroup', key: 'groupId', name: 'studyGroup' },
  { role: 'lecturer', key: 'lecturerId', name: 'lecturer' },
];
type Lookup = (typeof LOOKUPS)[number];

const OWN_TEXTS = ['title', 'type', 'studyGroup', 'lecturer', 'courseId', 'roomId'] as const;

/** @throws LecternError `source-unreadable`, also if no table has lessons */
export async function proposeForDatabase(url: string): Promise<QueryProposal> {
  const address = parsePostgresAddress(url);
  const name = address.shown;
  const database = await Database.open(address, { name, answerMsMax: UPSTREAM_HEADERS_MS_MAX });
  try {
    const tables = await tableCatalogue(database);
    const proposal = proposeQuery(tables);
    if (proposal !== null) return proposal;
    const there = tables.length === 0 ? 'no table' : tables.map((table) => table.name).join(', ');
    throw new LecternError(
      'source-unreadable',
      `no query can be proposed for ${name}: no table has a primary key, a start and an end; name a table or view with --table, or give a --query (this user can read ${there})`,
    );
  } finally {
    await database.end();
  }
}

/** Names of the columns with these numbers. */
const names = (numbers: string, table: string): string =>
  `ARRAY(SELECT a.attname::text FROM unnest(${numbers}) WITH ORDINALITY AS u(number, n)
    JOIN pg_attribute a ON a.attrelid = ${table} AND a.attnum = u.number ORDER BY n)`;

/** The tables that the user may read, without partitions. */
async function tableCatalogue(database: Database): Promise<readonly CataloguedTable[]> {
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

/** Null if no table has lessons with a start and an end. */
export function proposeQuery(tables: readonly CataloguedTable[]): QueryProposal | null {
  const lessons = tables
    .flatMap((table) => {
      const times = table.key.length === 0 ? null : timesOf(table);
      return times === null ? [] : [{ table, times, score: scoreOf(table, tables) }];
    })
    .sort((a, b) => b.score - a.score)[0];
  if (lessons === undefined) return null;
  const draft = new Draft(tables, lessons.table, lessons.times);
  draft.addLookups();
  draft.addLinks();
  draft.addOwnTexts();
  return draft.finish();
}

/** A query that is being made, with `l` for the lessons. */
class Draft {
  readonly #tables: readonly CataloguedTable[];
  readonly #lessons: CataloguedTable;
  readonly #fields: Map<string, string>;
  readonly #joins: string[] = [];
  readonly #used: CataloguedTable[];
  readonly #notes: string[] = [];
  /** Tables whose key lacks the lesson. */
  readonly #whole: CataloguedTable[] = [];
  #isUuid: boolean;

  constructor(
    tables: readonly CataloguedTable[],
    lessons: CataloguedTable,
    times: readonly (readonly [field: string, sql: string])[],
  ) {
    this.#tables = tables;
    this.#lessons = lessons;
    const id = lessons.key.map((column) => `l.${simpleName(column)}`).join(` || '/' || `);
    this.#fields = new Map([['id', id], ...times]);
    this.#used = [lessons];
    this.#isUuid = lessons.key.length === 1 && isOfType(lessons, lessons.key[0] as string, 'uuid');
  }

  #add(field: string, sql: string): void {
    if (!this.#fields.has(field)) this.#fields.set(field, sql);
  }

  /** What a lesson has one of. */
  addLookups(): void {
    for (const foreign of this.#lessons.foreignKeys) {
      const other = this.#tables.find(({ oid }) => oid === foreign.table);
      const lookup = other && lookupOf(other, foreign);
      const [column, ...more] = foreign.columns;
      if (other === undefined || lookup === undefined || column === undefined || more.length > 0) continue;
      if (this.#fields.has(lookup.key)) continue;
      this.#fields.set(lookup.key, `l.${simpleName(column)}`);
      this.#isUuid &&= isOfType(this.#lessons, column, 'uuid');
      const name = nameOf(other);
      if (name === null) continue;
      const alias = `t${this.#joins.length + 1}`;
      this.#joins.push(`LEFT JOIN ${other.name} ${alias} ON ${onOf(foreign, alias, 'l')}`);
      this.#used.push(other);
      this.#add(lookup.name, `${alias}.${simpleName(name)}`);
      if (lookup.role === 'courseId') this.#add('title', `${alias}.${simpleName(name)}`);
    }
  }

  /** What a lesson has several of. */
  addLinks(): void {
    const links = this.#tables.flatMap((link) => {
      const back =
        link === this.#lessons
          ? undefined
          : link.foreignKeys.find(({ table }) => table === this.#lessons.oid);
      const found = back === undefined ? null : linkOf(link, back, this.#tables);
      return back === undefined || found === null ? [] : [{ ...found, link, back }];
    });
    // Lessons that have several of something have several groups.
    const guess = links.find((each) => each.field === null);
    for (const { field: known, link, back, other, sql, from } of links) {
      const field = known ?? (link === guess?.link ? 'studyGroup' : null);
      if (field === null || this.#fields.has(field)) continue;
      if (known === null)
        this.#notes.push(`studyGroup is a guess: it comes from ${other?.name ?? link.name}`);
      const on = onOf(back, 'l', 'x');
      this.#fields.set(field, `(SELECT array_agg(${sql} ORDER BY ${sql}) FROM ${from} WHERE ${on})`);
      if (field.endsWith('Id')) this.#isUuid = false;
      this.#used.push(link, ...(other === null ? [] : [other]));
      if (!back.columns.every((column) => link.key.includes(column))) this.#whole.push(link);
    }
  }

  addOwnTexts(): void {
    const { key, foreignKeys } = this.#lessons;
    const taken = new Set([...key, ...foreignKeys.flatMap(({ columns }) => columns)]);
    for (const role of OWN_TEXTS) {
      const isFree = (name: string): boolean => !taken.has(name) && isText(this.#lessons, name);
      const column = bestColumn(this.#lessons, role, isFree);
      if (column === undefined || this.#fields.has(role)) continue;
      taken.add(column);
      this.#fields.set(role, `l.${simpleName(column)}`);
      if (role.endsWith('Id')) this.#isUuid = false;
    }
  }

  finish(): QueryProposal {
    const list = [...this.#fields].map(([field, sql]) => `${sql} AS ${simpleName(field)}`);
    const unused = this.#tables.filter((each) => !this.#used.includes(each)).map(({ name }) => name);
    const published = [...new Set(this.#used)].map(({ name }) => name).join(', ');
    return {
      query: [`SELECT ${list.join(',\n    ')}`, `FROM ${this.#lessons.name} l`, ...this.#joins].join('\n  '),
      identifiers: this.#isUuid ? 'uuid' : 'derived',
      statements: [
        ...this.#whole.map(({ name }) => `ALTER TABLE ${name} REPLICA IDENTITY FULL;`),
        `CREATE PUBLICATION lectern FOR TABLE ${published};`,
      ],
      notes: [...this.#notes, ...(unused.length === 0 ? [] : [`it does not read ${unused.join(', ')}`])],
    };
  }
}

/** The start and the end of a lesson. */
function timesOf(table: CataloguedTable): readonly (readonly [string, string])[] | null {
  const ofType = (...types: string[]): string[] =>
    table.columns.flatMap(({ name, type }) => (types.includes(type) ? [name] : []));
  const pick = (names: readonly string[], ...roles: ColumnRole[]): string | undefined =>
    likeliest(names, (name) => Math.max(...roles.map((role) => certaintyOf(name, role))));
  const instants = ofType('timestamptz', 'timestamp');
  const start = pick(instants, 'start', 'startDate') ?? instants[0];
  const rest = instants.filter((name) => name !== start);
  const end = pick(rest, 'end', 'endDate') ?? (rest.length === 1 ? rest[0] : undefined);
  if (start !== undefined && end !== undefined)
    return [
      ['time', `l.${simpleName(start)}`],
      ['endTime', `l.${simpleName(end)}`],
    ];
  const clocks = ofType('time');
  const day = pick(ofType('date'), 'startDate') ?? ofType('date')[0];
  const from = pick(clocks, 'start');
  const to = pick(
    clocks.filter((name) => name !== from),
    'end',
  );
  if (day === undefined || from === undefined || to === undefined) return null;
  return [
    ['time', `l.${simpleName(day)} + l.${simpleName(from)}`],
    ['endTime', `l.${simpleName(day)} + l.${simpleName(to)}`],
  ];
}

/** Lessons refer to many tables, and many tables refer to them. */
function scoreOf(table: CataloguedTable, tables: readonly CataloguedTable[]): number {
  const links = tables.filter((each) => each.foreignKeys.some((foreign) => foreign.table === table.oid));
  return 2 * table.foreignKeys.length + 2 * links.length + Math.log10(1 + Math.max(0, table.rows));
}

/** What the other table is, by its name or by the name of the column that refers to it. */
function lookupOf(other: CataloguedTable, foreign: ForeignKey): Lookup | undefined {
  return lookupNamed([other.relation, ...foreign.columns]);
}

function lookupNamed(names: readonly string[]): Lookup | undefined {
  return likeliest(LOOKUPS, ({ role }) => Math.max(...names.map((name) => certaintyOf(name, role))));
}

interface Link {
  /** Null if the names do not tell. */
  readonly field: string | null;
  readonly other: CataloguedTable | null;
  readonly from: string;
  readonly sql: string;
}

/** Values of a table with several rows for a lesson: those of the table that it leads to, or its own. */
function linkOf(link: CataloguedTable, back: ForeignKey, tables: readonly CataloguedTable[]): Link | null {
  for (const foreign of link.foreignKeys) {
    const other = tables.find(({ oid }) => oid === foreign.table);
    if (foreign === back || other === undefined) continue;
    const lookup = lookupOf(other, foreign);
    const name = nameOf(other);
    if (name === null) continue;
    const from = `${link.name} x JOIN ${other.name} y ON ${onOf(foreign, 'y', 'x')}`;
    return { field: lookup?.role ?? null, other, from, sql: `y.${simpleName(name)}` };
  }
  if (link.foreignKeys.length > 1) return null;
  const texts = link.columns
    .map(({ name }) => name)
    .filter((name) => !back.columns.includes(name) && isText(link, name));
  const lookup = lookupNamed([link.relation, ...texts]);
  const column = lookup && likeliest(texts, (name) => certaintyOf(name, lookup.role));
  if (lookup === undefined || column === undefined) return null;
  return { field: lookup.role, other: null, from: `${link.name} x`, sql: `x.${simpleName(column)}` };
}

function onOf({ columns, refers }: ForeignKey, to: string, from: string): string {
  return columns
    .map((column, n) => `${to}.${simpleName(refers[n] as string)} = ${from}.${simpleName(column)}`)
    .join(' AND ');
}

/** The column that people know a row by. */
function nameOf(table: CataloguedTable): string | null {
  const texts = table.columns.filter(({ name }) => isText(table, name)).map(({ name }) => name);
  const usual = texts.find((name) => /^(?:(?:full|display)_?)?name$/i.test(name));
  return (
    usual ??
    likeliest(texts, (name) => certaintyOf(name, 'title')) ??
    texts.find((name) => !table.key.includes(name)) ??
    texts[0] ??
    null
  );
}

function bestColumn(
  table: CataloguedTable,
  role: ColumnRole,
  isFit: (name: string) => boolean,
): string | undefined {
  return likeliest(table.columns.map(({ name }) => name).filter(isFit), (name) => certaintyOf(name, role));
}

function isText(table: CataloguedTable, column: string): boolean {
  return ['text', 'varchar', 'bpchar', 'citext', 'name'].some((type) => isOfType(table, column, type));
}

function isOfType({ columns }: CataloguedTable, column: string, type: string): boolean {
  return columns.some((each) => each.name === column && each.type === type);
}
