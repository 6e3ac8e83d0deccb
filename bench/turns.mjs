import { mainThreadTimes } from './reload/process-status.mjs';

const BETWEEN_MS = 5;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/**
 * Reads a page of the served window every few milliseconds, once the timetable is ready, and measures the
 * longest turn of this thread, with and without the time that it waited for a processor.
 */
export class ReadTurns {
  #figures;
  #lastMs = performance.now();
  #lastTimes = mainThreadTimes();
  #timer;

  constructor(timetable) {
    this.begin();
    this.#timer = setInterval(() => this.#turn(timetable), BETWEEN_MS);
  }

  /** Forgets what was measured. */
  begin() {
    this.#figures = { longestMs: 0, ownLongestMs: 0, reads: 0, failures: 0 };
  }

  get figures() {
    return { ...this.#figures };
  }

  stop() {
    clearInterval(this.#timer);
  }

  #turn(timetable) {
    const figures = this.#figures;
    const now = performance.now();
    const times = mainThreadTimes();
    const tookMs = now - this.#lastMs;
    figures.longestMs = Math.max(figures.longestMs, tookMs);
    figures.ownLongestMs = Math.max(
      figures.ownLongestMs,
      tookMs - (times.waitedMs - this.#lastTimes.waitedMs),
    );
    this.#lastMs = now;
    this.#lastTimes = times;
    if (timetable.summary === null) return;
    try {
      const { span } = timetable.summary;
      const startMs = span.startMs + ((figures.reads * HOUR_MS) % (span.endMs - span.startMs));
      timetable.findBytes({
        startTime: new Date(startMs),
        endTime: new Date(startMs + MINUTE_MS),
        limit: 20,
      });
      figures.reads++;
    } catch {
      figures.failures++;
    }
  }
}
