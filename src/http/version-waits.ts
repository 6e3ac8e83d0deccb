/** Lectern-Min-Version: a request waits until the version that its client has seen is served here, too. */
import type { LiveViews } from '../answer/present.js';
import { VERSION_WAIT_MS_MAX, VERSION_WAITS_MAX } from '../base/limits.js';
import type { TimetableVersion } from '../base/model/timetable-version.js';
import type { Problem } from './answer/problem.js';

export const VERSION_NOT_YET: Problem = {
  code: 'version-not-yet',
  detail:
    'This service has not published the version in Lectern-Min-Version yet. Ask again, or ask without that header.',
  headers: ['Retry-After', '1'],
};

export const VERSION_MALFORMED: Problem = {
  code: 'invalid-request',
  detail: 'Lectern-Min-Version must be the Lectern-Version of an earlier answer.',
};

/** Requests that wait until a version is served. */
export class VersionWaits {
  readonly #views: LiveViews;
  readonly #waiting = new Set<() => boolean>();
  #unlisten = (): void => {};

  constructor(views: LiveViews) {
    this.#views = views;
  }

  /** Resolves once the version is reached, or after the longest wait. @returns null if too many wait */
  until(version: TimetableVersion): Promise<void> | null {
    if (this.#waiting.size >= VERSION_WAITS_MAX) return null;
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        if (this.#waiting.size === 0) this.#unlisten();
        resolve();
      };
      const look = (): boolean => {
        const isReached = this.#views.view?.hasReached(version) === true;
        if (isReached) end();
        return isReached;
      };
      const timer = setTimeout(end, VERSION_WAIT_MS_MAX);
      if (this.#waiting.size === 0) this.#unlisten = this.#views.listen(() => this.#lookAtAll());
      this.#waiting.add(look);
    });
  }

  #lookAtAll(): void {
    for (const look of this.#waiting) look();
  }
}
