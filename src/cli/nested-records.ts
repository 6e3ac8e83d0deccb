/** Finds the records within a nested JSON document, and the JSONata expression that gives them with what stands around them. */
import { LOOK_RECORDS_MAX } from '../base/limits.js';

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

/** A value of the document, and what stands around it: for each variable of the expression, its value. */
interface Found<Value = unknown> {
  readonly value: Value;
  readonly around: ReadonlyMap<string, unknown>;
}

/** All places of records within a document. */
export function nestedRecords(document: unknown): NestedRecords[] {
  const places: NestedRecords[] = [];
  findPlaces([{ value: document, around: new Map() }], [], places);
  return places;
}

/** @param found what stands at one place, in several parts of the document */
function findPlaces(found: readonly Found[], steps: readonly Step[], places: NestedRecords[]): void {
  if (steps.length > DEPTH_MAX || places.length >= PLACES_MAX) return;
  const descend = (step: Step, inner: readonly Found[]): void =>
    findPlaces(inner.slice(0, LOOK_RECORDS_MAX), [...steps, step], places);
  if (found.some(({ value }) => Array.isArray(value))) {
    const elements = found.flatMap(({ value, around }) =>
      [value].flat().map((element: unknown) => ({ value: element, around })),
    );
    if (elements.some(isOfObject)) descend({ kind: 'items' }, elements);
    return;
  }
  const objects = found.filter(isOfObject);
  if (objects.length === 0) return;
  const variable = variableOf(
    steps.length,
    objects.every(({ value }) => isKeyed(value)),
  );
  const within = (value: unknown, { around }: Found, seen: unknown): Found => ({
    value,
    around: new Map([...around, [variable, seen]]),
  });
  if (variable.startsWith(KEY)) {
    const inner = objects.flatMap((object) =>
      Object.entries(object.value).map(([key, value]) => within(value, object, key)),
    );
    descend({ kind: 'values' }, inner);
    return;
  }
  if (steps.at(-1)?.kind !== 'property') places.push(recordsAt(objects, steps));
  for (const name of new Set(objects.flatMap(({ value }) => Object.keys(value)))) {
    const inner = objects
      .filter(({ value }) => value[name] !== undefined)
      .map((object) => within(object.value[name], object, object.value));
    if (!name.includes('`') && inner.some(({ value }) => typeof value === 'object' && value !== null))
      descend({ kind: 'property', name }, inner);
  }
}

/** Variables for the keys of objects begin with this, and those for objects with another letter. */
const KEY = '$k';

function variableOf(depth: number, isKey: boolean): string {
  return `${isKey ? KEY : '$v'}${depth}`;
}

function isOfObject(found: Found): found is Found<JsonObject> {
  return isObject(found.value);
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

function recordsAt(found: readonly Found<JsonObject>[], steps: readonly Step[]): NestedRecords {
  // The id of what stands around a record is not the record's.
  const own = new Set(['id', ...found.flatMap(({ value }) => Object.keys(value))]);
  const context: Context[] = [];
  const looked = found.slice(0, ELEMENTS_LOOKED_MAX);
  // The nearest value keeps its name.
  for (const [depth, { kind }] of [...steps.entries()].reverse()) {
    if (kind === 'items') continue;
    const variable = variableOf(depth, kind === 'values');
    const label = steps
      .slice(0, depth)
      .reduce((last, step) => ('name' in step ? step.name : last), 'document');
    const objects = looked.map(({ around }) => around.get(variable)).filter(isObject);
    const scalars = objects.flatMap((value) =>
      Object.keys(value).filter((name) => [value[name]].flat().some(isScalar)),
    );
    for (const property of kind === 'values' ? [null] : new Set(scalars)) {
      if (context.length >= CONTEXT_COLUMNS_MAX || property?.includes('`')) continue;
      const name = property ?? 'key';
      const column = [name, `${label}_${name}`].find((each) => !own.has(each));
      if (column === undefined) continue;
      own.add(column);
      context.push({ column, variable, property });
    }
  }
  const records = found.map(({ value, around }) => ({
    ...Object.fromEntries(
      context.map(({ column, variable, property }) => {
        const outer = around.get(variable);
        return [column, property === null ? outer : (outer as JsonObject | undefined)?.[property]];
      }),
    ),
    ...value,
  }));
  return { expression: expressionOf(steps, context), records };
}

function isScalar(value: unknown): boolean {
  return value !== null && value !== undefined && typeof value !== 'object';
}

/** A column that a record gets from what stands around it. */
interface Context {
  readonly column: string;
  readonly variable: string;
  /** Null for the key itself. */
  readonly property: string | null;
}

function expressionOf(steps: readonly Step[], context: readonly Context[]): string {
  const around = context.map(
    ({ column, variable, property }) =>
      `${JSON.stringify(column)}: ${variable}${property === null ? '' : `.${quoted(property)}`}`,
  );
  const build = (at: string, depth: number): string => {
    const step = steps[depth];
    if (step === undefined) return around.length === 0 ? at : `${at}.$merge([{ ${around.join(', ')} }, $])`;
    if (step.kind === 'items') return build(at, depth + 1);
    if (step.kind === 'values') {
      const [object, key] = [`$o${depth}`, variableOf(depth, true)];
      const inner = build(`$lookup(${object}, ${key})`, depth + 1);
      return `${at}.(${object} := $; $keys(${object}).(${key} := $; ${inner}))`;
    }
    const variable = variableOf(depth, false);
    if (!context.some((each) => each.variable === variable))
      return build(`${at}.${quoted(step.name)}`, depth + 1);
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
