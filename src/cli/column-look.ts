import { LOOK_COLUMNS_MAX, LOOK_RECORDS_MAX } from '../limits.js';
import { digitsOf, parseIdentifier } from '../model/identifier.js';
import type { Catalogue } from '../source/source.js';

const SAMPLES = 3;
const SAMPLE_UNITS_MAX = 60;
const DEPTH_MAX = 4;
/** The least share of a column's values that must look alike. */
const SHARE_MIN = 0.9;

/** How the values of a column look. */
export type ColumnForm =
  | 'uuid'
  | 'instant'
  | 'local'
  | 'date'
  | 'clock'
  | 'clocks'
  | 'weekdays'
  | 'number'
  | 'text';

const FORMS: Readonly<Record<Exclude<ColumnForm, 'text'>, RegExp>> = {
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  instant: /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?\s?(?:[Zz]|[+-]\d\d:?\d\d)$/,
  local:
    /^\d{1,4}([./-])\d{1,2}\1\d{1,4}(?:[Tt]|,? +)\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:\.\d+)?\s?(?:[ap]\.?m\.?)?$/i,
  date: /^\d{1,4}([./-])\d{1,2}\1\d{1,4}$/,
  clock: /^\d{1,2}[:.]\d\d(?:[:.]\d\d)?\s?(?:[ap]\.?m\.?)?$/i,
  clocks: /^\d{1,2}[:.]\d\d\s?(?:[ap]\.?m\.?)?\s?(?:-|\u2013|to|bis)\s?\d{1,2}[:.]\d\d\s?(?:[ap]\.?m\.?)?$/i,
  weekdays:
    /^(?:[MTWRFSU]{1,7}|(?:mo|di|mi|do|fr|sa|so|tu|we|th|su|lu|ma|me|je|ve)\.?|\p{L}{2,4}day|\p{L}+tag|mittwoch|lundi|mardi|mercredi|jeudi|vendredi|samedi|lunes|martes|mi\u00e9rcoles|jueves|viernes)$/iu,
  number: /^-?\d+(?:[.,]\d+)?$/,
};

const FORM_NAMES = Object.keys(FORMS) as (keyof typeof FORMS)[];

export interface LookedColumn {
  /** The name in a field map; a path if the value is in a nested object. */
  readonly name: string;
  /** Inspected records that have a value. */
  readonly records: number;
  readonly form: ColumnForm;
  /** Whether all values differ. */
  readonly isUnique: boolean;
  /** Whether all values are texts. A field of text refuses numbers. */
  readonly isText: boolean;
  /** Whether `--identifiers any` takes all values as they are. */
  readonly isIdentifier: boolean;
  /** UTF-16 units of the longest value, at most 240. */
  readonly unitsMax: number;
  readonly hasAmPm: boolean;
  readonly dates: DateParts | null;
  readonly samples: readonly string[];
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

class ColumnValues {
  count = 0;
  readonly forms = new Map<ColumnForm, number>();
  readonly distinct = new Set<string>();
  isText = true;
  isIdentifier = true;
  unitsMax = 0;
  hasAmPm = false;
  dates: { mark: string; yearFirst: boolean; firstMax: number; secondMax: number } | null = null;

  add(given: unknown, value: string): void {
    this.count++;
    this.distinct.add(value);
    this.unitsMax = Math.max(this.unitsMax, value.length);
    if (typeof given !== 'string') this.isText = false;
    const identifier = typeof given === 'string' ? parseIdentifier(value, 'any', 'id') : digitsOf(given);
    if (identifier === null) this.isIdentifier = false;
    const form = FORM_NAMES.find((name) => FORMS[name].test(value)) ?? 'text';
    this.forms.set(form, (this.forms.get(form) ?? 0) + 1);
    if (form === 'clock' || form === 'local') this.hasAmPm ||= /m\.?$/i.test(value);
    if (form !== 'date' && form !== 'local') return;
    const [, first = '', mark = '', second = ''] = /^(\d+)([./-])(\d+)/.exec(value) ?? [];
    this.dates ??= { mark, yearFirst: first.length === 4, firstMax: 0, secondMax: 0 };
    this.dates.firstMax = Math.max(this.dates.firstMax, Number(first));
    this.dates.secondMax = Math.max(this.dates.secondMax, Number(second));
  }
}

/** Inspects the first records of a source, before normalisation. */
export class ColumnLook {
  records = 0;
  readonly #columns = new Map<string, ColumnValues>();
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
    return [...this.#columns].map(([name, values]) => {
      const { count, dates, distinct, forms, hasAmPm, isIdentifier, isText, unitsMax } = values;
      const [form = 'text', most = 0] = [...forms].sort(([, a], [, b]) => b - a)[0] ?? [];
      return {
        name,
        records: count,
        form: this.#forms.get(name) ?? (most >= SHARE_MIN * count && count > 0 ? form : 'text'),
        isUnique: distinct.size === count && count > 0,
        isText,
        isIdentifier,
        unitsMax,
        hasAmPm,
        dates,
        samples: [...distinct].slice(0, SAMPLES).map((sample) => cut(sample)),
      };
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
    // The first element stands for all elements, because a field map can name it.
    if (Array.isArray(value) && value.length > 0) {
      if (depth <= DEPTH_MAX) this.#look(`${path}.0`, value[0], depth + 1);
      return;
    }
    let values = this.#columns.get(path);
    if (values === undefined) {
      if (this.#columns.size >= LOOK_COLUMNS_MAX) return;
      values = new ColumnValues();
      this.#columns.set(path, values);
    }
    const text = textOf(value);
    if (text !== '') values.add(value, text);
  }
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value.slice(0, 4 * SAMPLE_UNITS_MAX);
  // The value is an empty list, or bytes of MessagePack.
  if (typeof value === 'object') return '';
  return String(value);
}

function cut(text: string): string {
  return text.length > SAMPLE_UNITS_MAX ? `${text.slice(0, SAMPLE_UNITS_MAX)}\u2026` : text;
}
