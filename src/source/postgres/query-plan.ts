/**
 * Finds out from the plan of a query which of its rows a changed row of a table concerns.
 *
 * The rows of the query are taken in groups: those with equal values of the columns of the id. The group comes from a
 * row of one table, the anchor. A join such as `lessons.room = rooms.nr` is a step: a room concerns only the rows of the
 * query that come from lessons of this room. A table's steps to the anchor are its way. Rows of the tables outside the
 * way do not matter, because a plan of nested loops passes a row on only together with rows that fulfil its conditions.
 *
 * A way is sound if each step is. A step from an inner row to an outer row always is: the outer row is joined with it,
 * or is kept or dropped because of it. The other direction is sound if no outer row passes without an inner one. Nodes
 * that mix rows of several groups, such as Limit and WindowAgg, end a way, unless the condition is checked below them.
 * Everything that is not understood has no way, and the caller then reads all rows.
 */

/** A node of `EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON)`. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Parent Relationship'?: string;
  readonly 'Join Type'?: string;
  readonly 'Relation Name'?: string;
  readonly Schema?: string;
  readonly Alias?: string;
  readonly Output?: readonly string[];
  readonly 'Group Key'?: readonly string[];
  readonly 'Index Cond'?: string;
  readonly 'Recheck Cond'?: string;
  readonly Filter?: string;
  readonly 'Join Filter'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** Settings that make the planner choose nested loops on one process, whose conditions are easy to read. */
export const PLAN_SETTINGS = `SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_bitmapscan = off;
  SET LOCAL enable_sort = off; SET LOCAL enable_material = off; SET LOCAL enable_memoize = off; SET LOCAL constraint_exclusion = off; SET LOCAL max_parallel_workers_per_gather = 0`;

/** One use of a table in a query. */
export interface Scan {
  /** The name of this use in conditions, as SQL. Each use has another. */
  readonly alias: string;
  readonly schema: string;
  readonly table: string;
}

/** Rows of `to` that fulfil the conditions with a row of the scan before. */
export interface Step {
  readonly to: Scan;
  /** Comparisons in SQL. */
  readonly conditions: readonly string[];
}

/** The steps from a use of a table to the anchor; none for the anchor itself. */
export interface Way {
  readonly scan: Scan;
  readonly steps: readonly Step[];
  /** Columns of the table in the conditions of the first step, or in the group of the anchor. */
  readonly columns: readonly string[];
}

interface QueryWays {
  readonly scans: readonly Scan[];
  /** SQL of the values of a group, with columns of the anchor. */
  readonly group: readonly string[];
  readonly ways: readonly Way[];
  /** Why there are no ways at all; null if there is an anchor. */
  readonly problem: string | null;
}

/** Nodes that pass on each row of their only or outer child by itself. */
const PASSING = new Set([
  'Nested Loop',
  'Sort',
  'Incremental Sort',
  'Materialize',
  'Memoize',
  'Result',
  'Subquery Scan',
  'ProjectSet',
]);
const JOIN_TYPES = new Set(['Inner', 'Left', 'Semi', 'Anti']);

const NAME = '(?:"(?:[^"]|"")+"|[a-z_\\u0080-\\uffff][\\w$\\u0080-\\uffff]*)';
const COLUMN = new RegExp(
  `(?<![\\w$".:\\u0080-\\uffff])(${NAME})\\.(${NAME})(?![\\w$".(\\u0080-\\uffff])`,
  'g',
);
const SIDE = `(?:${NAME}\\.${NAME}|\\(${NAME}\\.${NAME}\\)::[a-z][a-z ]*)`;
/** A comparison of two columns by an operator that is never true for a null. */
const COMPARISON = new RegExp(`^\\(${SIDE} (?:=|<>|<|>|<=|>=|@>|<@|&&) ${SIDE}\\)$`);
const PLAIN = new RegExp(`^${SIDE}$`);

/** A node with its place in the tree. */
class Place {
  readonly node: PlanNode;
  readonly parent: Place | null;
  readonly depth: number;
  readonly children: Place[];

