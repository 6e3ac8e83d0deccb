/** One VEVENT while its lines arrive, with its unparsed times. */
import { CALENDAR_PROPERTIES_MAX, RECORD_BYTES_MAX, ZONE_NAME_UNITS_MAX } from '../../base/limits.js';
import type { RecordPosition, Rejection, RejectionCode } from '../../base/model/event.js';
import type { FieldName } from '../../base/model/fields.js';
import { GROUP_ONLY } from '../../base/model/format.js';
import { formatInstant } from '../../base/model/time.js';
import {
  type ContentLine,
  type FoundLine,
  type GivenTime,
  parameterOf,
  parseTime,
  readContentLine,
  textsOf,
  unescapeText,
} from './content-line.js';

export type EventFault = Omit<Rejection, 'position'>;

export function faultOf(code: RejectionCode, field: FieldName | null, detail: string): EventFault {
  return { code, field, detail };
}

/** Plain data, because recurring events are kept as JSON. */
export interface CalendarEvent {
  readonly position: RecordPosition;
  /** Properties by name, and PERSON. */
  readonly columns: Record<string, string>;
  readonly start: GivenTime | null;
  readonly end: GivenTime | null;
  readonly duration: string | null;
  readonly replaces: GivenTime | null;
  /** Whether the event also replaces later occurrences. */
  readonly isFuture: boolean;
  readonly rules: readonly string[];
  readonly excludedRules: readonly string[];
  readonly dates: readonly GivenTime[];
  readonly excludedDates: readonly GivenTime[];
}

export function isRecurring({ rules, dates }: CalendarEvent): boolean {
  return rules.length > 0 || dates.length > 0;
}

export function isCancelled({ columns }: CalendarEvent): boolean {
  return columns.STATUS?.trim().toUpperCase() === 'CANCELLED';
}

/** In a calendar with METHOD:CANCEL, an event without RECURRENCE-ID cancels all events of its UID (RFC 5546 section 3.2.5). */
export function isWithdrawal({ columns, replaces }: CalendarEvent): boolean {
  return columns.METHOD === 'CANCEL' && replaces === null;
}

/** RFC 5545 section 3.8.7.4. */
export function sequenceOf({ columns }: CalendarEvent): number {
  const sequence = Number(columns.SEQUENCE ?? 0);
  return Number.isFinite(sequence) ? sequence : 0;
}

type Writable<Type> = {
  -readonly [Name in keyof Type]: Type[Name] extends readonly (infer Item)[] ? Item[] : Type[Name];
};

/** Properties that decide the time of an event. Each property may occur once. */
const SINGLES = {
  DTSTART: 'start',
  DTEND: 'end',
  'RECURRENCE-ID': 'replaces',
  DURATION: 'duration',
} as const;

/** Takes the lines of one event. */
export class EventLines {
  readonly position: RecordPosition;
  fault: EventFault | null = null;
  readonly #event: Writable<CalendarEvent>;
  readonly #singles = new Map<string, ContentLine>();
  #bytes = 0;
  #properties = 0;

