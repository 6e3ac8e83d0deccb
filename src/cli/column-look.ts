import { LOOK_COLUMNS_MAX, LOOK_RECORDS_MAX } from '../base/limits.js';
import { digitsOf, parseIdentifier } from '../base/model/identifier.js';
import { parseClockTimes, partOfRange, readDate } from '../base/model/local-time.js';
import { parseWeeks } from '../source/pattern/term.js';
import { countWeekdays, namesWeekday, withoutWeekdays } from '../source/pattern/weekdays.js';
import type { Catalogue } from '../source/source.js';
import { type ColumnRole, certaintyOf, likeliest } from './column-names.js';

const SAMPLES = 3;
const SAMPLE_UNITS_MAX = 60;
const DEPTH_MAX = 4;
const LIST_ITEMS_MAX = 100;
/** Parts the name of a list from the path within its objects. */
const EACH = '\0';
/** The least share of a column's values that must look alike. */
const SHARE_MIN = 0.9;

/** How the values of a column look. */
export type ColumnForm =
  | 'uuid'
  | 'instant'
  | 'local'
  | 'date'
  | 'span'
  | 'clock'
  | 'clocks'
  | 'weekdays'
  | 'weeks'
  | 'number'
  | 'text';

/** The forms of single values. Ranges, weekdays and weeks show only in all values of a column. */
const FORMS: Readonly<
  Record<Exclude<ColumnForm, 'text' | 'span' | 'clocks' | 'weekdays' | 'weeks'>, RegExp>
> = {
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  instant: /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?\s?(?:[Zz]|[+-]\d\d:?\d\d)$/,
  local:
    /^\d{1,4}([./-])\d{1,2}\1\d{1,4}(?:[Tt]|,? +)\d{1,2}[:.h]\d\d(?:[:.]\d\d)?(?:\.\d+)?\s?(?:[ap]\.?m\.?)?$/i,
  date: /^\d{1,4}([./-])\d{1,2}\1\d{1,4}$/,
  clock: /^\d{1,2}(?:[:.]\d\d(?:[:.]\d\d)?\s?(?:[ap]\.?m\.?|h|uhr)?|\s?h(?:\s?\d\d)?)$/i,
  number: /^-?\d+(?:[.,]\d+)?$/,
};

const FORM_NAMES = Object.keys(FORMS) as (keyof typeof FORMS)[];
/** More distinct values are no days of the week, alone or several in a cell. */
const WEEKDAY_VALUES_MAX = 60;
/** In a column with the name of weekdays, the least share of distinct values that name some, and how many differ. */
const WEEKDAYS_SHARE_MIN = 0.8;
const WEEKDAYS_MIN = 3;

type Likeness = 'room' | 'code' | 'person' | 'title' | 'section';

/** What values may be, told by their look. */
const LIKENESSES: Readonly<Record<Likeness, RegExp>> = {
  /** `B203`, `AA 2.25`, `Room 3`. */
  room: /^(?=.{1,24}$)(?=.*\d)[\p{L}\d][\p{L}\d .,\-/_&()]*$/u,
  /** `BLG 101E`, `MATH-101`. */
  code: /^\p{Lu}{2,6}[ _-]?\d{3,5}\p{Lu}?$/u,
  /** `Dr. Ada Byron`, `Byron, A.`. */
  person:
    /^(?:\p{L}+\.\s?)*\p{Lu}[\p{L}'\u2019-]*\.?(?:,?\s+(?:(?:v[ao]n|de[lnr]?|d[aiou]s?|l[ae]|al|bin)\s+){0,2}\p{Lu}[\p{L}'\u2019-]*\.?){1,4}$/u,
  /** Several words, or one long word. */
  title: /^(?=.*\p{L}{3})(?!.*\d{3}).{8,}$/u,
  /** `01`, `A`: a part of a course. */
  section: /^(?:\d{1,3}|\p{Lu})$/u,
};
/** Texts between several values in one cell. */
const SEPARATORS = [';', '\n', '|', ',', ' / ', '/', ' + ', ' & '];
/** Those that are within no name. */
const LIST_SEPARATORS: readonly string[] = [';', '\n', '|', ','];
/** `E1`, `CS-204b`: several in one cell are a list, even if none occurs in another cell. */
const NUMBERED = /^\p{L}{1,6}[.-]?\d{1,5}\p{L}?$/u;
/** The least share of values that are part of several cells. */
const SHARED_MIN = 0.5;

