import { loaderOf } from '../../src/app/keeping.js';
import { KeptTimetable } from '../../src/app/timetable.js';
import type { openTimetable } from '../../src/index.js';
import { resolveOptions } from '../../src/options/resolve.js';
import { runTaskHere } from '../../src/refresh/thread/task.js';

type Open = typeof openTimetable;

/** Parts of the library, from source or from the build. */
export interface Parts {
  readonly resolveOptions: typeof resolveOptions;
  readonly runTaskHere: typeof runTaskHere;
  readonly loaderOf: typeof loaderOf;
  readonly KeptTimetable: typeof KeptTimetable;
}

/**
 * Opens timetables whose loads run on this thread, for tests with many loads: the start of a thread takes 0.1 s from
 * the build, and a second from source.
 */
export function openerHere(parts: Parts): Open {
  return (options) => {
    const resolved = parts.resolveOptions('openTimetable', options);
    const loader = parts.loaderOf(resolved);
    loader.run = (task, listeners, chunks) => parts.runTaskHere(task, listeners, chunks) as Promise<never>;
    return new parts.KeptTimetable(resolved, loader);
  };
}

export const openHere: Open = openerHere({ resolveOptions, runTaskHere, loaderOf, KeptTimetable });
