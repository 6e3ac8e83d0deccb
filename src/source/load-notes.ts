import type { AmbiguousTimes } from '../model/zone.js';
import type { ColumnWatch } from './column-watch.js';

/** What is told of a load besides its records. All sources and pages of one load share it. */
export class LoadNotes {
  readonly ambiguousTimes: AmbiguousTimes = { gaps: 0, overlaps: 0 };
  readonly #watches = new Map<string, ColumnWatch>();

  /** The watch of one format, for all sources of that format together. */
  watchOf(format: string, make: () => ColumnWatch): ColumnWatch {
    let watch = this.#watches.get(format);
    if (watch === undefined) {
      watch = make();
      this.#watches.set(format, watch);
    }
    return watch;
  }

  /** @throws LecternError `source-malformed` if a field map names a column that no record had */
  checkColumns(): void {
    for (const watch of this.#watches.values()) watch.check();
  }
}
