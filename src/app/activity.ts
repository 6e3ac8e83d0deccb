import type { Refusal, RefusalCode } from '../refresh/gate.js';
import type { LoadResult } from '../refresh/keeper.js';

export interface Announcer {
  on(name: 'loaded', listener: (event: { readonly result: LoadResult }) => void): unknown;
  on(name: 'refused', listener: (event: { readonly refusal: Refusal }) => void): unknown;
}

/** Counts loads and refusals since the timetable was opened. */
export class Activity {
  readonly loads: Record<LoadResult, number> = { published: 0, unchanged: 0, refused: 0, failed: 0 };
  readonly refusals: Record<RefusalCode, number> = {
    empty: 0,
    shrunk: 0,
    rejected: 0,
    memory: 0,
  };

  listen(timetable: Announcer): void {
    timetable.on('loaded', ({ result }) => this.loaded(result));
    timetable.on('refused', ({ refusal }) => this.refused(refusal));
  }

  loaded(result: LoadResult): void {
    this.loads[result]++;
  }

  refused({ code }: Refusal): void {
    this.refusals[code]++;
  }
}
