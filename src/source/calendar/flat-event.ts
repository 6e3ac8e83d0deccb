import { isUtf8 } from 'node:buffer';
import { RECORD_BYTES_MAX } from '../../limits.js';
import { NAMESPACE_BYTES, namespaceOf, UUID_BYTES, writeNameBased } from '../../model/derived-identifier.js';
import type { IdentifierMode } from '../../model/event.js';
import { FIELDS, type FieldName } from '../../model/fields.js';
import { copyText, isSame, viewOf } from '../../structures/byte-strings.js';
import { personOf } from './calendar-event.js';
import { type ContentLine, firstText, unescapeText } from './content-line.js';
import type { CalendarScope } from './event-timing.js';
import { FlatTimes, INSTANT_BYTES } from './flat-time.js';
import { type FoundText, foundText, LineValues, VALUE_BYTES_MAX } from './line-values.js';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COLON = 0x3a;
const SEMICOLON = 0x3b;
const BACKSLASH = 0x5c;
const LETTER_C = 0x43;
const LETTER_O = 0x4f;
const LETTER_T = 0x54;

const ID = placeOf('id');
const ROOM_ID = placeOf('roomId');
const STUDY_GROUP = placeOf('studyGroup');

/** The use of a property. Events with an UNUSUAL property are read line by line. */
const UNUSUAL = 0;
const OTHER = 1;
const END = 2;
const UID = 3;
const START = 4;
const FINISH = 5;
const STATUS = 6;
const SUMMARY = 7;
const LOCATION = 8;
const CATEGORIES = 9;
const ORGANIZER = 10;
const ATTENDEE = 11;

const USES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    BEGIN: UNUSUAL,
    DURATION: UNUSUAL,
    RRULE: UNUSUAL,
    EXRULE: UNUSUAL,
    RDATE: UNUSUAL,
    EXDATE: UNUSUAL,
    'RECURRENCE-ID': UNUSUAL,
    'X-WR-CALNAME': UNUSUAL,
    PERSON: UNUSUAL,
    END,
    UID,
    DTSTART: START,
    DTEND: FINISH,
    STATUS,
    SUMMARY,
    LOCATION,
    CATEGORIES,
    ORGANIZER,
    ATTENDEE,
  }),
);

/** Uses of properties that are columns outside the default field map, and so are listed as not served. */
const IS_LISTED: number = (1 << OTHER) | (1 << UID) | (1 << STATUS) | (1 << ORGANIZER) | (1 << ATTENDEE);

const NAMES_REMEMBERED = 256;
const NAME_BYTES_MAX = 64;
const UID_BYTES_MAX = 1024;
/**
 * `bytes` has first the name that the id is made from (which ends with the start of the event), then the id,
 * then the texts.
 */
const ID_AT = NAMESPACE_BYTES + UID_BYTES_MAX + 1 + INSTANT_BYTES;
const TEXTS_AT = ID_AT + UUID_BYTES;
/** Seven texts of at most 2,048 bytes. */
const VALUE_BYTES = TEXTS_AT + 7 * VALUE_BYTES_MAX;
const NAMES_MAX = 128;
const EVENT_END = Buffer.from('END:VEVENT');
const IS_NAME: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[A-Z0-9_.-]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

interface TextProperty {
  /** The index of the field's value in the spans. */
  readonly place: number;
  readonly values: LineValues;
}

interface KnownName {
  readonly view: DataView;
  readonly use: number;
}

/**
 * Finds the values of an ordinary VEVENT in its bytes, for the default field map. An ordinary event has one
 * occurrence, no times that are dates, and no nested components. EventLines reads all other events.
 */
