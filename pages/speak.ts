/** Texts, dates and times in the language of the page. */

import { computed } from '@preact/signals';
import { language, locale, words, zone } from './store.js';
import { addDays, utcOf } from './time.js';
import { fill, memoised, RIGHT_TO_LEFT, type WordName } from './words.js';

export function say(name: WordName, values?: Readonly<Record<string, string | number>>): string {
  const text = words.value?.[name];
  return text === undefined ? '' : fill(text, language.value, values);
}

const formats = new Map<string, Intl.DateTimeFormat>();

function format(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${locale.value} ${JSON.stringify(options)}`;
  let found = formats.get(key);
  if (found === undefined) {
    found = new Intl.DateTimeFormat(locale.value, options);
    formats.set(key, found);
  }
  return found;
}

const CLOCK: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit' };

/** Many lessons begin and end at the same times. Made anew for another language or zone. */
const timesOf = computed(() => {
  const texts = new Map<number, string>();
  const clock = format({ ...CLOCK, timeZone: zone.value });
  return (instant: number): string => {
    let text = texts.get(instant);
    if (text === undefined) {
      text = clock.format(instant);
      texts.set(instant, text);
    }
    return text;
  };
});

export function sayTime(instant: number): string {
  return timesOf.value(instant);
}

export function sayTimes(start: number, end: number): string {
  if (start === end) return sayTime(start);
  const times = `${sayTime(start)} – ${sayTime(end)}`;
  // An isolate from left to right, as clocks are read: otherwise the text around it decides which time is first.
  return RIGHT_TO_LEFT.includes(language.value) ? `\u2066${times}\u2069` : times;
}

/** The hour of the scale at the side. */
export function sayHour(hour: number): string {
  return format({ hour: 'numeric', minute: '2-digit', timeZone: 'UTC' }).format(hour * 3_600_000);
}

export function sayMoment(instant: number): string {
  return format({ weekday: 'short', day: 'numeric', month: 'short', ...CLOCK, timeZone: zone.value }).format(
    instant,
  );
}

export function sayDate(date: string, options: Intl.DateTimeFormatOptions): string {
  return format({ ...options, timeZone: 'UTC' }).format(utcOf(date));
}

/** A day of a view. */
export function sayDay(date: string): string {
  return sayDate(date, { weekday: 'long', day: 'numeric', month: 'long' });
}

export const LONG_DATE: Intl.DateTimeFormatOptions = {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
};

/** @param days of which the first is `from` */
export function sayDates(
  from: string,
  days: number,
  options: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'long', year: 'numeric' },
): string {
  return format({ ...options, timeZone: 'UTC' }).formatRange(utcOf(from), utcOf(addDays(from, days - 1)));
}

export function sayNumber(n: number, options?: Intl.NumberFormatOptions): string {
  return options === undefined
    ? numbersOf(language.value).format(n)
    : n.toLocaleString(language.value, options);
}

const numbersOf = memoised((code) => new Intl.NumberFormat(code));
const listsOf = memoised((code) => new Intl.ListFormat(code, { type: 'conjunction', style: 'narrow' }));

export function sayList(texts: readonly string[]): string {
  return texts.length === 1 ? (texts[0] as string) : listsOf(language.value).format(texts);
}

/** "3 minutes ago", "in 2 hours". @param style `narrow` where there is little room: "3 min ago", "now" */
export function sayAgo(instant: number, from: number, style: 'long' | 'narrow' = 'long'): string {
  const seconds = Math.round((instant - from) / 1000);
  const relative = new Intl.RelativeTimeFormat(language.value, { numeric: 'auto', style });
  for (const [unit, size] of [
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
  ] as const) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return relative.format(0, style === 'long' ? 'minute' : 'second');
}
