import type { View } from './view.js';

/** What the HTTP layer needs of a timetable: the present view, or null while there is none. */
export interface ViewSource {
  readonly view: View | null;
  readonly status: 'starting' | 'ok' | 'degraded';
  readonly source: SourceState;
}

/** How the source is doing. */
export interface SourceState {
  /** A path, `standard input`, … */
  readonly name: string;
  readonly state: 'loading' | 'loaded' | 'failed';
  /** Epoch milliseconds of the last load that was published. */
  readonly lastSuccessMs: number | null;
  /** One line, or null where the last load went well. */
  readonly lastError: string | null;
}
