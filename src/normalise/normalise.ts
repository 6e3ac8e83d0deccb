/**
 * Room normalise/. From a decoded record to an event or a rejection. It knows neither where records come from nor where
 * events go.
 */
import { VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX } from '../limits.js';
import type {
  IdentifierMode,
  NormalisedEvent,
  RecordPosition,
  Rejection,
  RejectionCode,
} from '../model/event.js';
import { FIELDS, type Field, type FieldKind, type FieldName } from '../model/fields.js';
import { describeIdentifier, digitsOf, parseIdentifier } from '../model/identifier.js';
import { normaliseText } from '../model/text.js';
import { formatInstant, parseInstant } from '../model/time.js';
import { TextMemo } from '../structures/text-memo.js';
import { describeValue, quote } from './describe.js';

/**
 * Turns one decoded record into a canonical event, or says why it cannot be served. Never throws on data, and keeps
 * nothing of the record but its strings.
 */
export type Normalise = (value: unknown, position: RecordPosition) => NormalisedEvent | Rejection;

/** Tells the two results of {@link Normalise} apart. */
export function isRejection(result: NormalisedEvent | Rejection): result is Rejection {
  // No event has a field of this name; a test holds the table to that.
  return 'position' in result;
}

/** Why one value is refused: what the rejection needs beside position and field. */
interface Fault {
  readonly code: RejectionCode;
  readonly detail: string;
}

/** A canonical value or a fault. Never null: an absent value is dealt with before. */
type ReadResult = string | number | Fault;

interface ReadField {
  readonly name: FieldName;
  readonly required: boolean;
  readonly expected: string;
  /** Whether a whole number stands for its digits. */
  readonly takesNumbers: boolean;
  /** What to do about a whole number that is not taken. */
  readonly numberHint: string;
  /** Reads a string. */
  readonly read: (text: string) => ReadResult;
  /**
   * Canonical values by their spelling, or null where hardly any spelling comes twice. Rooms, groups and courses come hundreds
   * of times each, and looking one up costs a quarter of checking it.
   */
  readonly memo: TextMemo<string | number> | null;
}

/** For a source whose identifiers are no UUIDs. */
const IDENTIFIERS_HINT =
  "; for a source with other identifiers set identifiers: 'any' (on the command line --identifiers any)";

/** One reader per kind of field. */
type KindReaders = Readonly<
  Record<FieldKind, { readonly expected: string; read(name: FieldName, text: string): ReadResult }>
>;

function readersOf(mode: IdentifierMode): KindReaders {
  const identifierHint = mode === 'uuid' ? IDENTIFIERS_HINT : '';
  return {
    identifier: {
      expected: describeIdentifier(mode),
      read: (name, text) =>
        parseIdentifier(text, mode) ?? {
          code: 'malformed-identifier',
          detail: `${name} is ${quote(text)}; expected ${describeIdentifier(mode)}${identifierHint}`,
        },
    },
    instant: {
      expected: 'an RFC 3339 date-time with an offset, such as 2024-09-02T08:00:00Z',
      read: (name, text) => {
        const instantMs = parseInstant(text);
        if (typeof instantMs === 'number') return instantMs;
        return { code: 'malformed-time', detail: `${name} ${quote(text)} cannot be read: ${instantMs}` };
      },
    },
    text: {
      expected: 'a string',
      read: (name, text) =>
        normaliseText(text) ?? {
          code: 'malformed-text',
          detail: `${name} ${quote(text)} holds half of a surrogate pair and so has no UTF-8 form; expected well-formed Unicode`,
        },
    },
  };
}

/**
 * Reads a text as the value of one field, as the normaliser does.
 *
 * @returns its canonical value; null where a record with it is rejected
 */
export type ReadValue = (field: Field, text: string) => string | number | null;

export function createValueReader(mode: IdentifierMode): ReadValue {
  const kinds = readersOf(mode);
  return ({ kind, name }, text) => {
    const read = kinds[kind].read(name as FieldName, text);
    return typeof read === 'object' ? null : read;
  };
}

/** An event with every field absent, in the table's order: its copies all have one hidden class. */
function blankEvent(fields: readonly Field[]): Record<string, string | number | null> {
  return Object.fromEntries(fields.map((field) => [field.name, field.kind === 'instant' ? 0 : null]));
}

/**
 * @param mode how identifiers are read
 * @returns a function without state that a caller could notice; one may serve any number of loads in turn
 */
export function createNormaliser(mode: IdentifierMode): Normalise {
  const kinds = readersOf(mode);
  const fields: readonly ReadField[] = FIELDS.map((field) => {
    const kind = kinds[field.kind];
    const takesNumbers = mode === 'any' && field.kind === 'identifier';
    const [orNumber, numberOr] = takesNumbers ? [' or a whole number', ', a whole number'] : ['', ''];
    return {
      name: field.name,
      required: field.required,
      expected: field.required ? kind.expected + orNumber : `a string${numberOr} or null`,
      takesNumbers,
      numberHint: mode === 'uuid' && field.kind === 'identifier' ? IDENTIFIERS_HINT : '',
      read: (text) => kind.read(field.name, text),
      // Times come often, too, but reading one costs no more than looking it up.
      memo: field.indexed ? new TextMemo(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX) : null,
    };
  });
  const blank = blankEvent(FIELDS);

  function normalise(value: unknown, position: RecordPosition): NormalisedEvent | Rejection {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return {
        position,
        code: 'malformed-record',
        field: null,
        detail: `the record is ${describeValue(value)}; expected an object with the fields of an event`,
      };
    }
    const record = value as Readonly<Record<string, unknown>>;
    const event: Record<string, string | number | null> = { ...blank };
    for (const field of fields) {
      const { name } = field;
      const given = record[name];
      // Own properties only: what a prototype offers was never in the source.
      if (given === undefined || given === null || !Object.hasOwn(record, name)) {
        if (!field.required) continue;
        const state = given === null && Object.hasOwn(record, name) ? 'null' : 'missing';
        const detail = `${name} is ${state}; expected ${field.expected}`;
        return { position, code: 'missing-field', field: name, detail };
      }
      const text = typeof given !== 'string' && field.takesNumbers ? digitsOf(given) : given;
      if (typeof text !== 'string') {
        const hint = digitsOf(given) === null ? '' : field.numberHint;
        const detail = `${name} is ${describeValue(given)}; expected ${field.expected}${hint}`;
        return { position, code: 'wrong-type', field: name, detail };
      }
      const known = field.memo?.get(text);
      if (known !== undefined) {
        event[name] = known;
        continue;
      }
      const read = field.read(text);
      if (typeof read === 'object') return { position, code: read.code, field: name, detail: read.detail };
      event[name] = read;
      field.memo?.set(text, read);
    }
    const normalised = event as NormalisedEvent;
    if (normalised.endTime < normalised.time) {
      const detail = `endTime ${show(normalised.endTime)} is before time ${show(normalised.time)}; expected it to be equal or later`;
      return { position, code: 'end-before-start', field: 'endTime', detail };
    }
    return normalised;
  }

  return (value, position) => {
    try {
      return normalise(value, position);
    } catch (error) {
      // Decoded data cannot throw; an accessor or a proxy of the in-process source can.
      const reason = error instanceof Error ? quote(error.message) : 'an unknown error';
      return {
        position,
        code: 'malformed-record',
        field: null,
        detail: `the record could not be read: ${reason}`,
      };
    }
  };
}

function show(instantMs: number): string {
  return formatInstant(instantMs);
}
