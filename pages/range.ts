/** Which days a view shows. */
import type { ViewName } from './address.js';
import { firstDay, LIST_DAYS } from './store.js';
import { addDays, addMonths, dayStart, daysBetween, monthStart, weekStart } from './time.js';

export interface Range {
  readonly from: string;
  readonly days: number;
  /** The start of the next or previous range. */
  readonly step: (from: string, direction: 1 | -1) => string;
}

/** Whole weeks, also for a month. */
export function rangeOf(view: ViewName, date: string): Range {
  const byDays = (days: number) => (from: string, direction: 1 | -1) => addDays(from, direction * days);
  if (view === 'day') return { from: date, days: 1, step: byDays(1) };
  if (view === 'list') return { from: weekStart(date, firstDay), days: LIST_DAYS, step: byDays(LIST_DAYS) };
  if (view !== 'month') return { from: weekStart(date, firstDay), days: 7, step: byDays(7) };
  const from = weekStart(monthStart(date), firstDay);
  const days = Math.ceil(daysBetween(from, addMonths(date, 1)) / 7) * 7;
  return { from, days, step: (_, direction) => weekStart(addMonths(date, direction), firstDay) };
}

export function windowOf(
  from: string,
  days: number,
  zone: string,
): { readonly from: number; readonly to: number } {
  return { from: dayStart(from, zone), to: dayStart(addDays(from, days), zone) };
}
