import { LecternError, type ParameterFault, type ParameterFaultCode } from '../errors.js';
import {
  ENDPOINT_PARAMETERS,
  type EndpointName,
  type ParameterKind,
  type ParameterPairs,
} from './parameters.js';

/** The object form of a query, as far as it can be understood. */
export interface QueryObject {
  /** What a query string would give. */
  readonly pairs: ParameterPairs;
  /** One for each value of a type that its parameter does not take; such values are not among the pairs. */
  readonly faults: readonly ParameterFault[];
}

/** What a program may give beside text, which every parameter takes, and how that is said. */
interface ValueType {
  readonly expected: string;
  /** The fault of anything else. */
  readonly code: ParameterFaultCode;
  /** The text that a query string would have; null for a value of another type. */
  textOf(value: unknown): string | null;
}

const textOnly = (): null => null;
const booleanText = (value: unknown): string | null => (typeof value === 'boolean' ? String(value) : null);
const numberText = (value: unknown): string | null => (typeof value === 'number' ? String(value) : null);
const dateText = (value: unknown): string | null => {
  if (!(value instanceof Date)) return null;
  return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString();
};

const SEVERAL = 'a text or a list of texts';
const VALUE_TYPES: Readonly<Record<ParameterKind, ValueType>> = {
  filter: { expected: SEVERAL, code: 'malformed-text', textOf: textOnly },
  by: { expected: SEVERAL, code: 'unknown-value', textOf: textOnly },
  instant: { expected: 'an RFC 3339 text or a Date', code: 'malformed-time', textOf: dateText },
  limit: { expected: 'a whole number', code: 'malformed-limit', textOf: numberText },
  'event-cursor': { expected: 'a text', code: 'malformed-cursor', textOf: textOnly },
  'conflict-cursor': { expected: 'a text', code: 'malformed-cursor', textOf: textOnly },
  format: { expected: 'a text', code: 'unknown-value', textOf: textOnly },
  merge: { expected: 'true or false', code: 'unknown-value', textOf: booleanText },
  since: { expected: 'a text, the id of a snapshot', code: 'malformed-text', textOf: textOnly },
};

/**
 * Reads a query that a program gave as an object: as in a query string, but limits may be numbers, times Dates, and `merge` a
 * boolean. Nothing that is not understood may turn into "everything": an empty list and null become an empty value, which
 * parsing refuses, and what is no object of parameters is refused here.
 *
 * @param method whose argument it is, for the message
 * @param query undefined is a query without parameters
 * @throws LecternError `parameters-invalid` where the query as a whole is something else
 */
export function readQueryObject(endpoint: EndpointName, method: string, query: unknown): QueryObject {
  if (query === undefined) return { pairs: [], faults: [] };
  if (!isParameterObject(query)) {
    const detail = `${method}() takes an object of parameters, such as { limit: 10 }, not ${describe(query)}`;
    throw invalidArgument({ parameter: 'query', code: 'unknown-value', detail });
  }
  const known = ENDPOINT_PARAMETERS[endpoint];
  const pairs: [string, string][] = [];
  const faults: ParameterFault[] = [];
  for (const [name, given] of Object.entries(query)) {
    if (given === undefined) continue;
    const kind = known.get(name);
    // It is parsing that knows what becomes of unknown parameters, and it looks at their names only.
    if (kind === undefined) {
      pairs.push([name, '']);
      continue;
    }
    const { expected, code, textOf } = VALUE_TYPES[kind];
    const values: readonly unknown[] = Array.isArray(given) ? given : [given];
    if (values.length === 0) pairs.push([name, '']);
    for (const value of values) {
      const text = typeof value === 'string' ? value : (value ?? null) === null ? '' : textOf(value);
      if (text !== null) pairs.push([name, text]);
      else
        faults.push({ parameter: name, code, detail: `${name} must be ${expected}, not ${describe(value)}` });
    }
  }
  return { pairs, faults };
}

/** The one text that a method takes. @throws LecternError `parameters-invalid` */
export function checkText(name: string, method: string, expected: string, value: unknown): string {
  if (typeof value === 'string') return value;
  const detail = `${method}() takes ${expected} as text, not ${describe(value)}`;
  throw invalidArgument({ parameter: name, code: 'malformed-text', detail });
}

/** An argument as a whole; the detail says of which method. */
function invalidArgument(fault: ParameterFault): LecternError {
  return new LecternError('parameters-invalid', fault.detail, { faults: [fault] });
}

/** All faults of a query as one error; its message names the parameter of each. */
export function invalidParameters(faults: readonly ParameterFault[]): LecternError {
  const message = faults
    .map(({ parameter, code, detail }) => {
      const named = code === 'unknown-parameter' || detail.startsWith(`${parameter} `);
      return named ? detail : `${parameter}: ${detail}`;
    })
    .join('; ');
  return new LecternError('parameters-invalid', message, { faults });
}

/**
 * Whether something is an object with named values: a plain one, or an instance of a class that has any of its own. A Map,
 * a URLSearchParams, a Date or a promise has none; it would read as a query without parameters.
 */
function isParameterObject(query: unknown): query is Readonly<Record<string, unknown>> {
  if (typeof query !== 'object' || query === null || Symbol.iterator in query) return false;
  const prototype: unknown = Object.getPrototypeOf(query);
  // The prototype of plain objects, also of those from another realm, is the one that has none itself.
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  return isPlain || Object.keys(query).length > 0;
}

const SHOWN_CHARACTERS_MAX = 40;

/** A value in a message: what it is and, where that is short, its text. */
function describe(value: unknown): string {
  switch (typeof value) {
    case 'string': {
      const short = value.length > SHOWN_CHARACTERS_MAX ? `${value.slice(0, SHOWN_CHARACTERS_MAX)}…` : value;
      return `the text ${JSON.stringify(short)}`;
    }
    case 'object': {
      if (value === null) return 'null';
      if (Array.isArray(value)) return 'a list';
      const maker: unknown = (value as { readonly constructor?: unknown }).constructor;
      const className = typeof maker === 'function' ? maker.name : '';
      return className === '' || className === 'Object' ? 'an object' : `a ${className}`;
    }
    case 'function':
      return 'a function';
    case 'undefined':
      return 'nothing';
    default:
      return `${typeof value} ${String(value)}`;
  }
}
