/** Times of day and ranges as people write them: `1200`, `8:10 - 8:55`, `11:30/13:29`, and several of them in one cell. */
import { readTimeOfDay } from '../../base/model/local-time.js';
import { quoteEscaped } from '../../base/model/text.js';
import { MINUTE_MS } from '../../base/model/time.js';
import { isNothing } from '../map-value.js';

/** Milliseconds from midnight. */
export interface ClockTime {
  readonly start: number;
  /** Null if the text is no range. */
  readonly end: number | null;
}

/** Some systems give times of day as times of a day that means nothing: `2000-01-01T09:00:00`. */
const DATED = /^\d{4}-\d\d-\d\d[Tt ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?$/;
/** Matches begin only where white space begins, so that searches take linear time. */
const BETWEEN = /(?<!\s)(?:\s*[\p{Pd}\u2212~/]\s*|\s+(?:to|bis|until|till|à|tot|do|до)\s+)/giu;
const APART = /(?<!\s)(?:\s*[,;\n|]\s*|\s+(?=\d))/;
const SPACES = /[\u00a0\u202f]/g;
const HALF = /\s?[ap]\.?m\.?$/i;
const END_OF_DAY = 24 * 60 * MINUTE_MS;

/** @returns the times of a cell, or a clause on the fault */
export function parseClockTimes(text: string): readonly ClockTime[] | string {
  const plain = text.replace(SPACES, ' ').trim();
  if (isNothing(plain)) return readClock(plain) as string;
  const dated = DATED.exec(plain)?.[1];
  const cells = dated === undefined ? plain.replace(BETWEEN, '/').split(APART) : [dated];
  const times: ClockTime[] = [];
  for (const cell of cells) {
    const [first = '', last, ...more] = cell.split('/');
    if (more.length > 0) return `${quoteEscaped(cell)} has more than a start and an end`;
    const end = last === undefined ? null : readClock(last);
    if (typeof end === 'string') return end;
    // In `1:00 - 2:15 PM` both times are in the afternoon.
    const half = last !== undefined && !HALF.test(first) ? (HALF.exec(last)?.[0] ?? '') : '';
    const halved = half === '' ? null : readClock(first + half);
    const start = typeof halved === 'number' && halved <= (end ?? 0) ? halved : readClock(first);
    if (typeof start === 'string') return start;
    times.push({ start, end });
  }
  return times;
}

function readClock(text: string): number | string {
  const clock = text.replace(/^(\d)(\d\d)$/, '0$1$2').replace(/([ap])\.?m\.?$/i, '$1m');
  return clock === '24:00' || clock === '2400' ? END_OF_DAY : readTimeOfDay(clock, true);
}
