/**
 * Folder source/pattern/. Weekly patterns. This folder knows neither formats nor time zones. A record that gives a
 * lesson by weekday and weeks has meetings, and each becomes a row for each date of its term. The times are local texts such as
 * `2026-09-28 09:00`, so that the time zone counts at each date, and the intake knows most of them already.
 */
import {
  MEETINGS_MAX,
  TERM_WEEKS_MAX,
  UNTOLD_RECORDS_MAX,
  VALUE_MEMO_ENTRIES_MAX,
  VALUE_MEMO_UNITS_MAX,
} from '../../base/limits.js';
import { rowHalf } from '../../base/model/derived-identifier.js';
import type { RejectionCode } from '../../base/model/event.js';
import { slotOf } from '../../base/model/fields.js';
import { type ClockTime, NEEDS_DATE_ORDER, parseClockTimes, readDate } from '../../base/model/local-time.js';
import type { MapValue, PatternNotes, ReadRules, WeeklyPattern } from '../../base/model/read-rules.js';
import { quoteEscaped } from '../../base/model/text.js';
import { DAY_MS, MINUTE_MS, parseDate } from '../../base/model/time.js';
import {
  HALVED,
  type Item,
  LIST,
  NULL,
  namesOf,
  PLAIN,
  type Row,
  STRIDE,
  textsOf,
} from '../../base/structures/row.js';
import { TextMemo } from '../../base/structures/text-memo.js';
import { type Entry, entryOf, isNothing, mapValueFault } from '../map-value.js';
import type { Meeting } from '../record-rows.js';
import {
  type Dates,
  datesOf,
  joinedTexts,
  parseWeeks,
  type RuleFault,
  type TermDays,
  termBetween,
  termDays,
  type Weeks,
} from './term.js';
import { WEEKDAYS, WeekdayReader, withoutWeekdays } from './weekdays.js';

const MINUTES_MAX = 7 * 24 * 60;

/** The parts of a pattern that are read from records. */
const PARTS = ['day', 'start', 'end', 'minutes', 'weeks', 'term', 'validFrom', 'validUntil'] as const;
type Part = (typeof PARTS)[number];

/** What the pattern reads from records, by its parts. Other parts are the same for all records. */
export function patternEntries({ when, terms = {} }: ReadRules): [name: string, Entry][] {
  return PARTS.flatMap((part): [string, Entry][] => {
    const value = when?.[part];
    if (typeof value !== 'string' && typeof value !== 'object') return [];
    const isFixed =
      typeof value === 'string' &&
      ((part === 'term' && Object.hasOwn(terms, value)) ||
        (part.startsWith('valid') && typeof parseDate(value) === 'number'));
    const entry = isFixed ? null : entryOf(value);
    return entry === null ? [] : [[`when.${part}`, entry]];
  });
}

/** The faults of a pattern and its terms that the table of the timetable file does not find. */
export function patternFaults({
  when,
  terms = {},
  fieldMap = {},
  timeZone,
}: Partial<ReadRules>): RuleFault[] {
  const faults = Object.entries(terms).flatMap(([name, term]) => {
    // The table has found the faults of a term that is none.
    const days = typeof term === 'object' ? termDays(name, term) : [];
    return Array.isArray(days) ? days : [];
  });
  if (when === undefined) return faults;
  const refuse = (path: readonly string[], message: string): void => {
    faults.push({ path: ['when', ...path], message });
  };
  for (const part of PARTS) {
    const value = when[part];
    if (value === undefined || (part === 'minutes' && typeof value === 'number')) continue;
    const fault = mapValueFault(part, value, true);
    if (fault !== null) refuse([part], fault);
  }
  const { end, minutes, term, validFrom, validUntil } = when;
  if (end !== undefined && minutes !== undefined)
    refuse(['minutes'], 'when has both end and minutes; expected one');
  const names = Object.keys(terms);
  if (term === undefined && names.length !== 1 && (validFrom === undefined || validUntil === undefined))
    refuse(
      [],
      names.length === 0
        ? 'when needs a term: describe it under terms with firstDay and weeks, or give validFrom and validUntil'
        : `when has no term; expected one of ${names.join(', ')}, or a column that names them`,
    );
  for (const field of ['time', 'endTime'])
    if (Object.hasOwn(fieldMap, field))
      refuse([], `fields has ${field} beside when; expected one of the two, because when makes the times`);
  if (timeZone === undefined)
    refuse([], 'when needs timeZone, because its times of day are local, such as timeZone: Europe/Berlin');
  return faults;
}

