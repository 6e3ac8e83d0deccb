/** Weeks as people write them: `1-6, 8-12`, `odd`, `[1, 2, 3]`. */
import { TERM_WEEKS_MAX } from '../../base/limits.js';
import { normaliseText, quoteEscaped, textFault } from '../../base/model/text.js';
import { DAY_MS, parseDate } from '../../base/model/time.js';
import { isNothing } from '../map-value.js';

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
const DASH = /(?<!\s)\s*[\p{Pd}\u2212~]\s*/gu;
/** `36 t/m 42`. */
const UNTIL = /(?<=\d)\s*(?<!\p{L})(?:t\/m|tot|bis|to|through|al?|à|au|do|до|по)(?!\p{L})\s*(?=\d)/gu;
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