  constructor(node: PlanNode, parent: Place | null = null) {
    this.node = node;
    this.parent = parent;
    this.depth = parent === null ? 0 : parent.depth + 1;
    this.children = (node.Plans ?? []).map((child) => new Place(child, this));
  }

  *[Symbol.iterator](): Generator<Place> {
    yield this;
    for (const child of this.children) yield* child;
  }

  isBelow(other: Place): boolean {
    return this.parent !== null && (this.parent === other || this.parent.isBelow(other));
  }

  /** The child of `ancestor` that this node is or is below. */
  under(ancestor: Place): Place | null {
    if (this === ancestor) return null;
    return this.parent === ancestor ? this : (this.parent?.under(ancestor) ?? null);
  }

  get side(): string {
    return this.node['Parent Relationship'] ?? '';
  }
}

interface Table extends Scan {
  readonly place: Place;
}

/** A condition between an inner and an outer table. */
interface Edge {
  readonly inner: Table;
  readonly outer: Table;
  readonly condition: string;
  readonly join: Place;
  /** Whether the inner side passes no row without a row of the inner table that fulfils the condition. */
  readonly isNeeded: boolean;
}

/**
 * The ways of a query from its plan, or from its plan as a subquery: names of columns have no table in the plan of a single
 * table, and those of a subquery that sorts have no table in the other plan.
 *
 * @param group positions of the columns of the id among the columns of the query
 * @param isKnown whether a change of a row always tells the old value of a column, which a first step needs
 */
export function waysOf(
  plans: readonly PlanNode[],
  group: readonly number[],
  isKnown: (scan: Scan, column: string) => boolean,
): QueryWays {
  const found = plans.map((plan) => waysOfPlan(plan, group, isKnown));
  return found.find(({ problem }) => problem === null) ?? (found[0] as QueryWays);
}

function waysOfPlan(
  root: PlanNode,
  group: readonly number[],
  isKnown: (scan: Scan, column: string) => boolean,
): QueryWays {
  const top = new Place(root);
  const tables = tablesOf(top);
  const scans = [...tables.values()];
  const values = group.map((n) => root.Output?.[n] ?? '');
  const none = (problem: string): QueryWays => ({ scans, group: values, ways: [], problem });
  const refs = values.map((value) => columnsIn(value, tables));
  if (refs.includes(null) || refs.some((each) => each?.length === 0))
    return none('the id is not made from columns of a table');
  const columns = (refs as Ref[][]).flat();
  const [anchor, ...others] = new Set(columns.map(({ table }) => table));
  if (anchor === undefined || others.length > 0) return none('the id has columns of several tables');
  const isNullable = ancestorsOf(anchor.place).some((place) => {
    const above = anchor.place.under(place)?.side === 'Inner';
    return place.node['Node Type'] === 'Nested Loop' && above && place.node['Join Type'] !== 'Inner';
  });
  if (isNullable && !values.every((value) => PLAIN.test(value)))
    return none('the id is an expression of a table that may have no row');
  const isMixed = ancestorsOf(anchor.place).find(
    (place) => !isPassing(place) && !isGroupedBy(place, values, columns),
  );
  if (isMixed !== undefined)
    return none(`rows of several ids meet in the plan's node ${isMixed.node['Node Type']}`);
  const edges = edgesOf(top, tables);
  return { scans, group: values, ways: findWays(anchor, columns, edges, isKnown), problem: null };
}

