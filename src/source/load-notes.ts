import type { PatternNotes } from '../base/model/read-rules.js';
import type { AmbiguousTimes } from '../base/model/zone.js';
import { type ColumnReport, type ColumnWatch, checkColumns, joinReports } from './column-watch.js';

/** Notes as plain data, stored with a copy of records. */
export interface NotesReport {
  readonly ambiguousTimes: Readonly<AmbiguousTimes>;
  /** The column reports by format. */
  readonly columns: ReadonlyMap<string, ColumnReport>;
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
    const columns = new Map([...this.#watches].map(([format, watch]) => [format, watch.report()]));
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
    for (const [format, report] of columns) {
      const known = this.#added.get(format);
      this.#added.set(format, known === undefined ? report : joinReports(known, report));
    }
  }

  /** @throws LecternError `source-malformed` if a field map names a column that no record had */
  checkColumns(): void {
    for (const report of this.report().columns.values()) checkColumns(report);
    for (const report of this.#added.values()) checkColumns(report);
  }
}