/** `start_min`, `startMinutes`, `Minuten`: the column holds minutes since midnight. */
const MINUTE_WORD = /(?:(?<!\p{L})[Mm]|(?<=\p{Ll})M)in(?:ut[eio]s?|uten|uta|uty)?(?!\p{Ll})/u;

export function namesMinutes(value: MapValue | undefined): boolean {
  const { template = [], steps } = (value === undefined ? null : entryOf(value)) ?? {};
  const [part] = template;
  return (
    steps?.values === undefined &&
    template.length === 1 &&
    typeof part === 'object' &&
    MINUTE_WORD.test(part.column)
  );
}

/** Times written as times stay what they are, whatever the name of the column says. */
function timesOfMinutes(text: string): readonly ClockTime[] | string {
  if (!/^(?:0|[1-9]\d{0,3})$/.test(text)) return parseClockTimes(withoutWeekdays(text));
  const start = Number(text) * MINUTE_MS;
  return start <= DAY_MS ? [{ start, end: null }] : 'a day has 1440 minutes';
}

function isLength(minutes: number): boolean {
  return Number.isInteger(minutes) && minutes >= 1 && minutes <= MINUTES_MAX;
}

/** The time of one meeting in a week. Milliseconds from midnight. */
interface MeetingTime {
  readonly weekday: number;
  readonly start: number;
  readonly end: number;
}

export class PatternFault extends Error {
  readonly code: RejectionCode;

  constructor(code: RejectionCode, detail: string) {
    super(detail);
    this.code = code;
  }
}

/** A record that waits until the data tells its weekday. */
interface HeldRow {
  readonly values: readonly (readonly [kind: number, value: string | readonly Item[]])[];
  readonly position: Row['position'];
  readonly names: readonly string[];
}

/** A table whose records are patterns. */
interface PatternTable {
  readonly row: Row;
  /** The slots of the parts that are read from records. */
  readonly slots: ReadonlyMap<string, number>;
  /** Takes a row that was held. */
  readonly give: () => void;
  readonly notes: PatternNotes;
}

const ROOM_SLOTS = [slotOf('roomId'), slotOf('roomName')];

/** Reads the meetings of records. */
export class PatternReader {
  readonly #when: WeeklyPattern;
  readonly #rules: ReadRules;
  readonly #table: PatternTable;
  readonly #weekdays: WeekdayReader;
  readonly #terms: ReadonlyMap<string, TermDays>;
  readonly #times = new TextMemo<readonly ClockTime[] | string>(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX);
  readonly #weeks = new TextMemo<Weeks | string>(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX);
  readonly #dates = new TextMemo<Dates>(VALUE_MEMO_ENTRIES_MAX, 4 * VALUE_MEMO_UNITS_MAX);
  readonly #clocks = new Map<number, string>();
  readonly #inMinutes: Readonly<Record<'start' | 'end', boolean>>;
  #held: HeldRow[] = [];

  constructor(when: WeeklyPattern, rules: ReadRules, table: PatternTable) {
    this.#when = when;
    this.#inMinutes = { start: namesMinutes(when.start), end: namesMinutes(when.end) };
    this.#rules = rules;
    this.#table = table;
    this.#weekdays = new WeekdayReader(when.dayOne, table.notes.readings);
    const terms = new Map<string, TermDays>();
    for (const [name, term] of Object.entries(rules.terms ?? {})) {
      const days = termDays(name, term);
      if (!Array.isArray(days)) terms.set(name, days as TermDays);
    }
    this.#terms = terms;
  }

