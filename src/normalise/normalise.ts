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
import { FIELDS, type Field, type FieldName } from '../model/fields.js';
import { describeIdentifier, digitsOf, parseIdentifier } from '../model/identifier.js';
import { normaliseText } from '../model/text.js';
import { formatInstant, parseInstant } from '../model/time.js';
import { TextMemo } from '../structures/text-memo.js';

/**
 * Turns one decoded record into a canonical event, or says why it cannot be served. Never throws on data, and keeps
 * nothing of the record but its strings.
 */
export type Normalise = (value: unknown, position: RecordPosition) => NormalisedEvent | Rejection;

/** Tells the two results of {@link Normalise} apart: no event has a field of this name. */
export function isRejection(result: NormalisedEvent | Rejection): result is Rejection {
  return 'position' in result;
}

type Fault = Pick<Rejection, 'code' | 'detail'>;

const IDENTIFIERS_HINT =
  "; for a source with other identifiers set identifiers: 'any' (on the command line --identifiers any)";

function hintFor(kind: Field['kind'], mode: IdentifierMode): string {
  return kind === 'identifier' && mode === 'uuid' ? IDENTIFIERS_HINT : '';
}

function expectedOf({ kind, required }: Field, mode: IdentifierMode): string {
  const isNumber = kind === 'identifier' && mode === 'any';
  if (!required) return isNumber ? 'a string, a whole number or null' : 'a string or null';
  if (kind === 'instant') return 'an RFC 3339 date-time with an offset, such as 2024-09-02T08:00:00Z';
  if (kind === 'text') return 'a string';
  return describeIdentifier(mode) + (isNumber ? ' or a whole number' : '');
}

/** @returns the canonical value, or why it is refused */
function readText({ name, kind }: Field, text: string, mode: IdentifierMode): string | number | Fault {
  if (kind === 'identifier') {
    const identifier = parseIdentifier(text, mode);
    if (identifier !== null) return identifier;
    const expected = describeIdentifier(mode) + hintFor(kind, mode);
    return { code: 'malformed-identifier', detail: `${name} is ${quote(text)}; expected ${expected}` };
  }
  if (kind === 'instant') {
    const instantMs = parseInstant(text);
    if (typeof instantMs === 'number') return instantMs;
    return { code: 'malformed-time', detail: `${name} ${quote(text)} cannot be read: ${instantMs}` };
  }
  return (
    normaliseText(text) ?? {
      code: 'malformed-text',
      detail: `${name} ${quote(text)} holds half of a surrogate pair and so has no UTF-8 form; expected well-formed Unicode`,
    }
  );
}

/** Reads a text as the normaliser does. @returns null if a record with it is rejected */
export function createValueReader(
  mode: IdentifierMode,
): (field: Field, text: string) => string | number | null {
  return (field, text) => {
    const read = readText(field, text, mode);
    return typeof read === 'object' ? null : read;
  };
}

export function createNormaliser(mode: IdentifierMode): Normalise {
  const fields = FIELDS.map((field: Field) => ({
    field,
    // Values of these fields come hundreds of times each. Reading a time costs no more than looking it up.
    memo:
      field.indexed || !field.output
        ? new TextMemo<string | number>(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX)
        : null,
  }));
  // Its copies all have one hidden class.
  const blank: Readonly<Record<string, string | number | null>> = Object.fromEntries(
    FIELDS.map(({ name, kind }) => [name, kind === 'instant' ? 0 : null]),
  );

  function normalise(value: unknown, position: RecordPosition): NormalisedEvent | Rejection {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      const detail = `the record is ${describeValue(value)}; expected an object with the fields of an event`;
      return rejection(position, 'malformed-record', null, detail);
    }
    const record = value as Readonly<Record<string, unknown>>;
    const event = { ...blank };
    for (const { field, memo } of fields) {
      const { name } = field;
      const given = record[name];
      // Own properties only: a prototype's were never in the source.
      if (given === undefined || given === null || !Object.hasOwn(record, name)) {
        if (!field.required) continue;
        const state = given === null && Object.hasOwn(record, name) ? 'null' : 'missing';
        const detail = `${name} is ${state}; expected ${expectedOf(field, mode)}`;
        return rejection(position, 'missing-field', name, detail);
      }
      const isNumber = typeof given !== 'string' && field.kind === 'identifier' && mode === 'any';
      const text = isNumber ? digitsOf(given) : given;
      if (typeof text !== 'string') {
        const hint = digitsOf(given) === null ? '' : hintFor(field.kind, mode);
        const detail = `${name} is ${describeValue(given)}; expected ${expectedOf(field, mode)}${hint}`;
        return rejection(position, 'wrong-type', name, detail);
      }
      let read: string | number | Fault | undefined = memo?.get(text);
      if (read === undefined) {
        read = readText(field, text, mode);
        if (typeof read === 'object') return rejection(position, read.code, name, read.detail);
        memo?.set(text, read);
      }
      event[name] = read;
    }
    const normalised = event as NormalisedEvent;
    if (normalised.endTime < normalised.time) {
      const [time, endTime] = [formatInstant(normalised.time), formatInstant(normalised.endTime)];
      const detail = `endTime ${endTime} is before time ${time}; expected it to be equal or later`;
      return rejection(position, 'end-before-start', 'endTime', detail);
    }
    return normalised;
  }

  return (value, position) => {
    try {
      return normalise(value, position);
    } catch (error) {
      // Decoded data cannot throw; an accessor or a proxy of the in-process source can.
      const reason = error instanceof Error ? quote(error.message) : 'an unknown error';
      return rejection(position, 'malformed-record', null, `the record could not be read: ${reason}`);
    }
  };
}

function rejection(
  position: RecordPosition,
  code: RejectionCode,
  field: string | null,
  detail: string,
): Rejection {
  return { position, code, field: field as FieldName | null, detail };
}

const SHOWN_CHARACTERS_MAX = 40;

/** JSON leaves these bare, but terminals and readers stumble over them: C1 controls, bidirectional marks, separators. */
const UNSAFE = /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** In JSON's quotes, cut to 40 characters, followed by an ellipsis. */
export function quote(text: string): string {
  // JSON would show half of a surrogate pair as an escape that is not in the source.
  const isPairCut = (text.codePointAt(SHOWN_CHARACTERS_MAX - 1) ?? 0) > 0xffff;
  const shown = text.slice(0, isPairCut ? SHOWN_CHARACTERS_MAX - 1 : SHOWN_CHARACTERS_MAX);
  const quoted = JSON.stringify(shown).replace(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return text.length > SHOWN_CHARACTERS_MAX ? `${quoted}…` : quoted;
}

/** With its article: "a number (17)", "an array". */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  switch (typeof value) {
    case 'string':
      return `the string ${quote(value)}`;
    case 'number':
      return `a number (${value})`;
    case 'bigint':
      return value > -(2n ** 64n) && value < 2n ** 64n ? `a number (${value})` : 'a number';
    case 'boolean':
      return `a boolean (${value})`;
    case 'object':
      // Only MessagePack and the in-process source can bring these.
      if (value instanceof Date) return 'a timestamp, not a text';
      return value instanceof Uint8Array ? 'binary data' : 'an object';
    default:
      return value === undefined ? 'undefined' : `a ${typeof value}`;
  }
}