/** A column of the first records: how its values look. */
export type LookedColumn = Readonly<Omit<Column, 'add'>>;

/** The column that most likely has a role; a later role counts only if no column has an earlier one. */
export function best(
  columns: readonly LookedColumn[],
  ...roles: readonly ColumnRole[]
): LookedColumn | undefined {
  for (const role of roles) {
    const found = likeliest(columns, ({ name }) => certaintyOf(name, role));
    if (found !== undefined) return found;
  }
  return undefined;
}

export function without(
  columns: readonly LookedColumn[],
  ...taken: readonly (LookedColumn | undefined)[]
): readonly LookedColumn[] {
  return columns.filter((column) => !taken.includes(column));
}

export function present<Item>(...items: readonly (Item | undefined)[]): Item[] {
  return items.filter((item) => item !== undefined);
}

/**
 * The columns of starts and of ends: by their names or, if there are only two, by their order.
 *
 * @param usual the start, if no column has such a name
 */
export function pairOf(
  columns: readonly LookedColumn[],
  usual?: LookedColumn,
): readonly [start: LookedColumn | undefined, end: LookedColumn | undefined] {
  const two = columns.length === 2 ? columns : [];
  const start = best(columns, 'start') ?? usual ?? two[0];
  return [start, best(without(columns, start), 'end') ?? without(two, start)[0]];
}

/** Whether values are dates with times of day. */
export function isMoment({ form }: LookedColumn): boolean {
  return form === 'instant' || form === 'local';
}

/** A length such as `1h30` looks like a time of day. */
export function isLength({ name }: LookedColumn): boolean {
  const certainty = certaintyOf(name, 'duration');
  return certainty > Math.max(certaintyOf(name, 'start'), certaintyOf(name, 'end'));
}

export function looksLike(likeness: Likeness, value: string): boolean {
  return LIKENESSES[likeness].test(value);
}

/** The share of a column's distinct values that look like something. */
export function likenessOf({ values }: LookedColumn, likeness: Likeness): number {
  const like = values.filter((value) => looksLike(likeness, value)).length;
  return values.length === 0 ? 0 : like / values.length;
}

/** The text between several values in the cells of a column, some of which occur alone or in other cells, or all of which are numbered; null if there is none. */
export function separatorOf({ values, isList }: LookedColumn, isPerson = false): string | null {
  if (isList) return null;
  for (const separator of SEPARATORS) {
    const cells = values.map((value) => partsOf(value, separator));
    const several = cells.filter((parts) => parts.length > 1);
    if (several.length === 0) continue;
    // `Byron, Ada` is one person.
    if (isPerson && separator === ',' && several.flat().some((part) => !LIKENESSES.person.test(part)))
      continue;
    const uses = new Map<string, number>();
    for (const part of cells.flat()) uses.set(part, (uses.get(part) ?? 0) + 1);
    const parts = several.flat();
    const shared = parts.filter((part) => (uses.get(part) ?? 0) > 1).length;
    const areNumbered = LIST_SEPARATORS.includes(separator) && parts.every((part) => NUMBERED.test(part));
    if (areNumbered || shared >= SHARED_MIN * parts.length) return separator;
  }
  return null;
}