  /** The meetings of the record in the row. Null: the record is held, until other records tell its weekday. */
  read(): readonly Meeting[] | PatternFault | null {
    let days: readonly number[] | null | string;
    const cell = this.#text('day');
    if (cell === '') days = 'expected a day of the week';
    else days = this.#weekdays.read(cell);
    if (days === null && this.#held.length < UNTOLD_RECORDS_MAX) {
      this.#held.push(held(this.#table.row));
      return null;
    }
    if (days === null) {
      this.finish();
      days = this.#weekdays.read(cell);
    }
    try {
      if (typeof days === 'string')
        throw new PatternFault(
          cell === '' ? 'missing-field' : 'malformed-recurrence',
          cell === '' ? `the day is missing; ${days}` : `day ${quoteEscaped(cell)}: ${days}`,
        );
      return this.#meetingsOf(days as readonly number[]);
    } catch (error) {
      if (error instanceof PatternFault) return error;
      throw error;
    }
  }

  /** The source has ended: what is held is read as well as it can be. */
  finish(): void {
    this.#weekdays.end();
    const waiting = this.#held;
    this.#held = [];
    const { row, give, notes } = this.#table;
    // The record that is in the row now comes after those that are held.
    const present = waiting.length === 0 ? null : held(row);
    for (const record of waiting) {
      restore(row, record);
      give();
    }
    if (present !== null) restore(row, present);
    if (notes.readings.length === 0) notes.readings = this.#weekdays.readings;
  }

