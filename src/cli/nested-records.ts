/** Finds the records within a nested JSON document, and the JSONata expression that gives them with what stands around them. */
import { LOOK_RECORDS_MAX } from '../limits.js';

type JsonObject = Readonly<Record<string, unknown>>;

/** A way from an object or an array to what it holds. */
type Step =
  | { readonly kind: 'property'; readonly name: string }
  /** The elements of an array. */
  | { readonly kind: 'items' }
  /** The values of an object whose keys are data, such as courses or weekdays. */
  | { readonly kind: 'values' };

/** A place of records in a document. */
interface NestedRecords {
  /** In JSONata. */
  readonly expression: string;
  /** The first records, as the expression gives them. */
  readonly records: readonly JsonObject[];
}

const DEPTH_MAX = 8;
const PLACES_MAX = 24;
const ELEMENTS_LOOKED_MAX = 50;
const CONTEXT_COLUMNS_MAX = 40;
/** The least share of names that two objects have in common if they are of one kind. */
const SAME_KIND_MIN = 0.5;

/** All places of records within a document. */
export function nestedRecords(document: unknown): NestedRecords[] {
  const places: Step[][] = [];
  findPlaces([document], [], places);
  return places.map((steps) => recordsAt(document, steps));
}

/** @param values what stands at the place, in several parts of the document */
function findPlaces(values: readonly unknown[], steps: readonly Step[], places: Step[][]): void {
  if (steps.length > DEPTH_MAX || places.length >= PLACES_MAX) return;
  const arrays = values.filter((value) => Array.isArray(value));
  const objects = values.filter(isObject);
  if (arrays.length > 0) {
    const elements = arrays.flatMap((array) => array.slice(0, ELEMENTS_LOOKED_MAX));
    if (elements.some(isObject))
      findPlaces(elements.slice(0, LOOK_RECORDS_MAX), [...steps, { kind: 'items' }], places);
    return;
  }
  if (objects.length === 0) return;
  if (objects.every(isKeyed)) {
    const inner = objects.flatMap((object) => Object.values(object).slice(0, ELEMENTS_LOOKED_MAX));
    findPlaces(inner, [...steps, { kind: 'values' }], places);
    return;
  }
  if (steps.at(-1)?.kind !== 'property') places.push([...steps]);
  const names = new Set(objects.flatMap((object) => Object.keys(object)));
  for (const name of names) {
    const inner = objects.flatMap((object) => (object[name] === undefined ? [] : [object[name]]));
    if (!name.includes('`') && inner.some((value) => typeof value === 'object' && value !== null))
      findPlaces(inner, [...steps, { kind: 'property', name }], places);
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether the keys of an object are data: its values are objects of one kind, or arrays of them. */
function isKeyed(object: JsonObject): boolean {
  const values = Object.values(object).filter((value) => !(Array.isArray(value) && value.length === 0));
  const kinds = values.map((value) => (Array.isArray(value) ? value[0] : value));
  const [first, ...others] = kinds;
  if (others.length === 0 || !kinds.every(isObject)) return false;
  if (values.some(Array.isArray) && !values.every(Array.isArray)) return false;
  const names = Object.keys(first as JsonObject);
  return others.every((other) => {
    const shared = Object.keys(other as JsonObject).filter((name) => names.includes(name)).length;
    return shared >= SAME_KIND_MIN * Math.max(names.length, Object.keys(other as JsonObject).length);
  });
}

/** What stands around a record. */
interface Around {
  /** The variable of the expression. */
  readonly variable: string;
  /** For messages and names: the last name on the way. */
  readonly label: string;
  readonly isKey: boolean;
}

interface Found {
  readonly record: JsonObject;
  /** For each variable, its value. */
  readonly around: ReadonlyMap<string, unknown>;
}

function recordsAt(document: unknown, steps: readonly Step[]): NestedRecords {
  const scopes: Around[] = [];
  const found = walk(document, steps, 0, new Map(), scopes, 'document');
  // The id of what stands around a record is not the record's.
  const own = new Set(['id', ...found.flatMap(({ record }) => Object.keys(record))]);
  /** Name of the column, variable, property; null for the key itself. */
  const context: [column: string, variable: string, property: string | null][] = [];
  // The nearest value keeps its name.
  for (const { variable, label, isKey } of [...scopes].reverse()) {
    const values = found.slice(0, ELEMENTS_LOOKED_MAX).map(({ around }) => around.get(variable));
    const names: readonly (string | null)[] = isKey
      ? [null]
      : [
          ...new Set(
            values
              .filter(isObject)
              .flatMap((value) => Object.keys(value).filter((name) => isScalar(value[name]))),
          ),
        ];
    for (const name of names) {
      if (context.length >= CONTEXT_COLUMNS_MAX || name?.includes('`')) continue;
      const free = [name ?? 'key', `${label}_${name ?? 'key'}`].find((each) => !own.has(each));
      if (free === undefined) continue;
      own.add(free);
      context.push([free, variable, name]);
    }
  }
  const records = found.slice(0, LOOK_RECORDS_MAX).map(({ record, around }) => ({
    ...Object.fromEntries(
      context.map(([column, variable, name]) => {
        const value = around.get(variable);
        return [column, name === null ? value : (value as JsonObject | undefined)?.[name]];
      }),
    ),
    ...record,
  }));
  return { expression: expressionOf(steps, context), records };
}

function isScalar(value: unknown): boolean {
  return value !== null && value !== undefined && typeof value !== 'object';
}

/** @param scopes gets the variables on the way, the outermost first */
function walk(
  value: unknown,
  steps: readonly Step[],
  depth: number,
  around: ReadonlyMap<string, unknown>,
  scopes: Around[],
  label: string,
): Found[] {
  const [step, ...rest] = steps;
  const isLast = step === undefined;
  const values = Array.isArray(value) && step?.kind !== 'items' ? value : [value];
  return values.flatMap((each): Found[] => {
    if (isLast) return isObject(each) ? [{ record: each, around }] : [];
    const note = (variable: string, isKey: boolean): void => {
      if (!scopes.some((scope) => scope.variable === variable)) scopes.push({ variable, label, isKey });
    };
    if (step.kind === 'items') {
      const items: readonly unknown[] = Array.isArray(each) ? each : [each];
      return items.flatMap((item) => walk(item, rest, depth + 1, around, scopes, label));
    }
    if (!isObject(each)) return [];
    if (step.kind === 'property') {
      const variable = `$v${depth}`;
      note(variable, false);
      const within = new Map([...around, [variable, each]]);
      return walk(each[step.name], rest, depth + 1, within, scopes, step.name);
    }
    const variable = `$k${depth}`;
    note(variable, true);
    return Object.entries(each).flatMap(([key, inner]) =>
      walk(inner, rest, depth + 1, new Map([...around, [variable, key]]), scopes, label),
    );
  });
}

function expressionOf(
  steps: readonly Step[],
  context: readonly (readonly [column: string, variable: string, property: string | null])[],
): string {
  const uses = new Set(context.map(([, variable]) => variable));
  const around = context.map(
    ([column, variable, name]) =>
      `${JSON.stringify(column)}: ${variable}${name === null ? '' : `.${quoted(name)}`}`,
  );
  const build = (at: string, depth: number): string => {
    const step = steps[depth];
    if (step === undefined) return around.length === 0 ? at : `${at}.$merge([{ ${around.join(', ')} }, $])`;
    if (step.kind === 'items') return build(at, depth + 1);
    if (step.kind === 'values') {
      const [object, key] = [`$o${depth}`, `$k${depth}`];
      const inner = build(`$lookup(${object}, ${key})`, depth + 1);
      return `${at}.(${object} := $; $keys(${object}).(${key} := $; ${inner}))`;
    }
    const variable = `$v${depth}`;
    if (!uses.has(variable)) return build(`${at}.${quoted(step.name)}`, depth + 1);
    return `${at}.(${variable} := $; ${build(`${variable}.${quoted(step.name)}`, depth + 1)})`;
  };
  return build('$', 0).replace(/^\$\.(?=\w|`)/, '');
}

function quoted(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) &&
    !['and', 'or', 'in', 'true', 'false', 'null', 'function'].includes(name)
    ? name
    : `\`${name}\``;
}
