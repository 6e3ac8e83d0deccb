/** What the values of weeks that alternate and of numbered lessons may mean: guesses, which a person checks. */
import type { MapValue } from '../base/model/read-rules.js';
import { parseWeeks } from '../source/pattern/weeks.js';
import { isMark, type LookedColumn } from './column-look.js';

/** Names of weeks that alternate: the first of each pair are odd weeks. */
const ALTERNATING: readonly (readonly [odd: RegExp, even: RegExp])[] = [
  [/^a$/, /^b$/],
  [/^(?:чисельник|числитель|чис)$/, /^(?:знаменник|знаменатель|знам)$/],
  [/^(?:верхн\p{L}*)$/u, /^(?:нижн\p{L}*)$/u],
  [/^u$/, /^g$/],
];

/** What values such as `A`, `week B` and `A/B` mean; null if they are no weeks that alternate. */
export function alternation(values: readonly string[]): Record<string, string | null> | null {
  const plain = (value: string): string => value.toLowerCase().replace(WEEK_WORD, ' ').trim();
  for (const [odd, even] of ALTERNATING) {
    const parityOf = (text: string): string | null | undefined => {
      if (odd.test(text)) return 'odd';
      if (even.test(text)) return 'even';
      const parts = text.split(/[\s/+&,;]+/);
      return parts.length === 2 && odd.test(parts[0] ?? '') && even.test(parts[1] ?? '') ? null : undefined;
    };
    const found = values
      .filter((value) => typeof parseWeeks(value) === 'string')
      .map((value) => [value, parityOf(plain(value))] as const);
    const has = (parity: string): boolean => found.some(([, each]) => each === parity);
    if (has('odd') && has('even') && found.every(([, each]) => each !== undefined))
      return Object.fromEntries(found) as Record<string, string | null>;
  }
  return null;
}

const WEEK_WORD =
  /(?<!\p{L})(?:weeks?|wk|wochen?|semaines?|semanas?|settimana|weken|tydzień|týden|тиждень|неделя|vecka|hafta)(?!\p{L})\.?/gu;

/** Cells such as `3` and `1-2`. */
const PERIODS = /^(\d{1,2})(?:\s?[-\u2013]\s?(\d{1,2}))?$/;

export function arePeriods({ values }: LookedColumn): boolean {
  return (
    values.some((value) => PERIODS.test(value)) &&
    values.every((value) => isMark(value) || PERIODS.test(value))
  );
}

/** Lessons of 90 minutes if a day has few, or else of 45, with breaks of ten, from 8:00: to be corrected by a person. */
export function periodTimes({ name, values }: LookedColumn): MapValue {
  const spans = values.flatMap((value) => {
    const [, first, last = first] = PERIODS.exec(value) ?? [];
    return first === undefined ? [] : [{ value, first: Number(first), last: Number(last) }];
  });
  const isLong = spans.every(({ first, last }) => first === last && last <= LONG_PERIODS_MAX);
  const [minutes, zeroth] = [isLong ? 90 : 45, Math.min(1, ...spans.map(({ first }) => first))];
  const clock = (number: number, more: number): string => {
    const at = 8 * 60 + (number - zeroth) * (minutes + 10) + more;
    return `${String(Math.floor(at / 60) % 24).padStart(2, '0')}:${String(at % 60).padStart(2, '0')}`;
  };
  const entries = spans
    .sort((a, b) => a.first - b.first || a.last - b.last)
    .map(({ value, first, last }) => [value, `${clock(first, 0)}-${clock(last, minutes)}`]);
  return { from: name, values: Object.fromEntries(entries) as Record<string, string>, otherwise: 'reject' };
}

const LONG_PERIODS_MAX = 8;