  #text(part: Part): string {
    const { row, slots } = this.#table;
    const slot = slots.get(part);
    if (slot === undefined || row.kindOf(slot) <= NULL) return '';
    const text = row.textOf(slot).trim();
    return isNothing(text) ? '' : text;
  }

  #meetingsOf(days: readonly number[]): Meeting[] {
    const times = this.#timesOf(days);
    const name = this.#termName();
    const weeksText = this.#text('weeks');
    const [from, until] = [this.#date('validFrom'), this.#date('validUntil')];
    const found = times.map(({ weekday }) => this.#datesOf(name, weekday, weeksText, from, until));
    const events = found.reduce((sum, dates) => sum + dates.days.length, 0);
    const excepted = found.reduce((sum, dates) => sum + dates.excepted, 0);
    if (events === 0) throw this.#withoutDates(name, days, weeksText, excepted);
    const { row, notes } = this.#table;
    notes.records++;
    notes.events += events;
    notes.excepted += excepted;
    // As many rooms as meetings: each meeting has its own.
    const paired = ROOM_SLOTS.flatMap((slot) => {
      const items = row.kindOf(slot) === LIST ? (row.lists[slot] ?? []) : [];
      return times.length > 1 && items.length === times.length ? [[slot, items] as const] : [];
    });
    return times.map(({ start, end }, n) => {
      const dates = found[n] as Dates;
      const textsAt = (clock: string): readonly string[] =>
        joinedTexts(dates, clock, (date) => flat(`${date} ${clock}`));
      return {
        rooms: paired.map(([slot, items]) => [slot, items[n] as Item] as const),
        starts: textsAt(this.#clock(start)),
        ends:
          end < DAY_MS
            ? textsAt(this.#clock(end))
            : dates.days.map((day) => new Date(day * DAY_MS + end).toISOString().slice(0, 19)),
        dates: dates.texts,
        ids: joinedTexts(dates, String(n), (date) =>
          rowHalf(n === 0 ? date : `${date} ${n}`).toString('latin1'),
        ),
      };
    });
  }

  #timesOf(days: readonly number[]): MeetingTime[] {
    const { end: endColumn, minutes: length } = this.#when;
    const starts = this.#clockTimes('start');
    const ends = endColumn === undefined ? null : this.#clockTimes('end');
    const minutes =
      typeof length === 'number' ? length : length === undefined ? null : Number(this.#text('minutes'));
    if (minutes !== null && !isLength(minutes)) {
      const text = quoteEscaped(this.#text('minutes'));
      throw new PatternFault(
        'malformed-time',
        `minutes ${text}: expected a whole number from 1 to ${MINUTES_MAX}`,
      );
    }
    const count = Math.max(days.length, starts.length);
    const isPaired = [days, starts, ends ?? starts].every(
      (list) => list.length === 1 || list.length === count,
    );
    if (!isPaired || count > MEETINGS_MAX) {
      const shown = `${days.length} days, ${starts.length} times`;
      throw new PatternFault(
        'malformed-time',
        `the record has ${shown}; expected one time, or one for each day, and at most ${MEETINGS_MAX}`,
      );
    }
    return Array.from({ length: count }, (_, n) => {
      const { start, end } = itemOf(starts, n);
      if (start === DAY_MS)
        throw new PatternFault(
          'malformed-time',
          'start 24:00 is the end of the day; expected 00:00 with the next day',
        );
      const last = ends === null ? null : itemOf(ends, n);
      const endMs =
        minutes !== null ? start + minutes * MINUTE_MS : last !== null ? (last.end ?? last.start) : end;
      // A range in `end` is the last of several lessons.
      if (end !== null && endMs !== end && (last?.end ?? null) === null) {
        const [own, other] = [end, endMs as number].map((ms) => this.#clock(ms));
        throw new PatternFault(
          'malformed-time',
          `the range in start ends at ${own}, but ${minutes === null ? 'end' : 'minutes'} gives ${other}; expected equal ends, or one of the two in when`,
        );
      }
      if (endMs === null)
        throw new PatternFault(
          'malformed-time',
          'start has no end; expected a range such as 8:10 - 8:55, or end or minutes in when',
        );
      if (endMs < start) {
        const [from, to] = [this.#clock(start), this.#clock(endMs)];
        throw new PatternFault(
          'end-before-start',
          `end ${to} is before start ${from}; expected it to be equal or later`,
        );
      }
      return { weekday: itemOf(days, n), start, end: endMs };
    });
  }

  #clockTimes(part: 'start' | 'end'): readonly ClockTime[] {
    const text = this.#text(part);
    if (text === '')
      throw new PatternFault('missing-field', `${part} is missing; expected a time of day such as 09:00`);
    // The letter keeps short digits from the front: see TextMemo.
    const isMinutes = this.#inMinutes[part];
    const key = `${isMinutes ? 'm' : 't'}${text}`;
    let times = this.#times.get(key);
    if (times === undefined) {
      times = isMinutes ? timesOfMinutes(text) : parseClockTimes(withoutWeekdays(text));
      this.#times.set(key, times);
    }
    if (typeof times === 'string')
      throw new PatternFault('malformed-time', `${part} ${quoteEscaped(text)}: ${times}`);
    return times;
  }

  #clock(ms: number): string {
    let text = this.#clocks.get(ms);
    if (text === undefined) {
      text = new Date(ms % DAY_MS).toISOString().slice(11, ms % MINUTE_MS === 0 ? 16 : 19);
      if (this.#clocks.size < VALUE_MEMO_ENTRIES_MAX) this.#clocks.set(ms, text);
    }
    return text;
  }

  /** Null: the term is from validFrom to validUntil. */
  #termName(): string | null {
    const { term } = this.#when;
    const [only] = this.#terms.keys();
    const name =
      term === undefined ? (only ?? null) : this.#table.slots.has('term') ? this.#text('term') : `${term}`;
    if (name === null || this.#terms.has(name)) return name;
    const listed = [...this.#terms.keys()].join(', ');
    throw new PatternFault(
      'malformed-recurrence',
      `there is no term ${quoteEscaped(name)}; the terms are ${listed}`,
    );
  }

  /** A day since 1970-01-01; null if the record has no such date. */
  #date(part: 'validFrom' | 'validUntil'): number | null {
    const text = this.#table.slots.has(part) ? this.#text(part) : (this.#when[part] ?? '');
    if (text === '') return null;
    const date = readDate(text, this.#rules.dateOrder);
    if (typeof date !== 'string') return date.days;
    const problem = date === NEEDS_DATE_ORDER ? date : 'expected a date such as 2026-09-28';
    throw new PatternFault('malformed-time', `${part} ${quoteEscaped(text)}: ${problem}`);
  }

  #datesOf(
    name: string | null,
    weekday: number,
    weeksText: string,
    from: number | null,
    until: number | null,
  ): Dates {
    const key = JSON.stringify([name, weekday, weeksText, from, until]);
    let dates = this.#dates.get(key);
    if (dates === undefined) {
      const { cycle = 0 } = this.#when;
      const first = from ?? Number.NEGATIVE_INFINITY;
      const last = until ?? Number.POSITIVE_INFINITY;
      const term = name === null ? this.#ownTerm(from, until) : (this.#terms.get(name) as TermDays);
      dates = datesOf(term, weekday, this.#weeksOf(weeksText, name, term, cycle), cycle, first, last);
      this.#dates.set(key, dates);
    }
    return dates;
  }

  #ownTerm(from: number | null, until: number | null): TermDays {
    if (from === null || until === null)
      throw new PatternFault(
        'missing-field',
        'validFrom or validUntil is missing; expected both, because the record has no term',
      );
    if (until < from) throw new PatternFault('malformed-recurrence', 'validUntil is before validFrom');
    if (until - from >= 7 * TERM_WEEKS_MAX)
      throw new PatternFault(
        'malformed-recurrence',
        `there are more than ${TERM_WEEKS_MAX} weeks from validFrom to validUntil`,
      );
    return termBetween(from, until);
  }

  #weeksOf(text: string, name: string | null, term: TermDays, cycle: number): Weeks {
    const key = `w${text}`;
    let weeks = this.#weeks.get(key);
    if (weeks === undefined) {
      weeks = parseWeeks(text);
      this.#weeks.set(key, weeks);
    }
    if (typeof weeks === 'string')
      throw new PatternFault('malformed-recurrence', `weeks ${quoteEscaped(text)}: ${weeks}`);
    const last = Math.max(0, ...(weeks.numbers ?? []));
    const known = cycle === 0 ? term.weeks : cycle;
    if (last > known) {
      const of =
        cycle > 0
          ? `the cycle, which has ${cycle} weeks`
          : `the term${name === null ? '' : ` ${name}`}, which has ${term.weeks} weeks`;
      throw new PatternFault(
        'malformed-recurrence',
        `weeks ${quoteEscaped(text)}: week ${last} is beyond ${of}`,
      );
    }
    return weeks;
  }

  #withoutDates(
    name: string | null,
    days: readonly number[],
    weeksText: string,
    excepted: number,
  ): PatternFault {
    const day = days.map((each) => WEEKDAYS[each]).join(', ');
    const weeks = weeksText === '' ? '' : ` in weeks ${quoteEscaped(weeksText)}`;
    const reason = excepted === 0 ? '' : `; all ${excepted} are in except`;
    const term = name === null ? 'between validFrom and validUntil' : `in the term ${name}`;
    return new PatternFault(
      'malformed-recurrence',
      `the pattern has no date: ${day}${weeks} does not occur ${term}${reason}`,
    );
  }
}

/** The text in one piece: V8 keeps joined texts as pieces until they are read. */
function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

function itemOf<Item>(list: readonly Item[], n: number): Item {
  return (list.length === 1 ? list[0] : list[n]) as Item;
}

function held(row: Row): HeldRow {
  const slots = row.spans.length / STRIDE;
  const values = Array.from({ length: slots }, (_, slot) => {
    const kind = row.kindOf(slot);
    return [kind, kind === LIST ? (row.lists[slot] ?? []) : row.textOf(slot)] as const;
  });
  return { values, position: row.position, names: textsOf(row.names) };
}

function restore(row: Row, { values, position, names }: HeldRow): void {
  row.begin(Buffer.alloc(0), new DataView(new ArrayBuffer(0)));
  row.place(position);
  for (const [slot, [kind, value]] of values.entries()) {
    if (kind <= NULL) row.clear(slot, kind);
    else if (typeof value !== 'string') row.putList(slot, value);
    else if (kind >= PLAIN && kind <= HALVED) row.put(slot, value);
    else row.putAs(kind, slot, value);
  }
  if (names.length > 0) row.names = namesOf(names);
}
