/** Checks a value against the table of the timetable file. All faults are found at once, each with its place. */
import { suggest } from '../base/model/suggest.js';
import { quoteEscaped } from '../base/model/text.js';
import { isObject } from './kinds.js';
import type { Entry, Shape } from './timetable-table.js';

/** Where the values of a file stand, and how its numbers are written, by path. A program's object has neither. */
export interface Written {
  /** `timetable.yaml:3:5`. */
  readonly places: ReadonlyMap<string, string>;
  readonly numbers: ReadonlyMap<string, string>;
}

export const UNWRITTEN: Written = { places: new Map(), numbers: new Map() };

/** The faults of one timetable. */
export class TimetableFaults {
  readonly found: string[] = [];
  readonly #paths: string[] = [];
  readonly #written: Written;

  constructor(written: Written) {
    this.#written = written;
  }

  /** @param problem a clause, whose subject is the value at the path */
  add(path: string, problem: string): void {
    this.#paths.push(path);
    this.found.push(this.at(path, `${path === '' ? '' : `${path}: `}${problem}`));
  }

  /** Whether the value at the path, or one within it, has a fault. */
  isAt(path: string): boolean {
    return this.#paths.some((each) => each.startsWith(path) && /^(?:[.[]|$)/.test(each.slice(path.length)));
  }

  /** The sentence with the place of the value, or of the nearest value around it. */
  at(path: string, sentence: string): string {
    const { places } = this.#written;
    for (let near = path; ; near = near.slice(0, Math.max(near.lastIndexOf('.'), near.lastIndexOf('[')))) {
      const place = places.get(near);
      if (place !== undefined) return `${place}: ${sentence}`;
      if (!/[.[]/.test(near)) break;
    }
    const whole = places.get('');
    return whole === undefined ? sentence : `${whole}: ${sentence}`;
  }
}

export function within(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

const SECRET_ENTRY = /\.(?:headers|auth)\b/;

/** @returns the value with numbers as texts where texts are expected; undefined if it has a fault */
export function checkShape(
  value: unknown,
  shape: Shape,
  path: string,
  { numbers }: Pick<Written, 'numbers'>,
  faults: TimetableFaults,
): unknown {
  const check = (given: unknown, of: Shape, at: string): unknown => {
    switch (of.is) {
      case 'either': {
        const fitting = of.shapes.find((each) => fits(given, each));
        if (fitting !== undefined) return check(given, fitting, at);
        return fault(given, of, at);
      }
      case 'list':
        if (!Array.isArray(given)) return fault(given, of, at);
        return given.map((each, n) => check(each, of.of, within(at, n)));
      case 'map':
        if (!isObject(given)) return fault(given, of, at);
        return checkKeys(
          given,
          at,
          (key) => {
            if (of.others !== undefined && Object.hasOwn(of.others, key)) return of.others[key] ?? null;
            return of.keys === undefined || of.keys.includes(key) ? of.of : null;
          },
          [...(of.keys ?? []), ...Object.keys(of.others ?? {})],
        );
      case 'entries': {
        if (!isObject(given)) return fault(given, of, at);
        const byName = new Map(of.entries.map((entry) => [entry.name, entry]));
        for (const { name, isRequired } of of.entries)
          if (isRequired && !Object.hasOwn(given, name)) faults.add(at, `${name} is missing`);
        return checkKeys(given, at, (key) => byName.get(key)?.shape ?? null, [...byName.keys()]);
      }
      case 'value': {
        if (given === null && of.kind.type === 'null') return null;
        const isNumber = typeof given === 'number' && !of.kind.type.includes('number');
        const text = isNumber ? (numbers.get(at) ?? String(given)) : given;
        if (!isScalar(text) || isUnquoted(text, of.kind.type)) return fault(given, of, at);
        const problem = of.kind.fault(text);
        if (problem === null) return text;
        faults.add(
          at,
          isHidden(at) ? problem : `it is ${isNumber ? text : quoteEscaped(String(text))}: ${problem}`,
        );
        return undefined;
      }
    }
  };
  // The text of a header field or a client secret may be a secret, also where it should not stand.
  const isHidden = (at: string): boolean => SECRET_ENTRY.test(at);
  const fault = (given: unknown, of: Shape, at: string): undefined => {
    const inQuotes = isScalar(given) && rangeOf(of).startsWith('a text') ? ', in quotes' : '';
    faults.add(
      at,
      `it is ${isHidden(at) ? 'of another form' : describe(given)}; expected ${rangeOf(of)}${inQuotes}`,
    );
    return undefined;
  };
  const checkKeys = (
    given: object,
    at: string,
    shapeAt: (key: string) => Shape | null,
    known: readonly string[],
  ): object => {
    const checked: [string, unknown][] = [];
    for (const [key, each] of Object.entries(given)) {
      const own = shapeAt(key);
      const here = within(at, key);
      if (own === null) faults.add(here, unknownKey(key, known));
      // A program may give an option as undefined.
      else if (each !== undefined) checked.push([key, check(each, own, here)]);
    }
    return Object.fromEntries(checked);
  };
  return check(value, shape, path);
}

function unknownKey(key: string, known: readonly string[]): string {
  const near = suggest(key, known);
  const hint = near === null ? `expected one of ${known.join(', ')}` : `did you mean ${near}?`;
  return `there is no entry ${quoteEscaped(key)}: ${hint}`;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/** Whether a number or boolean stands for a text. */
function isUnquoted(value: unknown, type: string): boolean {
  if (typeof value === 'string') return type === 'boolean' || type === 'number';
  return typeof value === 'boolean' && type !== 'boolean';
}

function fits(value: unknown, shape: Shape): boolean {
  switch (shape.is) {
    case 'value':
      if (shape.kind.type === 'null') return value === null;
      if (shape.kind.type === 'number') return typeof value === 'number';
      return isScalar(value) && (shape.kind.type === 'boolean') === (typeof value === 'boolean');
    case 'list':
      return Array.isArray(value);
    case 'either':
      return shape.shapes.some((each) => fits(value, each));
    default:
      return isObject(value);
  }
}

/** What a shape takes, in words. */
export function rangeOf(shape: Shape): string {
  switch (shape.is) {
    case 'value':
      if (shape.kind.type === 'boolean') return 'true or false';
      return shape.kind.range === 'text that is not empty' ? 'a text' : shape.kind.range;
    case 'list':
      return shape.range;
    case 'map':
      return `a map of ${shape.what}`;
    case 'entries':
      return `entries such as ${shape.entries.slice(0, 3).map(nameOf).join(', ')}`;
    case 'either':
      return shape.shapes.map(rangeOf).join(', or ');
  }
}

function nameOf({ name }: Entry): string {
  return name;
}

function describe(value: unknown): string {
  if (value === null || value === '') return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return `the text ${quoteEscaped(value)}`;
  return isObject(value) ? 'a map' : String(value);
}
