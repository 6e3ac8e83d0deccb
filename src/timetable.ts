import type { View } from './query/view.js';

/** What the HTTP layer needs of a timetable: the present view, or null while there is none. */
export interface ViewSource {
  readonly view: View | null;
  readonly status: 'starting' | 'ok' | 'degraded';
  readonly source: {
    readonly name: string;
    readonly state: 'loading' | 'loaded' | 'failed';
    readonly lastSuccessMs: number | null;
    readonly lastError: string | null;
  };
}