/** From the anchor outwards, so that each way ends with the way of its next table. */
function findWays(
  anchor: Table,
  group: readonly Ref[],
  edges: readonly Edge[],
  isKnown: (scan: Scan, column: string) => boolean,
): Way[] {
  const seen = new Map<Table, readonly Step[]>([[anchor, []]]);
  const ways: Way[] = [];
  const groupColumns = [...new Set(group.map(({ column }) => column))];
  if (groupColumns.every((column) => isKnown(anchor, column)))
    ways.push({ scan: anchor, steps: [], columns: groupColumns });
  for (const [to, rest] of seen) {
    const byTable = new Map<Table, string[]>();
    for (const edge of edges) {
      const from = edge.inner === to ? edge.outer : edge.outer === to ? edge.inner : null;
      if (from === null || seen.has(from) || (from === edge.outer && !isBothWays(edge, anchor))) continue;
      byTable.set(from, [...(byTable.get(from) ?? []), edge.condition]);
    }
    for (const [from, conditions] of byTable) {
      seen.set(from, [{ to, conditions }, ...rest]);
      const columnsOf = (condition: string): string[] =>
        refsIn(condition).flatMap(({ alias, column }) => (alias === from.alias ? [column] : []));
      const first = conditions.filter((each) => columnsOf(each).every((column) => isKnown(from, column)));
      if (first.length === 0) continue;
      const columns = [...new Set(first.flatMap(columnsOf))];
      ways.push({ scan: from, steps: [{ to, conditions: first }, ...rest], columns });
    }
  }
  return ways;
}

/** Whether no row with the outer row and with the anchor passes without an inner row. */
function isBothWays({ join, isNeeded }: Edge, anchor: Table): boolean {
  const type = join.node['Join Type'];
  return isNeeded && (type === 'Inner' || (type === 'Left' && anchor.place.under(join)?.side === 'Inner'));
}

function tablesOf(top: Place): Map<string, Table> {
  const tables = new Map<string, Table>();
  for (const place of top) {
    const { Schema: schema, 'Relation Name': table, Alias: alias } = place.node;
    if (schema === undefined || table === undefined || alias === undefined) continue;
    tables.set(alias, { alias, schema, table, place });
  }
  return tables;
}

function edgesOf(top: Place, tables: ReadonlyMap<string, Table>): Edge[] {
  const edges: Edge[] = [];
  for (const place of top) {
    const { node } = place;
    const isScan = node['Relation Name'] !== undefined;
    const texts = isScan ? [node['Index Cond'], node['Recheck Cond'], node.Filter] : [node['Join Filter']];
    for (const condition of texts.flatMap((text) => (text === undefined ? [] : conjunctsOf(text)))) {
      if (!COMPARISON.test(condition)) continue;
      const refs = columnsIn(condition, tables);
      const [a, b] = refs ?? [];
      if (a === undefined || b === undefined || a.table === b.table) continue;
      const edge = edgeOf(a, b, condition, place);
      if (edge !== null) edges.push(edge);
    }
  }
  return edges;
}

/** @param at the node that checks the condition */
function edgeOf(a: Ref, b: Ref, condition: string, at: Place): Edge | null {
  let join: Place = a.table.place;
  while (join !== b.table.place && !b.table.place.isBelow(join)) {
    if (join.parent === null) return null;
    join = join.parent;
  }
  const sides = [a, b].map(({ table }) => table.place.under(join)?.side ?? 'Outer');
  const innerAt = sides.includes('SubPlan') ? sides.indexOf('SubPlan') : sides.indexOf('Inner');
  if (innerAt === -1 || ['SubPlan', 'InitPlan'].includes(sides[1 - innerAt] as string)) return null;
  const [inner, outer] = innerAt === 0 ? [a, b] : [b, a];
  const { 'Node Type': type, 'Join Type': joinType = '' } = join.node;
  const isLoop = type === 'Nested Loop' && JOIN_TYPES.has(joinType);
  if (sides[innerAt] === 'Inner' && !isLoop) return null;
  if (at === join) {
    if (sides[innerAt] !== 'Inner') return null;
  } else if (at !== inner.table.place) {
    // A join below checks it, with a value of the outer row. An outer join keeps its outer rows in any case.
    const isIn = at.isBelow(join) && at.node['Node Type'] === 'Nested Loop';
    const isDropped = at.node['Join Type'] === 'Inner' || inner.table.place.under(at)?.side === 'Inner';
    if (!isIn || !inner.table.place.isBelow(at) || !isDropped) return null;
  }
  const passes = ({ table, text }: Ref): boolean =>
    ancestorsOf(table.place, join).every(
      (place) => at === place || at.isBelow(place) || isPassing(place) || isGroupedByText(place, text),
    );
  if (!passes(inner) || !passes(outer)) return null;
  // Below an outer join or an aggregate, the condition may fail for all rows, and a row still passes.
  const isNeeded =
    sides[innerAt] === 'Inner' &&
    (at === join || ancestorsOf(inner.table.place, join).every((place) => !mayReplace(place, inner.table)));
  return { inner: inner.table, outer: outer.table, condition, join, isNeeded };
}