function partsOf(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** The common form of a column's dates. */
interface DateParts {
  /** The separator of day, month and year. */
  readonly mark: string;
  readonly yearFirst: boolean;
  /** The largest first and second part. */
  readonly firstMax: number;
  readonly secondMax: number;
}

class Column {
  /** The name in a field map; a path if the value is in a nested object. */
  readonly name: string;
  /** The path within the objects of a list; null without objects. */
  readonly each: string | null;
  /** Inspected records that have a value. */
  records = 0;
  form: ColumnForm = 'text';
  /** Whether all values are texts. A field of text refuses numbers. */
  isText = true;
  /** Whether `--identifiers any` takes all values as they are. */
  isIdentifier = true;
  /** UTF-16 units of the longest value, at most 240. */
  unitsMax = 0;
  hasAmPm = false;
  /** Whether values are lists. */
  isList = false;
  dates: DateParts | null = null;
  /** Distinct values. */
  readonly values: string[] = [];
  /** The last value of each record, by its number. */
  readonly rows: Map<number, string> = new Map();
  readonly #seen = new Set<string>();
  #marks = 0;
  readonly #forms = new Map<ColumnForm, number>();

  constructor(path: string) {
    const [name = '', each = null] = path.split(EACH);
    this.name = name;
    this.each = each;
  }

  /** Whether all values differ. */
  get isUnique(): boolean {
    return this.values.length === this.records && this.records > 0;
  }

  get samples(): readonly string[] {
    return this.values
      .slice(0, SAMPLES)
      .map((text) => (text.length > SAMPLE_UNITS_MAX ? `${text.slice(0, SAMPLE_UNITS_MAX)}\u2026` : text));
  }

  /** The form of nearly all values, or one that shows only in all values together. */
  get commonForm(): ColumnForm {
    const [form = 'text', most = 0] = [...this.#forms].sort(([, a], [, b]) => b - a)[0] ?? [];
    return most >= SHARE_MIN * (this.records - this.#marks) && form !== 'text'
      ? form
      : formOfAll(this.values, certaintyOf(this.name, 'weekday') > 0);
  }

  add(given: unknown, value: string, record: number): void {
    this.records++;
    this.rows.set(record, value);
    if (!this.#seen.has(value)) {
      this.#seen.add(value);
      this.values.push(value);
    }
    this.unitsMax = Math.max(this.unitsMax, value.length);
    if (typeof given !== 'string') this.isText = false;
    const identifier = typeof given === 'string' ? parseIdentifier(value, 'any', 'id') : digitsOf(given);
    if (identifier === null) this.isIdentifier = false;
    if (isMark(value)) {
      this.#marks++;
      return;
    }
    const form = FORM_NAMES.find((name) => FORMS[name].test(value)) ?? namedDateForm(value);
    this.#forms.set(form, (this.#forms.get(form) ?? 0) + 1);
    if (form === 'clock' || form === 'local') this.hasAmPm ||= /m\.?$/i.test(value);
    if (form !== 'date' && form !== 'local' && form !== 'span') return;
    const [, first, mark = '', second] = /^(?:\p{L}+\.?,? +)?(\d+)([./-])(\d+)/u.exec(value) ?? [];
    if (first === undefined) return;
    this.dates = {
      mark: this.dates?.mark ?? mark,
      yearFirst: this.dates?.yearFirst ?? first.length === 4,
      firstMax: Math.max(this.dates?.firstMax ?? 0, Number(first)),
      secondMax: Math.max(this.dates?.secondMax ?? 0, Number(second)),
    };
  }
}

/** Inspects the first records of a source, before normalisation. */
export class ColumnLook {
  records = 0;
  readonly #columns = new Map<string, Column>();
  #forms: Catalogue['forms'] = new Map();
  /** The keys of a database, with the distinct values of each. */
  #keys: readonly { readonly columns: readonly string[]; readonly distinct: Set<string> }[] = [];

  /** @returns whether to inspect more records */
  readonly record = (value: unknown): boolean => {
    if (this.records >= LOOK_RECORDS_MAX) return false;
    this.records++;
    this.#look('', value, 0);
    for (const { columns, distinct } of this.#keys)
      distinct.add(JSON.stringify(columns.map((column) => (value as Record<string, unknown>)[column])));
    return this.records < LOOK_RECORDS_MAX;
  };

  /** @param catalogue what a database says about the rows, before the first record */
  readonly describe = ({ forms, keys }: Catalogue): void => {
    this.#forms = forms;
    const all = [...keys, [...new Set(keys.flat())]].sort((a, b) => a.length - b.length);
    this.#keys = all.map((columns) => ({ columns, distinct: new Set() }));
  };

  /**
   * The columns whose values together identify a record: a primary key or, if the rows join several tables, the keys
   * of several. Empty if no keys identify a record.
   */
  get key(): readonly string[] {
    return this.#keys.find(({ distinct }) => distinct.size === this.records)?.columns ?? [];
  }

  get columns(): LookedColumn[] {
    return [...this.#columns].map(([path, column]) => {
      column.form = this.#forms.get(path) ?? column.commonForm;
      return column;
    });
  }

  #look(path: string, value: unknown, depth: number): void {
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)) {
      if (depth > DEPTH_MAX || value instanceof Date) return;
      for (const [name, inner] of Object.entries(value))
        this.#look(path === '' ? name : `${path}.${name}`, inner, depth + 1);
      return;
    }
    if (path === '') return;
    if (Array.isArray(value)) {
      if (depth > DEPTH_MAX) return;
      for (const item of value.slice(0, LIST_ITEMS_MAX)) this.#lookInList(path, item);
      return;
    }
    this.#add(path, value, false);
  }

  #lookInList(path: string, item: unknown): void {
    if (typeof item !== 'object' || item === null) {
      this.#add(path, item, true);
      return;
    }
    if (path.includes(EACH) || Array.isArray(item) || ArrayBuffer.isView(item)) return;
    for (const [name, inner] of Object.entries(item))
      if (typeof inner !== 'object') this.#add(`${path}${EACH}${name}`, inner, true);
  }

  #add(path: string, value: unknown, isItem: boolean): void {
    if (!this.#columns.has(path) && this.#columns.size >= LOOK_COLUMNS_MAX) return;
    const column = this.#columns.get(path) ?? new Column(path);
    this.#columns.set(path, column);
    const text = textOf(value);
    if (text === '') return;
    column.isList ||= isItem;
    column.add(value, text, this.records);
  }
}