  constructor(position: RecordPosition, columns: Record<string, string>) {
    this.position = position;
    this.#event = {
      position,
      columns,
      start: null,
      end: null,
      duration: null,
      replaces: null,
      isFuture: false,
      rules: [],
      excludedRules: [],
      dates: [],
      excludedDates: [],
    };
  }

  take({ bytes, start, end, lineNumber, isPlain, isCut }: FoundLine): void {
    const isTooLong = isCut || this.#bytes + end - start > RECORD_BYTES_MAX;
    // An attachment may hold a whole file, which no field of an event needs.
    if (isTooLong && /^ATTACH[;:]/i.test(bytes.toString('latin1', start, Math.min(end, start + 7)))) return;
    this.#bytes += end - start;
    if (isCut || this.#bytes > RECORD_BYTES_MAX) this.fault ??= tooLarge();
    if (this.fault !== null) return;
    const line = readContentLine(bytes, start, end, isPlain);
    if (typeof line === 'string') {
      const code = line.includes('UTF-8') ? 'malformed-text' : 'malformed-record';
      this.fault = faultOf(code, null, `line ${lineNumber} is not an iCalendar property: ${line}`);
      return;
    }
    this.#takeProperty(line);
  }

  #takeProperty(line: ContentLine): void {
    const { name, value } = line;
    const event = this.#event;
    const { columns } = event;
    switch (name) {
      case 'DTSTART':
      case 'DTEND':
      case 'DURATION':
      case 'RECURRENCE-ID':
        this.#takeSingle(name, line);
        return;
      case 'RRULE':
        event.rules.push(value);
        return;
      case 'EXRULE':
        event.excludedRules.push(value);
        return;
      case 'RDATE':
      case 'EXDATE': {
        const tzid = this.#tzidOf(line);
        const dates = name === 'RDATE' ? event.dates : event.excludedDates;
        for (const each of value.split(',')) dates.push({ value: each.trim(), tzid });
        return;
      }
      case 'ORGANIZER':
        columns[name] ??= personOf(line);
        columns.PERSON = columns[name];
        return;
      case 'ATTENDEE':
        columns[name] ??= personOf(line);
        columns.PERSON ??= columns[name];
        return;
      case 'LAST-MODIFIED': {
        const written = parseTime(value.trim());
        if (typeof written === 'object') columns[name] ??= formatInstant(written.localMs);
        return;
      }
      case 'CATEGORIES': {
        const category = textsOf(value)
          .map((text) => text.trim())
          .find((text) => !COLOUR.test(text));
        if (category !== undefined) columns[name] ??= category;
        return;
      }
      case 'DESCRIPTION':
        // Without a lecturer, in a calendar of Lectern.
        columns[name] ??= `${line.parameters === GROUP_ONLY ? '\n' : ''}${unescapeText(value)}`;
        return;
      case 'PERSON':
        return;
      default:
        if (Object.hasOwn(columns, name)) return;
        columns[name] = unescapeText(value);
        if (++this.#properties > CALENDAR_PROPERTIES_MAX) {
          const detail = `the event has more than ${CALENDAR_PROPERTIES_MAX} different properties, the limit`;
          this.fault = faultOf('malformed-record', null, detail);
        }
    }
  }

  #tzidOf({ name, parameters }: ContentLine): string | null {
    const tzid = parameters === '' ? null : parameterOf(parameters, 'TZID');
    if (tzid === null || tzid.length <= ZONE_NAME_UNITS_MAX) return tzid;
    const detail = `the TZID of ${name} has ${tzid.length} characters; expected at most ${ZONE_NAME_UNITS_MAX}`;
    this.fault ??= faultOf('malformed-time', fieldOf(name), detail);
    return null;
  }

  #takeSingle(name: keyof typeof SINGLES, line: ContentLine): void {
    const before = this.#singles.get(name);
    if (before !== undefined && (before.value !== line.value || before.parameters !== line.parameters)) {
      this.fault = faultOf('malformed-record', fieldOf(name), `${name} is given twice; expected it once`);
      return;
    }
    this.#singles.set(name, line);
    const event = this.#event;
    if (name === 'DURATION') event.duration = line.value;
    else event[SINGLES[name]] = { value: line.value.trim(), tzid: this.#tzidOf(line) };
    if (name === 'RECURRENCE-ID' && line.parameters !== '')
      event.isFuture = parameterOf(line.parameters, 'RANGE')?.toUpperCase() === 'THISANDFUTURE';
  }

  end(): CalendarEvent | EventFault {
    return this.fault ?? this.#event;
  }
}

/** The fields that Lectern writes into a description of its own calendars. */
export function takeOwn({ columns }: CalendarEvent): void {
  const [lecturer = '', ...group] = columns.DESCRIPTION?.split('\n') ?? [];
  const found = { PERSON: lecturer, 'X-WR-CALNAME': group.join('\n') };
  for (const [name, text] of Object.entries(found)) {
    if (text === '') delete columns[name];
    else columns[name] = text;
  }
}

function tooLarge(): EventFault {
  const detail = `the event is longer than ${RECORD_BYTES_MAX} bytes, the limit`;
  return faultOf('record-too-large', null, detail);
}

function fieldOf(name: string): FieldName {
  if (name === 'DTEND' || name === 'DURATION') return 'endTime';
  return name === 'RECURRENCE-ID' ? 'id' : 'time';
}

/** What programs write as a name where they know only an address: `mailto`, `:mailto`, the address itself. */
const NO_NAME = /^\s*$|^:?mailto\b|^[^\s@]+@\S+$/i;

/** The name of the person, or the address if there is no name. */
export function personOf({ parameters, value }: ContentLine): string {
  const name = parameters === '' ? null : parameterOf(parameters, 'CN');
  return name === null || NO_NAME.test(name) ? value.replace(/^(?:mailto:)+/i, '') : name;
}

/** The categories that Outlook gives to events for their colour, in the languages of its users. */
const COLOUR = new RegExp(
  [
    '^(?:red|orange|peach|yellow|green|teal|olive|blue|purple|maroon|gr[ae]y|black) category$',
    '^(?:rote|orange|gelbe|grüne|blaue|lila|violette) kategorie$',
    '^catégorie (?:rouge|orange|jaune|verte|bleue|violette)$',
    '^categor(?:í|i)a (?:roja|rossa|vermelha|naranja|arancione|laranja|amarilla|gialla|amarela|verde|azul|blu|morada|púrpura|viola|roxa)$',
    '^(?:rode|oranje|gele|groene|blauwe|paarse) categorie$',
  ].join('|'),
  'iu',
);
