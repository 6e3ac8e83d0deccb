/** Days of the week as names and abbreviations in any language, letters and numbers. Monday is 0. */
import { MEETINGS_MAX, VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX } from '../../base/limits.js';
import { COMMON_LANGUAGES } from '../../base/model/local-time.js';
import type { WeeklyPattern } from '../../base/model/read-rules.js';
import { quoteEscaped } from '../../base/model/text.js';
import { DAY_MS } from '../../base/model/time.js';
import { TextMemo } from '../../base/structures/text-memo.js';

export const WEEKDAYS = [
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
  'Sunday',
] as const;

/** The letters of North American timetables, where R is Thursday and U is Sunday. */
const LETTERS = ['m', 't', 'w', 'r', 'f', 's', 'u'];
/** `Tu` and `Th` stand beside `MWF`. */
const LETTER_PAIRS = [null, 'tu', null, 'th', null, 'sa', 'su'];
/** TU and SU can be read in two ways, so the number of letters is bounded: seven days of two. */
const LETTER_WORDS = /^(?!.{15})(?:M|T[uhUH]?|W|R|F|S[auAU]?|U){2,}$/s;
const LETTER_WORD = /T[uhUH]|S[auAU]|[A-Z]/g;
/** Names that Intl does not give. */
const MORE_NAMES: Readonly<Record<string, readonly (readonly [name: string, day: number])[]>> = {
  pt: ['2', '3', '4', '5', '6'].flatMap((digit, day) => [
    [`${digit}ª`, day],
    [`${digit}ª feira`, day],
  ]),
  pl: [
    ['pn', 0],
    ['sr', 2],
    ['cz', 3],
    ['sb', 5],
    ['nd', 6],
    ['ndz', 6],
  ],
  zh: ['星期天', '周天', '天'].map((name) => [name, 6]),
};
const A_MONDAY_MS = Date.UTC(2024, 0, 1);
const PREFIX_UNITS_MIN = 2;
/** The longest name has 20 letters. Accents may take further units. */
const NAME_UNITS_MAX = 64;

/** What a text means, by its reading: a language, LETTERS_READING, or the number from which days are counted. */
export type Meanings = ReadonlyMap<string, number>;

const LETTERS_READING = 'letters';
const FROM_ZERO = '0';
const FROM_ONE = '1';

/** Such a name has other meanings in other languages, so it must be of the language of the other weekdays. */
const ONE_OR_TWO_LETTERS = /^\p{L}{1,2}\.?$/u;

type Names = Map<string, Map<string, number>>;

let commonNames: Names | null = null;
let allNames: Names | null = null;

