/**
 * Folder normalise/. Turns rows into events or rejections. This folder knows neither where records come from nor where
 * events go.
 */
import {
  LESSON_ID_UNITS_MAX,
  NAME_UNITS_MAX,
  REJECTED_ID_UNITS_MAX,
  VALUE_MEMO_ENTRIES_MAX,
  VALUE_MEMO_UNITS_MAX,
} from '../base/limits.js';
import { derivedIdentifier } from '../base/model/derived-identifier.js';
import type {
  Fault,
  IdentifierMode,
  NormalisedEvent,
  RecordPosition,
  Rejection,
  RejectionCode,
} from '../base/model/event.js';
import { FIELDS, type Field, type FieldName, type KnownField, slotOf } from '../base/model/fields.js';
import { describeIdentifier, parseIdentifier } from '../base/model/identifier.js';
import { NEEDS_DATE_ORDER, parseLocalTime, partOfRange } from '../base/model/local-time.js';
import type { ReadRules } from '../base/model/read-rules.js';
import { normaliseText, quoteEscaped, textFault } from '../base/model/text.js';
import { formatInstant, INSTANT_MS_MAX, INSTANT_MS_MIN, parseInstant } from '../base/model/time.js';
import { type AmbiguousTimes, type LocalInstant, Zone } from '../base/model/zone.js';
import { ByteStrings, viewOf } from '../base/structures/byte-strings.js';
import { KeyedHash, randomHashSeed } from '../base/structures/keyed-hash.js';
import { NULL, type Row, WHOLE } from '../base/structures/row.js';
import { TextMemo } from '../base/structures/text-memo.js';

/** Tells both results of {@link Normaliser.event} apart: only rejections have a `position`. */
export function isRejection(result: NormalisedEvent | Rejection): result is Rejection {
  return 'position' in result;
}

type ValueFault = Pick<Fault, 'code' | 'detail'>;

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

/** UTF-16 units of a text, where it is not NAME_UNITS_MAX. */
const UNITS_MAX: { readonly [Name in FieldName]?: number } = {
  title: Number.POSITIVE_INFINITY,
  lessonId: LESSON_ID_UNITS_MAX,
};

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
  const unitsMax = UNITS_MAX[name] ?? NAME_UNITS_MAX;
  const canonical = text.length > unitsMax ? text : normaliseText(text);
  if (canonical !== null && canonical.length <= unitsMax) return canonical;
  const fault =
    canonical === null ? textFault(text) : `has ${canonical.length} characters; expected at most ${unitsMax}`;
  return { code: 'malformed-text', detail: `${name} ${quoteEscaped(text)} ${fault}` };
}

const READ_FIELDS = FIELDS.map((field, slot) => ({ field, slot }));
const ID = slotOf('id');
const TIME = slotOf('time');
const END_TIME = slotOf('endTime');

