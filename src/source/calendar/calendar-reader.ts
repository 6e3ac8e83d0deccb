import { hash } from 'node:crypto';
import { optionInvalid } from '../../base/errors.js';
import {
  CALENDAR_DEPTH_MAX,
  CALENDAR_STEPS_MAX,
  CALENDAR_UID_UNITS_MAX,
  NAME_UNITS_MAX,
  RECORD_BYTES_MAX,
} from '../../base/limits.js';
import type { ExpansionWindow } from '../../base/model/expansion.js';
import { OWN_CALENDAR } from '../../base/model/format.js';
import { parseIdentifier } from '../../base/model/identifier.js';
import type { ReadRules } from '../../base/model/read-rules.js';
import {
  DAY_MS,
  formatInstant,
  INSTANT_MS_MAX,
  INSTANT_MS_MIN,
  parseInstant,
} from '../../base/model/time.js';
import type { FieldTable } from '../field-map.js';
import { type FormatReader, malformed } from '../formats/reader.js';
import {
  type CalendarEvent,
  EventLines,
  faultOf,
  isCancelled,
  isRecurring,
  isWithdrawal,
  takeOwn,
} from './calendar-event.js';
import { type FoundLine, LineScanner, readContentLine, unescapeText } from './content-line.js';
import { EventOutput, type OutsideSpan } from './event-output.js';
import {
  CalendarScope,
  type CalendarZone,
  isFault,
  type Observance,
  timingOf,
  UnknownZone,
  withOthers,
  zoneOfName,
} from './event-timing.js';
import type { Steps } from './expand-rule.js';
import { KeptEvents, type RecurrenceWindow, WAITING_BYTES_MAX } from './kept-events.js';

const COLON = 0x3a;
const NAME_UNITS_SHOWN = 40;

/**
 * iCalendar (RFC 5545). Ordinary events go to the table when they end. Recurring events follow in `rest`,
 * because their changed occurrences may be anywhere in the source.
 */
export class CalendarReader implements FormatReader {
  readonly format = 'icalendar';
  expanded: ExpansionWindow | undefined;
  /** Number of components that are records. */
  #components = 0;
  readonly #sourceName: string;
  readonly #output: EventOutput;
  readonly #scanner: LineScanner;
  readonly #kept: KeptEvents = new KeptEvents();
  readonly #steps: Steps;
  readonly #rules: ReadRules;
  readonly #givenZone: CalendarZone | null;
  /** Names of the components that are open. */
  readonly #open: string[] = [];
  #calendars = 0;
  #scope: CalendarScope;
  #event: EventLines | null = null;
  #zone: ZoneLines | null = null;

  /** @param steps left for all rules of the source together */
  constructor(
    sourceName: string,
    table: FieldTable,
    rules: ReadRules,
    _head?: Buffer,
    steps: Steps = { left: CALENDAR_STEPS_MAX },
  ) {
    this.#steps = steps;
    this.#sourceName = sourceName;
    this.#rules = rules;
    this.#output = new EventOutput(table);
    this.#givenZone = rules.timeZone === undefined ? null : zoneOfName(rules.timeZone);
    if (rules.timeZone !== undefined && this.#givenZone === null) {
      const problem = `timeZone is ${JSON.stringify(rules.timeZone)}; expected a name of IANA such as Europe/Berlin`;
      throw optionInvalid(problem);
    }
    this.#scope = new CalendarScope(this.#givenZone);
    this.#scanner = new LineScanner((line) => this.#takeLine(line));
  }

  /** Occurrences of recurring events count, too. */
  get records(): number {
    return this.#components + this.#output.occurrences;
  }

  /** A source with several calendars may be cut between two of them. */
  get selfDelimiting(): boolean {
    return this.#calendars === 1;
  }

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  finish(): void {
    this.#scanner.finish();
    const open = this.#open.at(-1);
    if (open !== undefined) {
      const place = this.#event === null ? '' : `, which begins on line ${this.#event.position.line}`;
      throw malformed(
        this.#sourceName,
        `the source ends inside ${show(open)}${place}; expected END:VCALENDAR`,
      );
    }
  }

