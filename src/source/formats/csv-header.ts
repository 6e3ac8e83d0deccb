import { CSV_COLUMNS_MAX } from '../../limits.js';
import { FIELDS, type FieldName } from '../../model/fields.js';
import { SHOWN_CHARACTERS_MAX } from '../../model/text.js';
import { type FieldColumns, OWN_COLUMNS } from '../field-columns.js';
import { type NameSpans, spansOf } from '../name-spans.js';

const SERVED: ReadonlySet<string> = new Set(FIELDS.map(({ name }) => name));
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const DATE = /^\d{1,4}([./-])\d{1,2}\1\d{1,4}(?!\d)/;
const TIME = /^\d{1,2}[:.]\d\d(?::\d\d)?\s*(?:[ap]\.?m\.?)?$/i;
const NUMBER = /^-?\d+(?:[.,]\d+)?$/;

/** The columns of a CSV source, and records made of them. */
export class CsvHeader {
  readonly columns: readonly string[];
  /** The field of each column. Null if two columns have one field, because rows must then be decoded. */
  readonly fields: readonly (FieldName | null)[] | null;
  /** The columns that are listed as not served. */
  readonly names: NameSpans;
  readonly #blank: Readonly<Record<string, string | null>>;

  constructor(columns: readonly string[], fieldColumns: FieldColumns = OWN_COLUMNS) {
    this.columns = columns;
    const fields = columns.map((column) => fieldColumns.get(column) ?? null);
    const found = fields.filter((field) => field !== null);
    this.fields = new Set(found).size === found.length ? fields : null;
    this.names = spansOf(columns.filter((column) => !fieldColumns.has(column)));
    this.#blank = Object.fromEntries(columns.map((column) => [column, null]));
  }

  /**
   * @param texts one for each column
   * @param isQuoted whether a cell has quotes: without quotes, an empty cell is a missing value
   */
  recordOf(texts: readonly string[], isQuoted: (n: number) => boolean): Record<string, string | null> {
    const { columns } = this;
    const record = { ...this.#blank };
    for (let n = 0; n < columns.length; n++) {
      const text = texts[n] as string;
      if (text !== '' || isQuoted(n)) record[columns[n] as string] = text;
    }
    return record;
  }
}

/**
 * The names of the columns: a column without a name is called `column 5`; a repeated name becomes `Note (2)`.
 *
 * @param texts the first CSV_COLUMNS_MAX cells at most
 * @param count number of all cells
 * @returns the names, or why this is not a header
 */
export function readCsvHeader(
  texts: readonly string[],
  count: number,
): readonly string[] | { readonly problem: string } {
  if (count > CSV_COLUMNS_MAX) {
    return { problem: `the header has ${count} columns; expected at most ${CSV_COLUMNS_MAX}` };
  }
  const given = texts.map((text) => text.trim());
  const data = given.flatMap((name) => [UUID, DATE, TIME].flatMap((form) => form.exec(name)?.[0] ?? []))[0];
  if (data !== undefined || given.every((name) => NUMBER.test(name))) {
    const shown = JSON.stringify((data ?? given[0] ?? '').slice(0, SHOWN_CHARACTERS_MAX));
    return {
      problem: `it looks like data, not like a header: found ${shown}; expected the names of the columns`,
    };
  }
  const columns: string[] = [];
  const taken = new Set(given);
  const seen = new Set<string>();
  for (const [n, name] of given.entries()) {
    if (seen.has(name) && SERVED.has(name)) {
      const first = given.indexOf(name) + 1;
      return { problem: `columns ${first} and ${n + 1} are both called ${name}; expected different names` };
    }
    seen.add(name);
    const isFree = name !== '' && given.indexOf(name) === n;
    columns.push(isFree ? name : freeName(name, n, taken));
  }
  return columns;
}

function freeName(name: string, n: number, taken: Set<string>): string {
  const base = name === '' ? `column ${n + 1}` : name;
  let free = base;
  for (let number = 2; free === name || taken.has(free); number++) free = `${base} (${number})`;
  taken.add(free);
  return free;
}