/** The form of a date that begins with a weekday, whose month has a name, or that a start and an end follow. */
function namedDateForm(value: string): ColumnForm {
  if ((['dmy', 'mdy', 'ymd'] as const).some((order) => partOfRange(value, order, 'end') !== null))
    return 'span';
  const date = /\d/.test(value) ? readDate(value, 'dmy') : '';
  if (typeof date === 'string') return 'text';
  if (date.length === value.length) return 'date';
  const rest = value.slice(date.length).replace(/^(?:[Tt]|,? +)/, '');
  return FORMS.clock.test(rest) ? 'local' : 'text';
}

/** What stands for no value: `--`, `n/a`, `TBA` for what is to be announced, and `\N` in exports of databases. */
export function isMark(value: string): boolean {
  return /^(?:[-\u2013\u2014]+|n\/a|tb[acd]|\\N)$/i.test(value);
}

/** Whether all times of a cell are ranges. */
function isTimeRange(value: string): boolean {
  if (!/\d/.test(value) || value.length > SAMPLE_UNITS_MAX) return false;
  const times = parseClockTimes(value);
  return typeof times !== 'string' && times.every(({ end }) => end !== null);
}

/** Whether a cell has ranges beside its days: `Mon 9:00-10:00`. */
export function hasTimeBesideDay(value: string): boolean {
  if (!/\d[:.h]/i.test(value)) return false;
  const times = withoutWeekdays(value);
  return times !== value && isTimeRange(times);
}

/** Whether few of the values name no weekday, as `Sonnabend` does. */
function areMostlyWeekdays(values: readonly string[]): boolean {
  const days = values.filter(namesWeekday);
  return days.length >= WEEKDAYS_SHARE_MIN * values.length && countWeekdays(days) >= WEEKDAYS_MIN;
}

/** The form that shows only in all values together. */
function formOfAll(values: readonly string[], isNamedDay: boolean): ColumnForm {
  if (values.length === 0) return 'text';
  const given = values.filter((value) => !isMark(value));
  if (given.length > 0 && given.every(isTimeRange)) return 'clocks';
  const isFew = given.length > 0 && given.length <= WEEKDAY_VALUES_MAX;
  if ((isFew || given.some(hasTimeBesideDay)) && countWeekdays(given) > 0) return 'weekdays';
  if (isFew && isNamedDay && areMostlyWeekdays(given)) return 'weekdays';
  const areWeeks = given.length > 0 && given.every((value) => typeof parseWeeks(value) !== 'string');
  return areWeeks ? 'weeks' : 'text';
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value.slice(0, 4 * SAMPLE_UNITS_MAX);
  // The value is an empty list, or bytes of MessagePack.
  if (typeof value === 'object') return '';
  return String(value);
}