  *rest(): Generator<void> {
    if (this.#kept.isEmpty) return;
    const window = windowOf(this.#rules, Date.now());
    yield* this.#kept.giveAll(window, this.#output, this.#steps);
    this.expanded = expansionText(window, this.#output.outside);
  }

  #takeLine(line: FoundLine): void {
    const { bytes, start, end, lineNumber } = line;
    const component = componentOf(bytes, start, end);
    if (component !== null) {
      if (component.isBegin) this.#begin(component.name, lineNumber);
      else this.#end(component.name, lineNumber);
      return;
    }
    const depth = this.#open.length;
    if (depth === 0) {
      const found = show(bytes.toString('utf8', start, Math.min(end, start + NAME_UNITS_SHOWN)));
      throw malformed(
        this.#sourceName,
        `line ${lineNumber}: found ${found} outside of a calendar; expected BEGIN:VCALENDAR`,
      );
    }
    if (this.#event !== null) {
      // Properties of an alarm do not belong to the event.
      if (depth === 2) this.#event.take(line);
    } else if (this.#zone !== null) this.#zone.take(line);
    else if (depth === 1) this.#takeCalendarLine(line);
  }

  #takeCalendarLine({ bytes, start, end, lineNumber, isPlain }: FoundLine): void {
    const line = readContentLine(bytes, start, end, isPlain);
    if (typeof line === 'string') return;
    const text = unescapeText(line.value);
    const scope = this.#scope;
    const isName = line.name === 'X-WR-CALNAME' || line.name === 'NAME';
    if (isName && text.length > NAME_UNITS_MAX) {
      // Each event has this name, so a long one would make a load of quadratic size.
      const detail = `${line.name} has ${text.length} characters; expected at most ${NAME_UNITS_MAX}; the events have no name of their calendar`;
      const position = { record: ++this.#components, line: lineNumber };
      this.#output.reject({ position }, faultOf('malformed-text', 'studyGroup', detail));
    } else if (line.name === 'X-WR-CALNAME') scope.name = text;
    else if (line.name === 'NAME') scope.name ??= text;
    else if (line.name === 'X-WR-TIMEZONE') scope.ownZone = zoneOfName(text);
    else if (line.name === 'PRODID') scope.isOwn = text === OWN_CALENDAR;
    else if (line.name === 'METHOD') scope.isCancelling = text.trim().toUpperCase() === 'CANCEL';
  }

  #begin(name: string, lineNumber: number): void {
    const depth = this.#open.length;
    if (depth === 0) {
      if (name !== 'VCALENDAR') {
        throw malformed(
          this.#sourceName,
          `line ${lineNumber}: found BEGIN:${show(name)} outside of a calendar; expected BEGIN:VCALENDAR`,
        );
      }
      this.#calendars++;
      this.#scope = new CalendarScope(this.#givenZone);
    } else if (name === 'VEVENT' || name === 'VCALENDAR') {
      // The previous component lacks its end.
      this.#unwind(name === 'VEVENT' ? 1 : 0);
      if (name === 'VCALENDAR') {
        this.#begin(name, lineNumber);
        return;
      }
    }
    if (this.#open.length >= CALENDAR_DEPTH_MAX) {
      const problem = `line ${lineNumber}: more than ${CALENDAR_DEPTH_MAX} components are nested`;
      throw malformed(this.#sourceName, problem);
    }
    this.#open.push(name);
    if (this.#open.length === 2) {
      const { name: calendarName } = this.#scope;
      if (name === 'VEVENT') {
        const columns = calendarName === null ? {} : { 'X-WR-CALNAME': calendarName };
        this.#event = new EventLines({ record: ++this.#components, line: lineNumber }, columns);
      } else if (name === 'VTIMEZONE') this.#zone = new ZoneLines();
    } else this.#zone?.begin(name);
  }

  #end(name: string, lineNumber: number): void {
    const depth = this.#open.lastIndexOf(name);
    if (depth === -1) {
      const detail = `line ${lineNumber} ends ${show(name)}, which did not begin`;
      if (this.#event !== null) this.#event.fault ??= faultOf('malformed-record', null, detail);
      else {
        const position = { record: ++this.#components, line: lineNumber };
        this.#output.reject({ position }, faultOf('malformed-record', null, detail));
      }
      return;
    }
    this.#unwind(depth + 1);
    this.#open.length = depth;
    if (depth !== 1) {
      this.#zone?.end(name);
      return;
    }
    if (this.#event !== null) this.#endEvent(this.#event);
    if (this.#zone !== null) {
      this.#scope.define(this.#zone.tzid, this.#zone.observances, this.#steps);
    }
    this.#event = null;
    this.#zone = null;
  }

  /** Closes the components that lack their END, until `depth` components are open. */
  #unwind(depth: number): void {
    if (this.#open.length <= depth) return;
    const missing = this.#open.at(-1) ?? '';
    this.#open.length = depth;
    if (this.#event === null) {
      if (depth < 2) this.#zone = null;
      return;
    }
    this.#event.fault ??= faultOf('malformed-record', null, `END:${show(missing)} is missing`);
    if (depth > 1) return;
    this.#output.reject(this.#event, this.#event.fault);
    this.#event = null;
  }

  #endEvent(lines: EventLines): void {
    const event = lines.end();
    if (isFault(event)) {
      this.#output.reject(lines, event);
      return;
    }
    const uid = uidOf(event);
    if (this.#scope.isOwn) takeOwn(event);
    if (this.#scope.isCancelling) Object.assign(event.columns, { METHOD: 'CANCEL', STATUS: 'CANCELLED' });
    if (isWithdrawal(event)) {
      this.#output.withdraw(event, uid);
      this.#kept.keep(uid, event, this.#scope, this.#sourceName);
      return;
    }
    if (isRecurring(event) || event.replaces !== null) {
      this.#kept.keep(uid, event, this.#scope, this.#sourceName);
      return;
    }
    const timing = timingOf(event, this.#scope);
    if (isCancelled(event)) this.#output.cancel(event, uid, timing);
    else if (timing instanceof UnknownZone) this.#keepWaiting(event, uid, timing);
    else if (isFault(timing)) this.#output.reject(event, withOthers(timing, event, this.#scope));
    else {
      const isId = this.#scope.isOwn && parseIdentifier(uid, this.#rules.identifiers, 'id') !== null;
      this.#output.giveSingle(event, uid, timing, isId);
    }
  }

  #keepWaiting(event: CalendarEvent, uid: string, fault: UnknownZone): void {
    if (this.#kept.keepWaiting(uid, event, this.#scope)) return;
    const problem = `the event cannot wait for a later VTIMEZONE, because waiting events may take at most ${WAITING_BYTES_MAX} bytes`;
    this.#output.reject(event, { ...fault, detail: `${fault.detail} so far; ${problem}` });
  }
}

/**
 * The UID of an event, or its content if it has none. A digest replaces a long text: V8 hashes texts over
 * 16,383 units by their length, so they would collide in a Map.
 */
function uidOf(event: CalendarEvent): string {
  const { columns, start, end, duration, rules } = event;
  const { UID, SUMMARY, LOCATION, DESCRIPTION } = columns;
  const uid = UID || JSON.stringify([start, end, duration, rules, SUMMARY, LOCATION, DESCRIPTION]);
  return uid.length > CALENDAR_UID_UNITS_MAX ? hash('sha256', uid, 'base64url') : uid;
}

/** `BEGIN:` or `END:` with the name of a component. */
function componentOf(
  bytes: Buffer,
  start: number,
  end: number,
): { readonly isBegin: boolean; readonly name: string } | null {
  const first = bytes[start];
  if (first !== 0x42 && first !== 0x62 && first !== 0x45 && first !== 0x65) return null;
  const isBegin = bytes[start + 5] === COLON;
  if (!isBegin && bytes[start + 3] !== COLON) return null;
  const nameStart = start + (isBegin ? 6 : 4);
  if (nameStart > end) return null;
  const word = bytes.toString('latin1', start, nameStart - 1).toUpperCase();
  if (word !== (isBegin ? 'BEGIN' : 'END')) return null;
  const nameEnd = Math.min(end, nameStart + NAME_UNITS_SHOWN);
  return { isBegin, name: bytes.toString('latin1', nameStart, nameEnd).trim().toUpperCase() };
}

/** A text of the source, made safe for a message. */
function show(text: string): string {
  return /^[A-Z0-9-]+$/.test(text) ? text : JSON.stringify(text.replace(/[^\x20-\x7e]/g, '?'));
}

/** The window of the rules; by default from one year before the load to two years after it, in whole days of UTC. */
function windowOf({ from, to }: Pick<ReadRules, 'from' | 'to'>, nowMs: number): RecurrenceWindow {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  return {
    fromMs: from === undefined ? yearsAfter(today, -1) : instantOf('from', from),
    toMs: to === undefined ? yearsAfter(today, 2) : instantOf('to', to),
  };
}

function expansionText(
  { fromMs, toMs }: RecurrenceWindow,
  { events, firstMs, lastMs }: OutsideSpan,
): ExpansionWindow {
  const outside = events === 0 ? null : { events, from: dateOf(firstMs), to: dateOf(lastMs + DAY_MS) };
  return { from: dateOf(fromMs), to: dateOf(toMs), outside };
}

function dateOf(instantMs: number): string {
  return formatInstant(Math.min(Math.max(instantMs, INSTANT_MS_MIN), INSTANT_MS_MAX)).slice(0, 10);
}

function yearsAfter(instantMs: number, years: number): number {
  const date = new Date(instantMs);
  date.setUTCFullYear(date.getUTCFullYear() + years);
  return date.getTime();
}

function instantOf(name: string, text: string): number {
  const instantMs = parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (typeof instantMs === 'number') return instantMs;
  throw optionInvalid(`${name} is ${JSON.stringify(text)}; expected a date such as 2026-09-01`);
}

type WrittenObservance = {
  -readonly [Name in keyof Observance]: Observance[Name] extends string ? string : string[];
};

/** Takes the lines of one VTIMEZONE. */
class ZoneLines {
  tzid = '';
  readonly observances: Observance[] = [];
  #current: WrittenObservance | null = null;
  #bytes = 0;

  begin(name: string): void {
    const isObservance = name === 'STANDARD' || name === 'DAYLIGHT';
    this.#current = isObservance ? { start: '', offsetFrom: '', offsetTo: '', rules: [], dates: [] } : null;
    if (this.#current !== null) this.observances.push(this.#current);
  }

  end(_name: string): void {
    this.#current = null;
  }

  take({ bytes, start, end, isPlain }: FoundLine): void {
    this.#bytes += end - start;
    if (this.#bytes > RECORD_BYTES_MAX) return;
    const line = readContentLine(bytes, start, end, isPlain);
    if (typeof line === 'string') return;
    const { name, value } = line;
    const observance = this.#current;
    if (observance === null) {
      if (name === 'TZID') this.tzid = value.trim();
    } else if (name === 'DTSTART') observance.start = value.trim();
    else if (name === 'TZOFFSETFROM') observance.offsetFrom = value;
    else if (name === 'TZOFFSETTO') observance.offsetTo = value;
    else if (name === 'RRULE') observance.rules.push(value);
    else if (name === 'RDATE') for (const date of value.split(',')) observance.dates.push(date.trim());
  }
}
