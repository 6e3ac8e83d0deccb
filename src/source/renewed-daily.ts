import type { ReadRules } from '../base/model/read-rules.js';
import type { Source } from './source.js';

const WITH_DAY = /^(.*)@(\d{4}-\d\d-\d\d)$/s;

/** Whether the window of recurring events moves each day. */
export function hasMovingWindow({ from, to }: Pick<ReadRules, 'from' | 'to'>): boolean {
  return from === undefined || to === undefined;
}

/**
 * Adds the day of the load to the version of a source with recurring events: on another day the source counts
 * as changed, because the window of `from` and `to` has moved.
 */
export function renewedDaily(source: Source): Source {
  return {
    ...source,
    async load(sink, options = {}) {
      const today = new Date().toISOString().slice(0, 10);
      const { previous = null, rules } = options;
      const [, version = previous, day = today] = WITH_DAY.exec(previous ?? '') ?? [];
      const answer = await source.load(sink, { ...options, previous: day === today ? version : null });
      if (answer === 'not-modified' || answer.version === null || answer.expanded === undefined)
        return answer;
      return hasMovingWindow(rules ?? {}) ? { ...answer, version: `${answer.version}@${today}` } : answer;
    },
  };
}
