import { LecternError } from '../../errors.js';
import type { ExpansionWindow } from '../../model/expansion.js';
import type { ReadRules } from '../../model/read-rules.js';
import { DAY_MS, formatInstant, INSTANT_MS_MAX, INSTANT_MS_MIN, parseInstant } from '../../model/time.js';
import type { OutsideSpan } from './event-output.js';
import type { RecurrenceWindow } from './recurrence-set.js';

/** The window of the rules; by default from one year before the load to two years after it, in whole days of UTC. */
export function windowOf({ from, to }: Pick<ReadRules, 'from' | 'to'>, nowMs: number): RecurrenceWindow {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  return {
    fromMs: from === undefined ? yearsAfter(today, -1) : instantOf('from', from),
    toMs: to === undefined ? yearsAfter(today, 2) : instantOf('to', to),
  };
}

export function expansionText(
  { fromMs, toMs }: RecurrenceWindow,
  { events, firstMs, lastMs }: OutsideSpan,
): ExpansionWindow {
  const outside = events === 0 ? null : { events, from: dateOf(firstMs), to: dateOf(lastMs + DAY_MS) };
  return { from: dateOf(fromMs), to: dateOf(toMs), outside };
}

function dateOf(instantMs: number): string {
  return formatInstant(Math.min(Math.max(instantMs, INSTANT_MS_MIN), INSTANT_MS_MAX)).slice(0, 10);
}

function yearsAfter(instantMs: number, years: number): number {
  const date = new Date(instantMs);
  date.setUTCFullYear(date.getUTCFullYear() + years);
  return date.getTime();
}

function instantOf(name: string, text: string): number {
  const instantMs = parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (typeof instantMs === 'number') return instantMs;
  throw new LecternError(
    'option-invalid',
    `${name} is ${JSON.stringify(text)}; expected a date such as 2026-09-01`,
  );
}