/** Whether the node passes a row where the table has none. */
function mayReplace(place: Place, table: Table): boolean {
  const isInner = place.node['Node Type'] === 'Nested Loop' && table.place.under(place)?.side === 'Inner';
  return !isPassing(place) || (isInner && place.node['Join Type'] !== 'Inner');
}

/** The nodes above a place, without `end` and what is above it. */
function ancestorsOf(place: Place, end: Place | null = null): Place[] {
  const found: Place[] = [];
  for (let each = place === end ? end : place.parent; each !== null && each !== end; each = each.parent)
    found.push(each);
  return found;
}

function isPassing({ node }: Place): boolean {
  const { 'Node Type': type, 'Join Type': joinType = 'Inner' } = node;
  return PASSING.has(type) && JOIN_TYPES.has(joinType);
}

function isGroupedByText({ node }: Place, text: string): boolean {
  return node['Node Type'] === 'Aggregate' && node['Group Key']?.includes(text) === true;
}

/** Whether no two groups of the query are in one group of this node. */
function isGroupedBy(place: Place, values: readonly string[], columns: readonly Ref[]): boolean {
  return (
    values.every((value) => isGroupedByText(place, value)) ||
    columns.every(({ text }) => isGroupedByText(place, text))
  );
}

interface Ref {
  readonly table: Table;
  readonly column: string;
  /** As in the plan. */
  readonly text: string;
}

/** Null for a text with something else than columns of tables, such as the result of another plan. */
function columnsIn(text: string, tables: ReadonlyMap<string, Table>): Ref[] | null {
  const bare = withoutTexts(text);
  if (/\b(?:SubPlan|InitPlan)\b|\$\d|\.\*/.test(bare)) return null;
  const refs = refsIn(text).map(({ alias, column, text: ref }) => ({
    table: tables.get(alias),
    column,
    text: ref,
  }));
  return refs.some(({ table }) => table === undefined) ? null : (refs as Ref[]);
}

function refsIn(text: string): { readonly alias: string; readonly column: string; readonly text: string }[] {
  return [...withoutTexts(text).matchAll(COLUMN)].map(([ref, alias = '', column = '']) => ({
    alias: unquote(alias),
    column: unquote(column),
    text: ref,
  }));
}

/** Quoted names stay, quoted texts become empty. */
function withoutTexts(text: string): string {
  return text.replaceAll(/"(?:[^"]|"")*"|'(?:[^']|'')*'/g, (each) => (each.startsWith('"') ? each : "''"));
}

function unquote(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name;
}

/** The parts of a condition that are joined by AND. */
function conjunctsOf(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 1;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"]|"")*"|'(?:[^']|'')*'|[()]| AND /g)) {
    if (token === '(') depth++;
    else if (token === ')') depth--;
    if (depth === 0 && token === ')' && index < text.length - 1) return [text];
    if (token !== ' AND ' || depth !== 1) continue;
    parts.push(text.slice(from, index));
    from = index + token.length;
  }
  return parts.length === 0 ? [text] : [...parts, text.slice(from, -1)];
}

/** Names before a parenthesis: functions, among other things. */
export function callsIn(root: PlanNode): string[] {
  const names = new Set<string>();
  const call = new RegExp(`(${NAME})\\(`, 'g');
  for (const { node } of new Place(root)) {
    for (const value of Object.values(node).flat()) {
      if (typeof value !== 'string') continue;
      for (const [, name = ''] of withoutTexts(value).matchAll(call)) names.add(unquote(name));
    }
  }
  return [...names];
}