/** Case, accents, full stops, apostrophes and hyphens do not count. */
function plainOf(text: string): string {
  return text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/[.'’ʼ׳`\u200e\u200f]/g, '')
    .replace(/[\p{Pd}\s]+/gu, ' ')
    .replaceAll('ı', 'i')
    .replaceAll('ł', 'l')
    .trim();
}

function namesOf(languages: readonly string[]): Names {
  const names: Names = new Map();
  for (const language of languages) {
    for (const [name, day] of namesIn(language)) {
      if (day === null) continue;
      const meanings = names.get(name) ?? new Map<string, number>();
      meanings.set(language, day);
      names.set(name, meanings);
    }
  }
  for (const [n, letter] of [...LETTERS, ...LETTER_PAIRS].entries()) {
    const meanings = names.get(letter ?? '') ?? new Map<string, number>();
    if (letter !== null) names.set(letter, meanings.set(LETTERS_READING, n % WEEKDAYS.length));
  }
  return names;
}

/** The names of a language, and all beginnings of its long names. Null: several days have the name. */
function namesIn(language: string): Map<string, number | null> {
  const names = new Map<string, number | null>();
  const [long, short, narrow] = (['long', 'short', 'narrow'] as const).map((weekday) => {
    const format = new Intl.DateTimeFormat(language, { weekday, timeZone: 'UTC' });
    return WEEKDAYS.map((_, day) => plainOf(format.format(A_MONDAY_MS + day * DAY_MS)));
  }) as [string[], string[], string[]];
  const add = (list: readonly (readonly [string, number])[]): void => {
    const added = new Map<string, number | null>();
    for (const [name, day] of list) {
      if (name === '' || names.has(name)) continue;
      const known = added.get(name);
      added.set(name, known === undefined || known === day ? day : null);
    }
    for (const [name, day] of added) names.set(name, day);
  };
  add([...long.entries(), ...short.entries()].map(([day, name]) => [name, day]));
  // In some languages all names begin with the word for "day".
  let shared = 0;
  while (long.every((name) => name.length > shared && name[shared] === long[0]?.[shared])) shared++;
  const bare = long.map((name) => name.slice(shared));
  add([
    ...[...bare.entries(), ...narrow.entries()].map(([day, name]) => [name, day] as const),
    ...(MORE_NAMES[language] ?? []),
  ]);
  add(
    [...long, ...bare].flatMap((name, n) =>
      Array.from({ length: Math.max(0, name.length - PREFIX_UNITS_MIN) }, (_, more) => [
        name.slice(0, PREFIX_UNITS_MIN + more),
        n % WEEKDAYS.length,
      ]),
    ),
  );
  return names;
}

function everyLanguage(): string[] {
  const letters = Array.from({ length: 26 }, (_, n) => String.fromCharCode(0x61 + n));
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  return Intl.DateTimeFormat.supportedLocalesOf(codes);
}

/**
 * The languages in which a name is looked up. `usual`: the common ones, and if none has it, all. A short name often means
 * something else in a language that few timetables have.
 */
type Scope = 'common' | 'usual' | 'every';

/** The meanings of one name; undefined if no language of the scope has it. */
function meaningsOf(text: string, scope: Scope = 'usual'): Meanings | undefined {
  if (text.length > NAME_UNITS_MAX) return undefined;
  const plain = plainOf(text);
  commonNames ??= namesOf(COMMON_LANGUAGES);
  const common = commonNames.get(plain);
  if (scope === 'common') return common;
  if (scope === 'usual' && (common !== undefined || !/^[\p{L}\p{M} ]{2,}$/u.test(plain))) return common;
  allNames ??= namesOf(everyLanguage());
  return allNames.get(plain);
}

/** Whether a text names weekdays in any language. Numbers are no names. */
export function namesWeekday(cell: string): boolean {
  return typeof daysOf(cell, undefined) !== 'string';
}

/** How many different weekdays texts name in one language; 0 if a text names none, or if the languages differ. */
export function countWeekdays(cells: readonly string[]): number {
  const days = cells.map((cell) => daysOf(cell, undefined));
  if (!days.every((each) => typeof each !== 'string')) return 0;
  const all = days.flat() as Meanings[];
  const shared = [...(all[0]?.keys() ?? [])].find((reading) =>
    all.every((meanings) => meanings.has(reading)),
  );
  return shared === undefined ? 0 : new Set(all.map((meanings) => meanings.get(shared))).size;
}

/** A cell may have days and times: `Mon 9:00-10:00 and Wed 9:00-10:00`. */
const TIMES = /\d{1,2}(?:[:.h]\d\d|h)(?: ?[ap]\.?m\.?(?!\p{L}))?/giu;
/** Not the letter of `2000-01-01T09:00`. */
const WORDS = /(?<![\p{L}\d])\p{L}[\p{L}\p{M}.'\u2019]*/gu;
const AND = new Set(['and', 'und', 'et', 'y', 'e', 'en', 'i', 'a', 'och', 've', 'и', 'і', 'та']);

/** Between the first and the last day of a range. */
const DASH = /(?<!\s)\s*[\p{Pd}\u2212~\uff5e\u301c]\s*/gu;
const RANGE_MARK = /-|(?<!\s)\s+(\S{1,7})\s+|[至到]|から/gu;
/** The same as words, by language: `do` and `to` are Thursday in others, and `a` is "and" in Czech. */
const RANGE_WORDS: Readonly<Record<string, string>> = {
  ...{ to: 'en', through: 'en', thru: 'en', until: 'en', till: 'en sv', bis: 'de', au: 'fr', al: 'es it' },
  ...{ a: 'fr es pt it', ate: 'pt', tot: 'nl', do: 'pl cs uk', до: 'uk ru', по: 'uk ru', עד: 'he' },
};
/** Two names and a word. */
const RANGE_UNITS_MAX = 2 * NAME_UNITS_MAX + 16;

/** Words of a time, and words between two times; `do` is also Thursday in Dutch and German. */
const TIME_WORDS = /^(?:[ap]\.?m\.?|h|uhr)$/i;
const BETWEEN_TIMES = /^(?:to|bis|until|till|à|tot|do|до)$/i;
const AFTER_TIME = /\d(?: ?(?:[ap]\.?m\.?|h|uhr))?\s*$/i;
const AFTER_RANGE = /\d\D{0,6}[\p{Pd}/~]\s*\d[\d:.h]*(?: ?(?:[ap]\.?m\.?|h|uhr))?\s*$/iu;
const RANGE_UNITS = 24;
/** Cells with days and times are short: MEETINGS_MAX of them have 700 characters. */
const CELL_UNITS_MAX = 1024;

/** The times of a cell that has days, too. */
export function withoutWeekdays(cell: string): string {
  if (cell.length > CELL_UNITS_MAX) return cell;
  let hasDays = false;
  const text = cell.replace(WORDS, (word, at: number) => {
    const before = cell.slice(Math.max(0, at - RANGE_UNITS), at);
    const isBetween = BETWEEN_TIMES.test(word) && AFTER_TIME.test(before) && !AFTER_RANGE.test(before);
    const isDay = !isBetween && !TIME_WORDS.test(word) && typeof daysOf(word, undefined) !== 'string';
    hasDays ||= isDay;
    const isPart = AND.has(word.toLowerCase()) || (!isBetween && Object.hasOwn(RANGE_WORDS, plainOf(word)));
    return isDay || isPart ? ';' : word;
  });
  // A match begins only where such characters begin, so that the search takes linear time.
  if (!hasDays) return cell;
  const times = text.replace(/;\s*[\p{Pd}\u2212~]\s*(?=;)/gu, ';');
  return times.replace(/(?<![\s,;])[\s,;]*;[\s,;]*/g, ';').replace(/^;|;$/g, '');
}

/** The days of a cell that has times, too. */
function withoutTimes(cell: string): string {
  if (cell.length > CELL_UNITS_MAX || !/\d[:.h]/i.test(cell) || !/\p{L}{2}|^\p{Lu}\s/u.test(cell))
    return cell;
  const text = cell
    .replace(TIMES, ';')
    .replace(/(?<!\p{L}\s?)[\p{Pd}\u2212~]+|[\p{Pd}\u2212~]+(?!\s?\p{L})/gu, ' ');
  return text.replace(/[\s,;]+/g, ' ');
}

/** The days of a cell such as `Mon`, `Mon, Wed`, `MWF` or `["Mon", "Wed"]`, or a clause on the fault. */
function daysOf(
  cell: string,
  dayOne: WeeklyPattern['dayOne'],
  scope: Scope = 'usual',
): readonly Meanings[] | string {
  const text = withoutTimes(cell).trim();
  if (LETTER_WORDS.test(text) && meaningsOf(text, 'common') === undefined) {
    const letters = (text.match(LETTER_WORD) ?? []).map((word) => meaningsOf(word) as Meanings);
    const days = letters.map((meanings) => meanings.get(LETTERS_READING) ?? meanings.get('en') ?? 0);
    if (days.every((day, n) => n === 0 || day > (days[n - 1] as number)))
      return days.map((day) => new Map([[LETTERS_READING, day]]));
  }
  const one = dayOf(text, dayOne, scope);
  if (typeof one !== 'string') return [one];
  const plain = text.replace(/(?<!\p{L})t\/m(?!\p{L})/giu, 'tot').replace(DASH, '-');
  const whole = rangeOf(plain, dayOne, scope);
  if (whole !== null) return whole;
  const words = plain.split(/[\s,;/+&|[\]"]+/).filter((word) => word !== '');
  if (words.length < 2 && !text.startsWith('[')) return one;
  if (words.length > MEETINGS_MAX) return `it has ${words.length} words; expected at most ${MEETINGS_MAX}`;
  const days: Meanings[] = [];
  for (let n = 0; n < words.length; n++) {
    const [before = '', word = '', after] = [words[n - 1], words[n], words[n + 1]];
    const isWithin = n > 0 && after !== undefined;
    const isRange = isWithin && Object.hasOwn(RANGE_WORDS, plainOf(word));
    const range = isRange ? rangeOf(`${before} ${word} ${after}`, dayOne, scope) : null;
    if (typeof range === 'string') return range;
    if (range !== null) {
      days.splice(-1, 1, ...range);
      n++;
      continue;
    }
    if (isWithin && AND.has(word.toLowerCase())) continue;
    const day = dayOf(word, dayOne, scope);
    const found = typeof day === 'string' ? rangeOf(word, dayOne, scope) : [day];
    if (found === null || typeof found === 'string') return found ?? one;
    const isOther = isRange && ![...(found[0]?.keys() ?? [])].some((reading) => days.at(-1)?.has(reading));
    if (isOther) return 'it is a range of days in no known language; expected each day by its name';
    days.push(...found);
  }
  return days.length === 0 ? 'it names no day' : days;
}

/** The days of `Mon-Fri` or `lunes a viernes`, or a clause on the fault; null for other texts. */
function rangeOf(text: string, dayOne: WeeklyPattern['dayOne'], scope: Scope): Meanings[] | string | null {
  if (text.length > RANGE_UNITS_MAX) return null;
  for (const mark of text.matchAll(RANGE_MARK)) {
    const word = mark[1] === undefined ? null : plainOf(mark[1]);
    if (word !== null && !Object.hasOwn(RANGE_WORDS, word)) continue;
    const languages = word === null ? null : RANGE_WORDS[word]?.split(' ');
    const first = dayOf(text.slice(0, mark.index), dayOne, scope);
    const last = dayOf(text.slice(mark.index + mark[0].length), dayOne, scope);
    if (typeof first === 'string' || typeof last === 'string') continue;
    const readings = [...first].filter(
      ([reading]) => last.has(reading) && (languages?.includes(reading) ?? true),
    );
    const counts = readings.map(([reading, day]) => (((last.get(reading) as number) - day + 7) % 7) + 1);
    if (new Set(counts).size > 1)
      return 'it is a range of other days in other languages; expected longer names';
    const days = Array.from({ length: counts[0] ?? 0 }, (_, n) => n);
    if (days.length > 0)
      return days.map((n) => new Map(readings.map(([reading, day]) => [reading, (day + n) % 7])));
  }
  return null;
}

function dayOf(text: string, dayOne: WeeklyPattern['dayOne'], scope: Scope): Meanings | string {
  if (!/^\d+$/.test(text)) return meaningsOf(text, scope) ?? 'it is no day of the week in any known language';
  if (dayOne === undefined)
    return 'it is a number: say which day is the first, with dayOne: monday or dayOne: sunday';
  const number = Number(text);
  if (number > 7) return 'days of the week are numbered from 0 to 6, or from 1 to 7';
  const first = dayOne === 'monday' ? 0 : 6;
  const meanings = new Map<string, number>();
  if (number <= 6) meanings.set(FROM_ZERO, (first + number) % 7);
  if (number >= 1) meanings.set(FROM_ONE, (first + number - 1) % 7);
  return meanings;
}

/**
 * Reads the weekdays of one source. `ma` is Monday in Dutch and Tuesday in French, and 1 may be the first or the second
 * day of the week: the other weekdays of the source tell which reading is meant.
 */
export class WeekdayReader {
  readonly #dayOne: WeeklyPattern['dayOne'];
  readonly #memo = new TextMemo<readonly Meanings[] | string>(VALUE_MEMO_ENTRIES_MAX, VALUE_MEMO_UNITS_MAX);
  /** The readings in which all weekdays so far have a meaning. */
  #readings: ReadonlySet<string> | null = null;
  #isEnded = false;

  /** @param readings that an earlier load of the source has found; none if it is the first load */
  constructor(dayOne: WeeklyPattern['dayOne'], readings: readonly string[]) {
    this.#dayOne = dayOne;
    if (readings.length > 0) this.#readings = new Set(readings);
  }

  get readings(): readonly string[] {
    return [...(this.#readings ?? [])];
  }

  /** What is not told from now on stays untold. */
  end(): void {
    this.#isEnded = true;
  }

  /** @returns the days, null if other weekdays must tell them first, or a clause on the fault */
  read(cell: string): readonly number[] | null | string {
    let days = this.#memo.get(cell);
    if (days === undefined) {
      days = daysOf(cell, this.#dayOne);
      this.#memo.set(cell, days);
    }
    if (typeof days === 'string') return days;
    const told: number[] = [];
    for (const [n, meanings] of days.entries()) {
      const meant = this.#isKnown(meanings) ? meanings : this.#everyMeaning(cell, n, meanings);
      if (!this.#isKnown(meant) && ONE_OR_TWO_LETTERS.test(cell.trim())) {
        const languages = [...meant.keys()].join(', ');
        return `it is a weekday in ${languages}, but the others are in ${this.readings.join(', ')}; expected a longer name`;
      }
      const day = this.#tell(meant);
      if (typeof day !== 'number') return day;
      told.push(day);
    }
    return told;
  }

  #isKnown(meanings: Meanings): boolean {
    return this.#readings === null || [...meanings.keys()].some((reading) => this.#readings?.has(reading));
  }

  /** Short names of a language that is not common, such as Hungarian V, if the other weekdays are in this language. */
  #everyMeaning(cell: string, n: number, usual: Meanings): Meanings {
    const days = daysOf(cell, this.#dayOne, 'every');
    const every = typeof days === 'string' ? undefined : days[n];
    return every !== undefined && this.#isKnown(every) ? every : usual;
  }

  #tell(meanings: Meanings): number | null | string {
    const known = this.#readings;
    const shared = known === null ? [...meanings.keys()] : [...meanings.keys()].filter((r) => known.has(r));
    const from = known?.has(FROM_ONE) ? 1 : known?.has(FROM_ZERO) ? 0 : null;
    if (shared.length === 0 && from !== null)
      return `other days are counted from ${from}; expected ${from} to ${from + 6}`;
    if (shared.length > 0 && shared.length !== known?.size) this.#readings = new Set(shared);
    const readings = shared.length === 0 ? [...meanings.keys()] : shared;
    const days = new Set(readings.map((reading) => meanings.get(reading) as number));
    const [day] = days;
    if (days.size === 1) return day as number;
    if (!this.#isEnded) return null;
    if (meanings.has(FROM_ONE)) {
      this.#readings = new Set([FROM_ONE]);
      return meanings.get(FROM_ONE) as number;
    }
    const listed = [...days].map((each) => {
      const languages = readings.filter((reading) => meanings.get(reading) === each);
      return `${WEEKDAYS[each]} (${languages.join(', ')})`;
    });
    return `it is ${listed.join(' or ')}; expected a name that has one meaning, such as ${quoteEscaped(WEEKDAYS[day as number] as string)}`;
  }
}