export class FlatEvents {
  /** The values in the form of `undecoded` of RecordSink. */
  readonly bytes: Buffer = Buffer.alloc(VALUE_BYTES);
  readonly view: DataView = viewOf(this.bytes);
  readonly spans: Int32Array = new Int32Array(3 * FIELDS.length);
  readonly names: { readonly places: Int32Array; count: number; view: DataView } = {
    places: new Int32Array(2 * NAMES_MAX),
    count: 0,
    view: this.view,
  };
  /** Start and end, in epoch milliseconds. */
  readonly times: Float64Array = new Float64Array(2);
  /** Number of lines of the last event, without BEGIN:VEVENT. */
  lines = 0;
  readonly #knownNames: (KnownName | undefined)[] = new Array<KnownName | undefined>(NAMES_REMEMBERED).fill(
    undefined,
  );
  /** Indexed by the use of the property. */
  readonly #texts: readonly (TextProperty | undefined)[];
  readonly #times = new FlatTimes();
  #group: { readonly name: string; readonly text: FoundText } | null = null;
  #textsEnd = TEXTS_AT;
  /** Views of the bytes that identifiers are made from, by length: a new view costs a third of the digest. */
  readonly #idNames: (Buffer | undefined)[] = [];
  /** The last chunk, and a view of it. */
  #chunk: Buffer = Buffer.alloc(0);
  #chunkView: DataView = viewOf(this.#chunk);

  constructor(identifiers: IdentifierMode) {
    const persons = new LineValues(personOf);
    const texts: (TextProperty | undefined)[] = [];
    const plain = ({ value }: ContentLine): string => unescapeText(value);
    texts[SUMMARY] = { place: placeOf('title'), values: new LineValues(plain) };
    const derived = identifiers === 'uuid' ? 'roomId' : null;
    texts[LOCATION] = { place: placeOf('roomName'), values: new LineValues(plain, derived) };
    texts[CATEGORIES] = {
      place: placeOf('type'),
      values: new LineValues(({ value }) => firstText(value)),
    };
    texts[ORGANIZER] = { place: placeOf('lecturer'), values: persons };
    texts[ATTENDEE] = texts[ORGANIZER];
    this.#texts = texts;
    namespaceOf('id').copy(this.bytes);
  }

  /** Call this when the scope or its zones have changed. */
  forgetZones(): void {
    this.#times.forget();
  }

  /**
   * @param start after the line BEGIN:VEVENT
   * @param isPlain whether the chunk is ASCII
   * @returns the place after END:VEVENT and its line end; -1 if the event must be read line by line
   */
  read(chunk: Buffer, start: number, isPlain: boolean, scope: CalendarScope): number {
    if (chunk !== this.#chunk) {
      this.#chunk = chunk;
      this.#chunkView = viewOf(chunk);
    }
    const view = this.#chunkView;
    const { names, spans } = this;
    spans.fill(-1);
    names.count = 0;
    names.view = view;
    this.lines = 0;
    this.#textsEnd = TEXTS_AT;
    let seen = 0;
    let uidEnd = 0;
    let startMs = Number.NaN;
    let endMs = Number.NaN;
    let at = start;
    for (;;) {
      const nameStart = at;
      let hash = 0;
      while (IS_NAME[chunk[at] as number] === 1) hash = (Math.imul(hash, 31) + (chunk[at++] as number)) | 0;
      const use = this.#useOf(chunk, view, nameStart, at, hash);
      if (use === UNUSUAL) return -1;
      const colon = chunk[at] === COLON ? at : chunk[at] === SEMICOLON ? colonAfter(chunk, at) : -1;
      if (colon === -1) return -1;
      const next = this.#lineAfter(chunk, at);
      if (next === -1 || next - start > RECORD_BYTES_MAX) return -1;
      let lineEnd = next - 1;
      while (lineEnd > colon + 1 && chunk[lineEnd - 1] === CR) lineEnd--;
      if ((IS_LISTED & (1 << use)) !== 0) {
        if (names.count === NAMES_MAX) return -1;
        names.places[2 * names.count] = nameStart;
        names.places[2 * names.count++ + 1] = at;
      }
      const isFirst = (seen & (1 << use)) === 0;
      const hasOrganizer = (seen & (1 << ORGANIZER)) !== 0;
      if (use !== OTHER) seen |= 1 << use;
      if (use === UID) {
        uidEnd = isFirst ? this.#takeUid(chunk, colon + 1, lineEnd) : -1;
        if (uidEnd === -1) return -1;
      } else if (use === START || use === FINISH) {
        const instantMs = isFirst ? this.#times.read(chunk, view, at, colon, lineEnd, scope) : Number.NaN;
        if (Number.isNaN(instantMs)) return -1;
        if (use === START) startMs = instantMs;
        else endMs = instantMs;
      } else if (use === STATUS) {
        if (!isGoingAhead(chunk, colon + 1)) return -1;
      } else if (use === END) {
        if (lineEnd - nameStart !== EVENT_END.length || !isTextAt(chunk, nameStart, EVENT_END)) return -1;
        // The comparison is negated, because NaN must fail, too.
        if (uidEnd === 0 || !(startMs <= endMs)) return -1;
        if (!isPlain && !isUtf8(chunk.subarray(start, next))) return -1;
        this.times[0] = startMs;
        this.times[1] = endMs;
        this.#putId(uidEnd, startMs);
        return this.#putGroup(scope.name) ? next : -1;
      } else if (use !== OTHER && isFirst && !(use === ATTENDEE && hasOrganizer)) {
        if (!this.#takeText(use, chunk, nameStart, lineEnd)) return -1;
      }
      at = next;
    }
  }

  #useOf(chunk: Buffer, view: DataView, from: number, to: number, hash: number): number {
    const place = hash & (NAMES_REMEMBERED - 1);
    const known = this.#knownNames[place];
    const length = to - from;
    if (
      known !== undefined &&
      known.view.byteLength === length &&
      isSame(known.view, 0, view, from, length)
    ) {
      return known.use;
    }
    if (length === 0 || length > NAME_BYTES_MAX) return UNUSUAL;
    const bytes = Uint8Array.from(chunk.subarray(from, to));
    const use = USES.get(Buffer.from(bytes).toString('latin1')) ?? OTHER;
    this.#knownNames[place] = { view: viewOf(bytes), use };
    return use;
  }

  /** The place after a line and its continuations; -1 if its end is uncertain. */
  #lineAfter(chunk: Buffer, from: number): number {
    const last = chunk.length - 1;
    for (let at = from; at < last; at++) {
      // Lines are short: a call of indexOf would take longer.
      if (chunk[at] !== LF) continue;
      this.lines++;
      const byte = chunk[at + 1];
      if (byte !== SPACE && byte !== TAB) return at + 1;
    }
    return -1;
  }

  /** Copies the UID after the namespace. @returns where the UID ends in `bytes`; -1 if it is unusual */
  #takeUid(chunk: Buffer, from: number, to: number): number {
    if (to === from || to - from > UID_BYTES_MAX) return -1;
    const { bytes } = this;
    let end = NAMESPACE_BYTES;
    for (let at = from; at < to; at++) {
      const byte = chunk[at] as number;
      // Unusual are escapes, folds, and texts that may not be in NFC.
      if (byte === BACKSLASH || byte < SPACE || byte >= 0x80) return -1;
      bytes[end++] = byte;
    }
    return end;
  }

  #takeText(use: number, chunk: Buffer, from: number, to: number): boolean {
    const property = this.#texts[use] as TextProperty;
    const value = property.values.of(chunk, this.#chunkView, from, to);
    if (value === null) return false;
    this.#put(property.place, value.text);
    if (use === LOCATION) this.#put(ROOM_ID, value.identifier ?? value.text);
    return true;
  }

  #put(place: number, { view, length, hash }: FoundText): void {
    const from = this.#textsEnd;
    const to = from + length;
    copyText(view, 0, length, this.view, from);
    this.#textsEnd = to;
    this.#span(place, length === 0 ? -1 : from, to, hash);
  }

  #span(place: number, from: number, to: number, hash: number): void {
    const { spans } = this;
    spans[place] = from;
    spans[place + 1] = to;
    spans[place + 2] = hash;
  }

  #putId(uidEnd: number, startMs: number): void {
    const { bytes } = this;
    bytes[uidEnd] = SPACE;
    this.#times.write(startMs, bytes, uidEnd + 1);
    const length = uidEnd + 1 + INSTANT_BYTES;
    this.#idNames[length] ??= bytes.subarray(0, length);
    writeNameBased(this.#idNames[length], bytes, ID_AT);
    this.#span(ID, ID_AT, ID_AT + UUID_BYTES, 0);
  }

  #putGroup(name: string | null): boolean {
    if (name === null) return true;
    if (this.#group?.name !== name) this.#group = { name, text: foundText(name) };
    const { text } = this.#group;
    if (text.length > VALUE_BYTES_MAX) return false;
    this.#put(STUDY_GROUP, text);
    return true;
  }
}

/** The colon before the value, outside of quotes; -1 if the chunk has none. */
function colonAfter(chunk: Buffer, from: number): number {
  let isQuoted = false;
  for (let at = from; at + 1 < chunk.length; at++) {
    const byte = chunk[at];
    if (byte === COLON && !isQuoted) return at;
    if (byte === QUOTE) isQuoted = !isQuoted;
    else if (byte === LF && chunk[at + 1] !== SPACE && chunk[at + 1] !== TAB) return -1;
  }
  return -1;
}

export function isTextAt(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let n = 0; n < text.length; n++) if (bytes[at + n] !== text[n]) return false;
  return true;
}

/** Whether the status is CONFIRMED or TENTATIVE. */
function isGoingAhead(chunk: Buffer, at: number): boolean {
  return chunk[at] === LETTER_T || (chunk[at] === LETTER_C && chunk[at + 1] === LETTER_O);
}

function placeOf(name: FieldName): number {
  return 3 * FIELDS.findIndex((field) => field.name === name);
}
