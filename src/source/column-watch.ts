import { LecternError } from '../errors.js';
import { COLUMN_NAMES_KEPT_MAX, COLUMNS_MISSING_RECORDS } from '../limits.js';
import { suggest } from '../structures/suggest.js';

const NESTING_SHOWN_MAX = 4;
const NAMES_SHOWN_MAX = 40;
const NAME_UNITS_SHOWN = 60;

export interface WatchedColumn {
  readonly field: string;
  readonly column: string;
  /** No record without it can be served. */
  readonly isNeeded: boolean;
  /** Undefined: the record has no such column. */
  read(record: Readonly<Record<string, unknown>>): unknown;
}

/** Finds columns of a field map that no record has. */
export class ColumnWatch {
  readonly #sourceName: string;
  readonly #isFlat: boolean;
  #missing: readonly WatchedColumn[];
  #records = 0;
  readonly #present = new Set<string>();

  /** @param isFlat whether a record holds nothing but columns, so that dots are part of their names */
  constructor(sourceName: string, columns: readonly WatchedColumn[], isFlat: boolean) {
    this.#sourceName = sourceName;
    this.#isFlat = isFlat;
    this.#missing = columns;
  }

  get isDone(): boolean {
    return this.#missing.length === 0;
  }

  /** @throws LecternError once so many records lack a needed column that none may have it */
  look(record: Readonly<Record<string, unknown>>): void {
    this.#records++;
    this.#missing = this.#missing.filter((column) => column.read(record) === undefined);
    if (this.isDone) return;
    this.#note(record, '', 1);
    if (this.#records === COLUMNS_MISSING_RECORDS && this.#missing.some(({ isNeeded }) => isNeeded))
      this.check();
  }

  /** @throws LecternError `source-malformed` with the columns that are there, if there were records at all */
  check(): void {
    const [first] = this.#missing;
    if (first === undefined || this.#records === 0) return;
    const present = [...this.#present];
    const named = [...new Map(this.#missing.map(({ field, column }) => [column, field]))];
    const missing = named.map(([column, field]) => {
      const near = suggest(column, present);
      return `${quote(column)} (for ${field}${near === null ? '' : `; did you mean ${quote(near)}?`})`;
    });
    const shown = present.slice(0, NAMES_SHOWN_MAX).map(quote);
    if (present.length > shown.length) shown.push('…');
    throw new LecternError(
      'source-malformed',
      `${this.#sourceName}: the field map names ${missing.length === 1 ? 'a column that is' : 'columns that are'} not there: ` +
        `${missing.join(', ')}. The columns are ${shown.join(', ')}`,
    );
  }

  #note(value: unknown, prefix: string, depth: number): void {
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
    for (const [name, inner] of Object.entries(value)) {
      if (this.#present.size >= COLUMN_NAMES_KEPT_MAX) return;
      const isNested =
        !this.#isFlat && typeof inner === 'object' && inner !== null && depth < NESTING_SHOWN_MAX;
      if (isNested) this.#note(inner, `${prefix}${name}.`, depth + 1);
      else this.#present.add(prefix + name);
    }
  }
}

function quote(name: string): string {
  return JSON.stringify(name.length > NAME_UNITS_SHOWN ? `${name.slice(0, NAME_UNITS_SHOWN)}…` : name);
}
