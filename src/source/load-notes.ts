import { LecternError } from '../base/errors.js';
import { COLUMN_NAMES_KEPT_MAX } from '../base/limits.js';
import type { PatternNotes } from '../base/model/read-rules.js';
import { suggest } from '../base/model/suggest.js';
import type { AmbiguousTimes } from '../base/model/zone.js';

/** Notes as plain data, stored with a copy of records. */
export interface NotesReport {
  readonly ambiguousTimes: Readonly<AmbiguousTimes>;
  /** The column reports by format. */
  readonly columns: Readonly<Record<string, ColumnReport>>;
  /** Absent without weekly patterns. */
  readonly patterns?: Readonly<PatternNotes>;
}

/** Notes on a load besides its records. All sources and pages of one load share them. */
export class LoadNotes {
  readonly ambiguousTimes: AmbiguousTimes = { gaps: 0, overlaps: 0 };
  readonly patterns: PatternNotes = { records: 0, events: 0, excepted: 0, readings: [] };
  readonly #watches = new Map<string, ColumnWatch>();
  readonly #added = new Map<string, ColumnReport>();

  /** The column watch of one format, for all its sources. */
  watchOf(format: string, make: () => ColumnWatch): ColumnWatch {
    let watch = this.#watches.get(format);
    if (watch === undefined) {
      watch = make();
      this.#watches.set(format, watch);
    }
    return watch;
  }

  /** The notes, without the columns of added parts. */
  report(): NotesReport {
    const columns = Object.fromEntries([...this.#watches].map(([format, watch]) => [format, watch.report()]));
    const { patterns } = this;
    return {
      ambiguousTimes: { ...this.ambiguousTimes },
      columns,
      ...(patterns.records === 0 ? {} : { patterns: { ...patterns } }),
    };
  }

  /** Adds the notes of a separately loaded part. */
  add({ ambiguousTimes: { gaps, overlaps }, columns, patterns }: NotesReport): void {
    this.ambiguousTimes.gaps += gaps;
    this.ambiguousTimes.overlaps += overlaps;
    if (patterns !== undefined) {
      this.patterns.records += patterns.records;
      this.patterns.events += patterns.events;
      this.patterns.excepted += patterns.excepted;
      if (this.patterns.readings.length === 0) this.patterns.readings = patterns.readings;
    }
    for (const [format, report] of Object.entries(columns)) {
      const known = this.#added.get(format);
      this.#added.set(format, known === undefined ? report : joinReports(known, report));
    }
  }

  /** @throws LecternError `source-malformed` if a field map names a column that no record had */
  checkColumns(): void {
    for (const report of Object.values(this.report().columns)) checkColumns(report);
    for (const report of this.#added.values()) checkColumns(report);
  }
}

/**
 * A load fails after this many records of a format if all of them lack the column of time, or all lack the
 * column of endTime.
 */
const COLUMNS_MISSING_RECORDS = 1000;

const NESTING_SHOWN_MAX = 4;
const NAMES_SHOWN_MAX = 40;
const NAME_UNITS_SHOWN = 60;

interface MappedColumn {
  readonly field: string;
  readonly column: string;
  /** Where the timetable file names the column. */
  readonly place?: string | undefined;
}

export interface WatchedColumn extends MappedColumn {
  /** Records without this column cannot be served. */
  readonly isNeeded: boolean;
  /** Undefined if the record has no such column. */
  read(record: Readonly<Record<string, unknown>>): unknown;
}

/** Plain data. */
export interface ColumnReport {
  readonly sourceName: string;
  readonly records: number;
  /** Columns of the map that all records lacked. */
  readonly missing: readonly MappedColumn[];
  /** Columns of the first records, if some of these records lacked a mapped column. */
  readonly present: readonly string[];
}

/** Finds columns of a field map that no record has. */
export class ColumnWatch {
  readonly #sourceName: string;
  readonly #isFlat: boolean;
  #missing: readonly WatchedColumn[];
  #records = 0;
  readonly #present = new Set<string>();

  /** @param isFlat whether records have only columns; dots are then part of the names */
  constructor(sourceName: string, columns: readonly WatchedColumn[], isFlat: boolean) {
    this.#sourceName = sourceName;
    this.#isFlat = isFlat;
    this.#missing = columns;
  }

  get isDone(): boolean {
    return this.#missing.length === 0;
  }

  /** @throws LecternError if all of the first records lack a needed column */
  look(record: Readonly<Record<string, unknown>>): void {
    this.#records++;
    if (this.#missing.some((column) => column.read(record) !== undefined))
      this.#missing = this.#missing.filter((column) => column.read(record) === undefined);
    if (this.isDone || this.#records > COLUMNS_MISSING_RECORDS) return;
    this.#note(record, '', 1);
    if (this.#records === COLUMNS_MISSING_RECORDS && this.#missing.some(({ isNeeded }) => isNeeded))
      checkColumns(this.report());
  }

  report(): ColumnReport {
    return {
      sourceName: this.#sourceName,
      records: this.#records,
      missing: this.#missing.map(({ field, column, place }) => ({ field, column, place })),
      present: [...this.#present],
    };
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

/** Combines the notes on two sets of records. */
function joinReports(one: ColumnReport, other: ColumnReport): ColumnReport {
  if (one.records === 0) return other;
  if (other.records === 0) return one;
  const missingToo = new Set(other.missing.map(({ column }) => column));
  return {
    sourceName: one.sourceName,
    records: one.records + other.records,
    missing: one.missing.filter(({ column }) => missingToo.has(column)),
    present: [...new Set([...one.present, ...other.present])].slice(0, COLUMN_NAMES_KEPT_MAX),
  };
}

/** @throws LecternError `source-malformed` with the existing columns, if there were records but a column was missing */
export function checkColumns({ sourceName, records, missing, present }: ColumnReport): void {
  if (missing.length === 0 || records === 0) return;
  const named = [...new Map(missing.map((each) => [each.column, each])).values()];
  const listed = named.map(({ column, field, place }) => {
    const near = suggest(column, present);
    const at = place === undefined ? '' : `, at ${place}`;
    return `${quote(column)} (for ${field}${at}${near === null ? '' : `; did you mean ${quote(near)}?`})`;
  });
  const shown = present.slice(0, NAMES_SHOWN_MAX).map(quote);
  if (present.length > shown.length) shown.push('…');
  throw new LecternError(
    'source-malformed',
    `${sourceName}: the field map names ${named.length === 1 ? 'a column that does' : 'columns that do'} not exist: ` +
      `${listed.join(', ')}. The columns are ${shown.join(', ')}`,
  );
}

function quote(name: string): string {
  return JSON.stringify(name.length > NAME_UNITS_SHOWN ? `${name.slice(0, NAME_UNITS_SHOWN)}…` : name);
}
