/** Terms, and the weeks of a record, which choose dates of a term. */
import { TERM_WEEKS_MAX } from '../../base/limits.js';
import type { Term } from '../../base/model/read-rules.js';
import { normaliseText, quoteEscaped, textFault } from '../../base/model/text.js';
import { DAY_MS, formatInstant, parseDate } from '../../base/model/time.js';
import { isNothing } from '../map-value.js';

const DAYS_PER_WEEK = 7;
/** Times of day of one weekday and its weeks. */
const JOINED_MAX = 256;
/** 1970-01-01 was a Thursday. */
const EPOCH_WEEKDAY = 3;

/** Days are counted from 1970-01-01. */
export interface TermDays {
  readonly firstDay: number;
  /** The number of each week; 0 for a week without lessons and number. */
  readonly weekNumbers: readonly number[];
  readonly weeks: number;
  readonly except: ReadonlySet<number>;
}

/** The dates of a pattern. */
export interface Dates {
  readonly days: readonly number[];
  /** `2026-09-28` for each day. */
  readonly texts: readonly string[];
  /** Number of dates left out because lessons are excepted. */
  readonly excepted: number;
  /** Texts by the time of day that follows each date, or by the number of the meeting: patterns share them. */
  readonly joined: Map<string, readonly string[]>;
}

/** A text for each date, made once. */
export function joinedTexts(
  { texts, joined }: Dates,
  key: string,
  make: (date: string) => string,
): readonly string[] {
  let list = joined.get(key);
  if (list === undefined) {
    list = texts.map(make);
    if (joined.size < JOINED_MAX) joined.set(key, list);
  }
  return list;
}

/** A fault of the rules, with the names that lead to it. */
export interface RuleFault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** The days of a term, or the faults of its days without lessons: the table of the timetable file checks the rest. */
export function termDays(name: string, { firstDay, weeks, except, breaks }: Term): TermDays | RuleFault[] {
  const faults: RuleFault[] = [];
  const daysOf = (key: 'except' | 'breaks', list: readonly string[] = []): Set<number> => {
    const days = new Set<number>();
    for (const [n, item] of list.entries()) {
      const fault = addDays(days, item);
      if (fault !== null)
        faults.push({
          path: ['terms', name, key, n],
          message: `${key} ${quoteEscaped(`${item}`)}: ${fault}`,
        });
    }
    return days;
  };
  const excepted = daysOf('except', except);
  const breakDays = daysOf('breaks', breaks);
  if (faults.length > 0) return faults;
  const first = Number(parseDate(firstDay)) / DAY_MS;
  const weekNumbers: number[] = [];
  for (let n = 0, number = 0; number < weeks; n++)
    weekNumbers.push(breakDays.has(first + DAYS_PER_WEEK * n) ? 0 : ++number);
  return { firstDay: first, weekNumbers, weeks, except: excepted };
}

/** Adds the days of a date or a range. @returns a clause on the fault */
function addDays(days: Set<number>, item: unknown): string | null {
  const expected = 'expected a date such as 2026-11-04, or a range such as 2026-10-26/2026-10-30';
  if (typeof item !== 'string') return expected;
  const [first, last, ...more] = item.split('/').map((date) => parseDate(date.trim()));
  const to = last === undefined ? first : last;
  if (typeof first !== 'number' || typeof to !== 'number' || more.length > 0) return expected;
  if (to < first) return 'it ends before it begins';
  if (to - first > DAYS_PER_WEEK * TERM_WEEKS_MAX * DAY_MS) return 'it is longer than any term';
  for (let day = first / DAY_MS; day <= to / DAY_MS; day++) days.add(day);
  return null;
}

/** The term of a record without one: from its first to its last day. */
export function termBetween(first: number, last: number): TermDays {
  const weeks = Math.floor((last - first) / DAYS_PER_WEEK) + 1;
  const weekNumbers = Array.from({ length: weeks }, (_, n) => n + 1);
  return { firstDay: first, weekNumbers, weeks, except: new Set() };
}

/**
 * The dates of one weekday.
 *
 * @param weekday Monday is 0
 * @param cycle after this number of weeks the numbers of weeks begin again at 1; 0 if they do not
 */
export function datesOf(
  term: TermDays,
  weekday: number,
  { numbers, parity, span }: Weeks,
  cycle: number,
  first: number,
  last: number,
): Dates {
  const { firstDay, weekNumbers, except } = term;
  const offset = (weekday - ((firstDay + EPOCH_WEEKDAY) % DAYS_PER_WEEK) + DAYS_PER_WEEK) % DAYS_PER_WEEK;
  const days: number[] = [];
  let excepted = 0;
  for (const [n, week] of weekNumbers.entries()) {
    const day = firstDay + DAYS_PER_WEEK * n + offset;
    if (week === 0 || day < first || day > last) continue;
    if (numbers?.has(cycle === 0 ? week : ((week - 1) % cycle) + 1) === false) continue;
    if (parity !== null && week % 2 !== parity) continue;
    if (span !== null) {
      const spanWeek = Math.floor((day - span.first) / DAYS_PER_WEEK);
      if (day < span.first || day > span.last || spanWeek % span.interval !== 0) continue;
      if (span.weeks?.has(spanWeek + 1) === false) continue;
    }
    if (except.has(day)) excepted++;
    else days.push(day);
  }
  return {
    days,
    texts: days.map((day) => formatInstant(day * DAY_MS).slice(0, 10)),
    excepted,
    joined: new Map(),
  };
}