/** Checks rows. Keeps nothing of a row but texts. */
export class Normaliser {
  readonly ambiguousTimes: AmbiguousTimes;
  readonly #mode: IdentifierMode;
  readonly #dateOrder: ReadRules['dateOrder'];
  readonly #readInstant: ReadInstant;
  readonly #contentIdentifiers = new ContentIdentifiers();
  /** Values of these fields repeat hundreds of times. Times need no memo: reading one is as cheap as looking it up. */
  readonly #memos: readonly (TextMemo<string | number> | null)[] = FIELDS.map(({ indexed, output }) =>
    indexed || !output ? new TextMemo<string | number>(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX) : null,
  );
  /** Events are copies of this object, so they share one hidden class. */
  readonly #blank: Readonly<Record<string, string | number | null>> = Object.fromEntries(
    FIELDS.map(({ name, kind, required }) => [name, kind === 'instant' && required ? 0 : null]),
  );

  /** @param ambiguousTimes counts local times that clocks skip or show twice */
  constructor(
    rules: Pick<ReadRules, 'identifiers' | 'dateOrder' | 'timeZone'>,
    ambiguousTimes: AmbiguousTimes = { gaps: 0, overlaps: 0 },
  ) {
    this.#mode = rules.identifiers;
    this.#dateOrder = rules.dateOrder;
    this.ambiguousTimes = ambiguousTimes;
    this.#readInstant = createInstantReader(rules, ambiguousTimes);
  }

  get heldBytes(): number {
    return this.#contentIdentifiers.heldBytes;
  }

  /** The canonical form of an identifier or a text; null if it is refused. */
  value(field: KnownField, text: string): string | null {
    const read = readText(field, text, this.#mode, this.#readInstant);
    return typeof read === 'string' ? read : null;
  }

  /** Epoch milliseconds, or a clause on the fault. */
  instant(text: string): number | string {
    return this.#readInstant(text);
  }

  /** A canonical event, or all reasons why the row cannot be served. */
  event(row: Row): NormalisedEvent | Rejection {
    const mode = this.#mode;
    const isDerived = mode === 'derived';
    const event = { ...this.#blank };
    const faults: Fault[] = [];
    const refuse = (code: RejectionCode, field: FieldName, detail: string): void => {
      faults.push({ code, field, detail });
    };
    for (const { field, slot } of READ_FIELDS) {
      const { name } = field;
      const kind = row.kindOf(slot);
      if (kind <= NULL) {
        if (isOptional(field, mode)) continue;
        const state = kind === NULL ? 'null' : 'missing';
        refuse('missing-field', name, `${name} is ${state}; expected ${expectedOf(field, mode)}`);
        continue;
      }
      if (name === 'modified') {
        event[name] = this.#modifiedOf(row, slot);
        continue;
      }
      if (!row.isText(slot) && !(kind === WHOLE && takesNumbers(field, mode))) {
        const hint = kind === WHOLE ? hintFor(field.kind, mode) : '';
        const found = row.describe(slot, quoteEscaped);
        refuse('wrong-type', name, `${name} is ${found}; expected ${expectedOf(field, mode)}${hint}`);
        continue;
      }
      const text = row.textOf(slot);
      if (isDerived && text === '' && field.kind === 'identifier') continue;
      const memo = this.#memos[slot];
      let read: string | number | ValueFault | undefined = memo?.get(text);
      if (read === undefined) {
        read = readText(field, text, mode, this.#readInstant);
        if (typeof read === 'object' && field.kind === 'instant')
          read = this.#readPart(row, name, text) ?? read;
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
    const position = positionOf(row);
    if (faults.length > 0) return rejection(position, faults, row.recordId ?? normalised.id ?? givenId(row));
    if (isDerived && event.id === null)
      event.id = this.#contentIdentifiers.identifierOf(normalised, position);
    return normalised;
  }

  /** Both times of a row may be one range, such as `2026-10-05 8:00-9:30`. @returns null if they are not */
  #readPart(row: Row, name: FieldName, text: string): number | null {
    if (!row.isText(TIME) || !row.isText(END_TIME) || row.textOf(TIME) !== row.textOf(END_TIME)) return null;
    const cut = partOfRange(text, this.#dateOrder, name === 'time' ? 'start' : 'end');
    const instantMs = cut === null ? null : this.#readInstant(cut);
    return typeof instantMs === 'number' ? instantMs : null;
  }

  /** No lesson is lost for a bad time of change. Its local times are not counted as ambiguous. */
  #modifiedOf(row: Row, slot: number): number | null {
    const { gaps, overlaps } = this.ambiguousTimes;
    const instantMs = row.isText(slot) ? this.#readInstant(row.textOf(slot)) : '';
    Object.assign(this.ambiguousTimes, { gaps, overlaps });
    return typeof instantMs === 'number' ? instantMs : null;
  }
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
function givenId(row: Row): string | null {
  if (row.recordId !== null) return row.recordId;
  const id = row.isText(ID) || row.kindOf(ID) === WHOLE ? row.textOf(ID) : '';
  return id === '' || id.length > REJECTED_ID_UNITS_MAX ? null : id;
}

/**
 * The position of a row. A record that has neither line nor byte, such as a row of a database, is named by the id that
 * the source gave: the rows of a database have no order, so a number would not name a row.
 */
export function positionOf(row: Row): RecordPosition {
  const { position } = row;
  if (row.line !== 0 || row.byte !== -1) return position;
  const id = givenId(row);
  return id === null ? position : { ...position, id };
}

/** Epoch milliseconds, or a clause on the fault. */
export type ReadInstant = (text: string) => number | string;

const NEEDS_TIME_ZONE =
  'it has no offset: end it with "Z" or "+hh:mm", or set timeZone (on the command line --time-zone Europe/Berlin)';

/**
 * Reads RFC 3339, and other forms allowed by the rules. @param ambiguous counts local times that clocks skip
 * or show twice
 */
export function createInstantReader(
  { dateOrder, timeZone }: Pick<ReadRules, 'dateOrder' | 'timeZone'>,
  ambiguous: AmbiguousTimes,
): ReadInstant {
  const zone = timeZone === undefined ? null : new Zone(timeZone);
  const readLocal = (text: string): LocalInstant | string => {
    const local = parseLocalTime(text, dateOrder);
    if (typeof local === 'string') return local;
    const { localMs, offsetMs } = local;
    if (offsetMs === null && zone === null) return NEEDS_TIME_ZONE;
    const read: LocalInstant =
      offsetMs === null
        ? (zone as Zone).instantOf(localMs)
        : { instantMs: localMs - offsetMs, kind: 'exact' };
    const isShown = read.instantMs >= INSTANT_MS_MIN && read.instantMs <= INSTANT_MS_MAX;
    return isShown ? read : 'in UTC it lies outside the years 0000 to 9999';
  };
  if (zone === null && dateOrder === undefined) {
    return (text) => {
      const instantMs = parseInstant(text);
      if (typeof instantMs === 'number') return instantMs;
      const local = parseLocalTime(text, undefined);
      if (local === NEEDS_DATE_ORDER) return local;
      return typeof local !== 'string' && local.offsetMs === null ? NEEDS_TIME_ZONE : instantMs;
    };
  }
  const memo = new TextMemo<LocalInstant>(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX);
  return (text) => {
    let local: LocalInstant | string | undefined = memo.get(text);
    if (local === undefined) {
      const instantMs = parseInstant(text);
      if (typeof instantMs === 'number') return instantMs;
      local = readLocal(text);
      if (typeof local === 'string') return local;
      memo.set(text, local);
    }
    if (local.kind === 'gap') ambiguous.gaps++;
    else if (local.kind === 'overlap') ambiguous.overlaps++;
    return local.instantMs;
  };
}

const CONTENT_FIELDS = [
  'time',
  'endTime',
  'title',
  'roomId',
  'courseId',
  'studyGroup',
  'lecturer',
  'type',
  'groupId',
  'lecturerId',
] as const;

/** 16 hexadecimal digits are enough to distinguish the records of one source. */
const PRINT_BYTES = 16;

/**
 * Makes identifiers for records without an identifier, from ten fields and from the position among equal
 * records. Equal records of different sources get equal identifiers. 40 bytes are kept for each record.
 */
class ContentIdentifiers {
  readonly #hash = new KeyedHash(randomHashSeed());
  readonly #print: Buffer = Buffer.alloc(PRINT_BYTES);
  readonly #printView = viewOf(this.#print);
  /** Records of the present source; sources are read one after another. */
  #seen = new ByteStrings();
  /** Records that occurred more than once. */
  #counts = new Map<number, number>();
  #source: string | undefined;

  get heldBytes(): number {
    return this.#seen.heldBytes;
  }

  identifierOf(event: NormalisedEvent, { source }: RecordPosition): string {
    if (source !== this.#source) {
      this.#source = source;
      this.#seen = new ByteStrings();
      this.#counts = new Map();
    }
    const content = JSON.stringify(CONTENT_FIELDS.map((name) => event[name]));
    const identifier = derivedIdentifier('id', content);
    const count = this.#count(identifier);
    return count === 1 ? identifier : derivedIdentifier('id', `${content} ${count}`);
  }

  #count(identifier: string): number {
    this.#print.write(identifier.replaceAll('-', '').slice(-PRINT_BYTES), 'latin1');
    const hash = this.#hash.bytes(this.#printView, 0, PRINT_BYTES);
    const known = this.#seen.find(hash, this.#printView, 0, PRINT_BYTES);
    if (known === -1) {
      this.#seen.add(hash, this.#printView, 0, PRINT_BYTES);
      return 1;
    }
    const count = (this.#counts.get(known) ?? 1) + 1;
    this.#counts.set(known, count);
    return count;
  }
}
