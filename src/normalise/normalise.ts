/**
 * Folder normalise/. Turns decoded records into events or rejections. This folder knows neither where records
 * come from nor where events go.
 */
import {
  NAME_UNITS_MAX,
  REJECTED_ID_UNITS_MAX,
  VALUE_MEMO_ENTRIES_MAX,
  VALUE_MEMO_UNITS_MAX,
} from '../limits.js';
import type {
  Fault,
  IdentifierMode,
  NormalisedEvent,
  RecordPosition,
  Rejection,
  RejectionCode,
} from '../model/event.js';
import { FIELDS, type Field, type FieldName, type KnownField } from '../model/fields.js';
import { describeIdentifier, digitsOf, parseIdentifier } from '../model/identifier.js';
import { normaliseText, quoteEscaped, textFault } from '../model/text.js';
import { formatInstant, parseInstant } from '../model/time.js';
import { TextMemo } from '../structures/text-memo.js';
import { ContentIdentifiers } from './content-identifiers.js';
import type { ReadInstant } from './instant-reader.js';

/**
 * Turns one decoded record into a canonical event, or says why it cannot be served. The function never throws
 * because of data, and keeps only strings of the record.
 */
export type Normalise = (value: unknown, position: RecordPosition) => NormalisedEvent | Rejection;

/** Tells both results of {@link Normalise} apart: only rejections have a `position`. */
export function isRejection(result: NormalisedEvent | Rejection): result is Rejection {
  return 'position' in result;
}

type ValueFault = Pick<Fault, 'code' | 'detail'>;

const NO_FAULTS: readonly Fault[] = [];

const IDENTIFIERS_HINT =
  "; for a source with other identifiers set identifiers: 'derived' or 'any' (on the command line --identifiers derived)";

function hintFor(kind: Field['kind'], mode: IdentifierMode): string {
  return kind === 'identifier' && mode === 'uuid' ? IDENTIFIERS_HINT : '';
}

function takesNumbers({ kind }: Field, mode: IdentifierMode): boolean {
  return kind === 'identifier' && mode !== 'uuid';
}

function expectedOf(field: Field, mode: IdentifierMode): string {
  const { kind, required } = field;
  const isNumber = takesNumbers(field, mode);
  if (!required || isOptional(field, mode))
    return isNumber ? 'a string, a whole number or null' : 'a string or null';
  if (kind === 'instant') return 'an RFC 3339 date-time with an offset, such as 2024-09-02T08:00:00Z';
  if (kind === 'text') return 'a string';
  return describeIdentifier(mode) + (isNumber ? ' or a whole number' : '');
}

/** Whether records may lack a field. A missing id can be derived from the other fields. */
function isOptional({ name, required }: Field, mode: IdentifierMode): boolean {
  return !required || (name === 'id' && mode === 'derived');
}

/** @returns the canonical value, or why it is refused */
function readText(
  { name, kind }: KnownField,
  text: string,
  mode: IdentifierMode,
  readInstant: ReadInstant,
): string | number | ValueFault {
  if (kind === 'identifier') {
    const identifier = parseIdentifier(text, mode, name);
    if (identifier !== null) return identifier;
    if (mode === 'derived' && text.isWellFormed() && text !== '') {
      return { code: 'malformed-text', detail: `${name} ${quoteEscaped(text)} ${textFault(text)}` };
    }
    const expected = describeIdentifier(mode) + hintFor(kind, mode);
    return { code: 'malformed-identifier', detail: `${name} is ${quoteEscaped(text)}; expected ${expected}` };
  }
  if (kind === 'instant') {
    const instantMs = readInstant(text);
    if (typeof instantMs === 'number') return instantMs;
    return { code: 'malformed-time', detail: `${name} ${quoteEscaped(text)} cannot be read: ${instantMs}` };
  }
  const unitsMax = name === 'title' ? Number.POSITIVE_INFINITY : NAME_UNITS_MAX;
  const canonical = text.length > unitsMax ? text : normaliseText(text);
  if (canonical !== null && canonical.length <= unitsMax) return canonical;
  const fault =
    canonical === null ? textFault(text) : `has ${canonical.length} characters; expected at most ${unitsMax}`;
  return { code: 'malformed-text', detail: `${name} ${quoteEscaped(text)} ${fault}` };
}

/**
 * Reads a text like the normaliser, but times only in RFC 3339.
 *
 * @returns null if the record must be decoded, or is rejected
 */
export function createValueReader(
  mode: IdentifierMode,
): (field: KnownField, text: string) => string | number | null {
  return (field, text) => {
    const read = readText(field, text, mode, parseInstant);
    return typeof read === 'object' ? null : read;
  };
}

export interface NormaliserParts {
  /** Default: RFC 3339 only. */
  readonly readInstant?: ReadInstant;
  /** Makes missing ids in mode `derived`. Default: a new instance. */
  readonly contentIdentifiers?: ContentIdentifiers;
}

