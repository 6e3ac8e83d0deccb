import { CELL } from '../metrics/cells.js';
import type { Meter } from '../metrics/meter.js';
import type { ViewSource } from '../view/view-source.js';

const NONE = { bytes: 0, hits: 0, misses: 0 };

/** Counts what the rows that are laid side by side are good for. Each snapshot has its own, so its counts begin anew. */
export function meterRows(meter: Meter, views: ViewSource): void {
  meter.onSample(() => meter.set(CELL.rowBytes, views.view?.rowCache.bytes ?? 0));
  meter.onSampleOfCounts(() => {
    const { hits, misses } = views.view?.rowCache ?? NONE;
    return [
      [CELL.rowHits, hits],
      [CELL.rowMisses, misses],
    ];
  });
}