/** Weeks as people write them: `1-6, 8-12`, `odd`, `[1, 2, 3]`. */

/** Which weeks of a term have lessons. All conditions that are not null must hold. */
export interface Weeks {
  /** The numbers of the weeks. */
  readonly numbers: ReadonlySet<number> | null;
  /** 1 for odd weeks, 0 for even ones. */
  readonly parity: number | null;
  /** Days since 1970-01-01, the weeks between two lessons, or the weeks counted from the first day. */
  readonly span: {
    readonly first: number;
    readonly last: number;
    readonly interval: number;
    readonly weeks: ReadonlySet<number> | null;
  } | null;
}

const ALL: Weeks = { numbers: null, parity: null, span: null };

/** Beginnings of the words for odd and even weeks. Add a language at the end of both lists. */
const PARITY_WORDS: readonly (readonly [words: RegExp, parity: number])[] = [
  [
    /(?<!\p{L})(?:odd|ungerade|impair|impar|dispari|oneven|nieparz|lich|непар|нечет|нечёт|udda|tek|אי)[\p{L}\p{Pd}]*|[单單奇][周週]?数?/u,
    1,
  ],
  [
    /(?<!\p{L})(?:even|gerade|paire?s?|par|pari|parz|sud|парн|чет|чёт|jämn|çift|זוגי)\p{L}*|[双雙偶][周週]?数?/u,
    0,
  ],
];
const WEEK_WORDS = /(?<!\p{L})(?:weeks?|wks?|weken|wochen?|semaines?|semanas?)(?!\p{L})\.?|[周週第]/gu;
/** A match begins only where white space begins, so that the search takes linear time. */
const DASH = /(?<!\s)\s*[\p{Pd}\u2212\uff5e~]\s*/gu;
/** `36 t/m 42`. */
const UNTIL = /(?<=\d)\s*(?<!\p{L})(?:t\/m|tot|bis|to|through|al?|à|au|do|до|по)(?!\p{L})\s*(?=\d)/gu;
/** `1-11/2` may be each second week, and `7+` all from the seventh on. */
const HAS_SEVERAL_MEANINGS = /-\d+\/\d|\d\+(?:[\s,;]|$)/;
const ITEM = /^(\d{1,4})(?:-(\d{1,4}))?$/;

/** @returns the weeks, or a clause on the fault */
export function parseWeeks(given: string): Weeks | string {
  const text = given.trim();
  if (isNothing(text)) return ALL;
  if (text.startsWith('[') || text.startsWith('{')) return weeksOfJson(text);
  const plain = normaliseText(text);
  if (plain === null) return `it ${textFault(text)}`;
  let rest = plain.toLowerCase();
  let parity: number | null = null;
  for (const [words, each] of PARITY_WORDS) {
    if (parity !== null || !words.test(rest)) continue;
    parity = each;
    rest = rest.replace(words, ' ');
  }
  rest = rest.replace(WEEK_WORDS, ' ').replace(/[()]/g, ' ').replace(UNTIL, '-').replace(DASH, '-').trim();
  if (rest === '' && parity !== null) return { ...ALL, parity };
  if (HAS_SEVERAL_MEANINGS.test(rest))
    return `${quoteEscaped(text)} has several meanings; expected weeks such as 1-6,8-12, or odd 1-11`;
  const numbers = numbersOf(rest.split(/[\s,;、，/+&]+/).filter((item) => item !== ''));
  return typeof numbers === 'string' ? numbers : { ...ALL, numbers, parity };
}

function numbersOf(items: readonly string[]): Set<number> | string {
  const numbers = new Set<number>();
  for (const item of items) {
    const [, first, last = first] = ITEM.exec(item) ?? [];
    if (first === undefined) return `${quoteEscaped(item)} is neither a week nor weeks such as 1-6 or odd`;
    if (Number(last) < Number(first)) return `${item} ends before it begins`;
    if (Number(first) === 0) return 'week 0 does not exist: weeks are counted from 1';
    if (Number(last) > TERM_WEEKS_MAX)
      return `week ${last} does not exist: expected at most ${TERM_WEEKS_MAX}`;
    for (let week = Number(first); week <= Number(last); week++) numbers.add(week);
  }
  return numbers.size === 0 ? 'it names no week' : numbers;
}

/** An array of weeks, or an object as NUSMods has: `{ "start": …, "end": …, "weekInterval": 2, "weeks": [1, 3] }`. */
function weeksOfJson(text: string): Weeks | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is neither weeks such as 1-6 nor JSON';
  }
  if (Array.isArray(value)) {
    if (value.length === 0) return ALL;
    if (!value.every((item) => typeof item === 'number' || typeof item === 'string'))
      return 'its items are neither numbers nor texts';
    return parseWeeks(value.join(','));
  }
  const { start, end, weekInterval = 1, weeks = [] } = value as Record<string, unknown>;
  const [first, last] = [start, end].map((date) => (typeof date === 'string' ? parseDate(date) : 'none'));
  if (typeof first !== 'number' || typeof last !== 'number')
    return 'an object of weeks needs start and end, which are dates such as 2026-09-28';
  if (last < first) return 'its end is before its start';
  const interval = Number(weekInterval);
  if (!(Number.isInteger(interval) && interval >= 1)) return 'its weekInterval is no whole number from 1';
  const counted = Array.isArray(weeks) && weeks.length > 0 ? numbersOf(weeks.map(String)) : null;
  if (typeof counted === 'string') return counted;
  return { ...ALL, span: { first: first / DAY_MS, last: last / DAY_MS, interval, weeks: counted } };
}
