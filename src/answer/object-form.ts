import { LecternError, type ParameterFault, type ParameterFaultCode } from '../base/errors.js';
import { SHOWN_CHARACTERS_MAX } from '../base/model/text.js';
import { ENDPOINT_PARAMETERS, type EndpointName, type ParameterKind } from './endpoint-parameters.js';
import type { ParameterPairs } from './parameters.js';

/** The pairs of the equivalent query string, and a fault for each value of a wrong type. */
export interface QueryObject {
  readonly pairs: ParameterPairs;
  readonly faults: readonly ParameterFault[];
}

const TEXTS = 'a text or a list of texts';
/** The expected type, for messages, and the code of the fault. */
const VALUE_TYPES: Readonly<Record<ParameterKind, readonly [expected: string, code: ParameterFaultCode]>> = {
  filter: [TEXTS, 'malformed-text'],
  exclusion: [TEXTS, 'malformed-text'],
  by: [TEXTS, 'unknown-value'],
  instant: ['an RFC 3339 text or a Date', 'malformed-time'],
  date: ['a text such as 2026-10-25', 'malformed-date'],
  count: ['a whole number', 'malformed-number'],
  texts: [TEXTS, 'malformed-text'],
  dimension: ['a text', 'unknown-value'],
  'time-zone': ['a text such as Europe/Berlin', 'unknown-time-zone'],
  limit: ['a whole number', 'malformed-limit'],
  'event-cursor': ['a text', 'malformed-cursor'],
  'conflict-cursor': ['a text', 'malformed-cursor'],
  'directory-cursor': ['a text', 'malformed-cursor'],
  q: ['a text', 'malformed-text'],
  format: ['a text', 'unknown-value'],
  merge: ['true or false', 'unknown-value'],
  clashes: ["the text 'mark'", 'unknown-value'],
  since: ['a text, the id of a snapshot', 'malformed-text'],
  earlier: ['true or false', 'unknown-value'],
  for: ['a text', 'unknown-value'],
};

function textOf(value: unknown, kind: ParameterKind): string | null {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if ((kind === 'limit' || kind === 'count') && typeof value === 'number') return String(value);
  if ((kind === 'merge' || kind === 'earlier') && typeof value === 'boolean') return String(value);
  if (kind !== 'instant' || !(value instanceof Date)) return null;
  return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString();
}

/**
 * Reads a query given as an object. Mistakes must not select everything, so empty lists and null become empty
 * values, which the parser refuses.
 *
 * @param method named in the message
 * @throws LecternError `parameters-invalid` when the query is not an object of parameters
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
    const kind = known.get(name)?.kind;
    // The parser reports unknown parameters by name.
    if (kind === undefined) {
      pairs.push([name, '']);
      continue;
    }
    const [expected, code] = VALUE_TYPES[kind];
    const values: readonly unknown[] = Array.isArray(given) ? given : [given];
    if (values.length === 0) pairs.push([name, '']);
    for (const value of values) {
      const text = textOf(value, kind);
      if (text !== null) {
        pairs.push([name, text]);
        continue;
      }
      const detail = `${name} must be ${expected}, not ${describe(value)}`;
      faults.push({ parameter: name, code, detail });
    }
  }
  return { pairs, faults };
}

/** @throws LecternError `parameters-invalid` unless `value` is a text */
export function checkText(name: string, method: string, expected: string, value: unknown): string {
  if (typeof value === 'string') return value;
  const detail = `${method}() takes ${expected} as text, not ${describe(value)}`;
  throw invalidArgument({ parameter: name, code: 'malformed-text', detail });
}

function invalidArgument(fault: ParameterFault): LecternError {
  return new LecternError('parameters-invalid', fault.detail, { faults: [fault] });
}

/** One error for all faults; its message names each parameter. */
export function invalidParameters(faults: readonly ParameterFault[]): LecternError {
  const message = faults
    .map(({ parameter, code, detail }) => {
      const named = code === 'unknown-parameter' || detail.startsWith(`${parameter} `);
      return named ? detail : `${parameter}: ${detail}`;
    })
    .join('; ');
  return new LecternError('parameters-invalid', message, { faults });
}

/** Refuses a Map, URLSearchParams, Date or promise, which would count as a query without parameters. */
function isParameterObject(query: unknown): query is Readonly<Record<string, unknown>> {
  if (typeof query !== 'object' || query === null || Symbol.iterator in query) return false;
  const prototype: unknown = Object.getPrototypeOf(query);
  // A plain object may come from another realm. In every realm, the prototype of a plain object has no
  // prototype.
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  return isPlain || Object.keys(query).length > 0;
}

function describe(value: unknown): string {
  if (typeof value === 'string') {
    const short = value.length > SHOWN_CHARACTERS_MAX ? `${value.slice(0, SHOWN_CHARACTERS_MAX)}…` : value;
    return `the text ${JSON.stringify(short)}`;
  }
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object') return `${typeof value} ${String(value)}`;
  if (Array.isArray(value)) return 'a list';
  const maker: unknown = (value as { readonly constructor?: unknown }).constructor;
  const className = typeof maker === 'function' ? maker.name : '';
  return className === '' || className === 'Object' ? 'an object' : `a ${className}`;
}