export function createNormaliser(mode: IdentifierMode, parts: NormaliserParts = {}): Normalise {
  const { readInstant = parseInstant, contentIdentifiers = new ContentIdentifiers() } = parts;
  const isDerived = mode === 'derived';
  const fields = FIELDS.map((field) => ({
    field,
    isOptional: isOptional(field, mode),
    takesNumbers: takesNumbers(field, mode),
    // Values of these fields repeat hundreds of times. Times need no memo: reading one is as cheap as looking it up.
    memo:
      field.indexed || !field.output
        ? new TextMemo<string | number>(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX)
        : null,
  }));
  // Events are copies of this object, so they share one hidden class.
  const blank: Readonly<Record<string, string | number | null>> = Object.fromEntries(
    FIELDS.map(({ name, kind }) => [name, kind === 'instant' ? 0 : null]),
  );

  /** The faults of the current record. */
  let faults: readonly Fault[] = NO_FAULTS;
  const refuse = (code: RejectionCode, field: FieldName, detail: string): void => {
    faults = [...faults, { code, field, detail }];
  };

  function normalise(value: unknown, position: RecordPosition): NormalisedEvent | Rejection {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      const detail = `the record is ${describeValue(value)}; expected an object with the fields of an event`;
      return rejection(position, [{ code: 'malformed-record', field: null, detail }]);
    }
    const record = value as Readonly<Record<string, unknown>>;
    const event = { ...blank };
    faults = NO_FAULTS;
    for (const { field, isOptional, takesNumbers, memo } of fields) {
      const { name } = field;
      const given = record[name];
      // Only own properties count, because properties of a prototype were never in the source.
      if (given === undefined || given === null || !Object.hasOwn(record, name)) {
        if (isOptional) continue;
        const state = given === null && Object.hasOwn(record, name) ? 'null' : 'missing';
        refuse('missing-field', name, `${name} is ${state}; expected ${expectedOf(field, mode)}`);
        continue;
      }
      const text = takesNumbers && typeof given !== 'string' ? digitsOf(given) : given;
      if (typeof text !== 'string') {
        const hint = digitsOf(given) === null ? '' : hintFor(field.kind, mode);
        const detail = `${name} is ${describeValue(given)}; expected ${expectedOf(field, mode)}${hint}`;
        refuse('wrong-type', name, detail);
        continue;
      }
      if (isDerived && text === '' && field.kind === 'identifier') continue;
      let read: string | number | ValueFault | undefined = memo?.get(text);
      if (read === undefined) {
        read = readText(field, text, mode, readInstant);
        if (typeof read === 'object') {
          refuse(read.code, name, read.detail);
          continue;
        }
        memo?.set(text, read);
      }
      event[name] = read;
    }
    const normalised = event as NormalisedEvent;
    if (normalised.endTime < normalised.time && !hasTimeFault(faults)) {
      const [time, endTime] = [formatInstant(normalised.time), formatInstant(normalised.endTime)];
      const detail = `endTime ${endTime} is before time ${time}; expected it to be equal or later`;
      refuse('end-before-start', 'endTime', detail);
    }
    if (faults.length > 0) return rejection(position, faults, normalised.id ?? givenId(record));
    if (isDerived && event.id === null) {
      event.id = contentIdentifiers.identifierOf(normalised, position);
    }
    return normalised;
  }

  return (value, position) => {
    try {
      return normalise(value, position);
    } catch (error) {
      // Decoded data cannot throw, but an accessor or proxy of an in-process source can.
      const reason = error instanceof Error ? quoteEscaped(error.message) : 'an unknown error';
      const detail = `the record could not be read: ${reason}`;
      return rejection(position, [{ code: 'malformed-record', field: null, detail }]);
    }
  };
}

function hasTimeFault(faults: readonly Fault[]): boolean {
  return faults.some(({ field }) => field === 'time' || field === 'endTime');
}

/** The record is counted under its first fault. */
function rejection(
  position: RecordPosition,
  [first, ...more]: readonly Fault[],
  id: string | null = null,
): Rejection {
  const { code, field, detail } = first as Fault;
  return {
    position,
    ...(id === null ? {} : { id }),
    code,
    field,
    detail,
    ...(more.length === 0 ? {} : { more }),
  };
}

/** The id of a rejected record, which names the record even if the id is invalid. */
function givenId(record: Readonly<Record<string, unknown>>): string | null {
  const given = Object.hasOwn(record, 'id') ? record.id : undefined;
  const id = typeof given === 'string' ? given : digitsOf(given);
  return id === null || id === '' || id.length > REJECTED_ID_UNITS_MAX ? null : id;
}

/**
 * Adds the id that the source gave to the position of a record that has neither line nor byte, such as a row of a
 * database. The rows of a database have no order, so a number would not name a row.
 */
export function namedPosition(value: unknown, position: RecordPosition): RecordPosition {
  if (position.line !== undefined || position.byte !== undefined) return position;
  const id = typeof value === 'object' && value !== null ? givenId(value as Record<string, unknown>) : null;
  return id === null ? position : { ...position, id };
}

/** A value in words, with its article: "a number (17)", "an array". */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  switch (typeof value) {
    case 'string':
      return `the string ${quoteEscaped(value)}`;
    case 'number':
      return `a number (${value})`;
    case 'bigint':
      return value > -(2n ** 64n) && value < 2n ** 64n ? `a number (${value})` : 'a number';
    case 'boolean':
      return `a boolean (${value})`;
    case 'object':
      // Only MessagePack and in-process sources have these values.
      if (value instanceof Date) return 'a timestamp instead of text';
      return value instanceof Uint8Array ? 'binary data' : 'an object';
    default:
      return value === undefined ? 'undefined' : `a ${typeof value}`;
  }
}
