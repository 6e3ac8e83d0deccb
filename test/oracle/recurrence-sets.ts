/**
 * The slow version of a recurring event with EXDATE, RDATE and changed occurrences. It goes through the occurrences
 * one by one, and shares no code with the reader.
 */
import { Temporal } from 'temporal-polyfill';
import { type OracleOccurrence, occurrenceAt } from './recurrences.js';

export interface OracleChange {
  /** The instant of the replaced occurrence. */
  readonly replaces: number;
  readonly start: Temporal.PlainDateTime;
  readonly isFuture: boolean;
  readonly isCancelled: boolean;
}

export interface OracleSet {
  readonly zone: string;
  /** EXDATE: instants, and days that exclude all occurrences that begin on them. */
  readonly excluded: readonly number[];
  readonly excludedDays: readonly Temporal.PlainDate[];
  /** RDATE. */
  readonly added: readonly Temporal.PlainDateTime[];
  readonly changes: readonly OracleChange[];
}

/** A served event: its start, the original instant that its identifier comes from, and the change that it shows. */
export interface OracleServed {
  readonly instant: number;
  readonly original: number;
  readonly change: number | null;
}

/** @param base the occurrences of the rule. @param before the end of the days that are read */
export function servedOf(
  set: OracleSet,
  base: readonly OracleOccurrence[],
  before: Temporal.PlainDate,
): OracleServed[] {
  const { zone, changes } = set;
  const served: OracleServed[] = [];
  for (const occurrence of remaining(set, base, before)) {
    const { instant, local } = occurrence;
    if (changes.some(({ replaces }) => replaces === instant)) continue;
    const earlier = changes.filter(({ isFuture, replaces }) => isFuture && replaces <= instant);
    const change = earlier.sort((a, b) => a.replaces - b.replaces).at(-1);
    if (change === undefined) served.push({ instant, original: instant, change: null });
    else if (!change.isCancelled) {
      const replaced = localOf(change.replaces, zone);
      const moved = local.add(replaced.until(change.start, { largestUnit: 'day' }));
      const at = occurrenceAt(moved, zone).instant;
      served.push({ instant: at, original: instant, change: changes.indexOf(change) });
    }
  }
  for (const [n, { replaces, start, isCancelled }] of changes.entries()) {
    if (!isCancelled) {
      served.push({ instant: occurrenceAt(start, zone).instant, original: replaces, change: n });
    }
  }
  return served.sort((a, b) => a.instant - b.instant || a.original - b.original);
}

function remaining(
  set: OracleSet,
  base: readonly OracleOccurrence[],
  before: Temporal.PlainDate,
): OracleOccurrence[] {
  const { zone, excluded, excludedDays, added } = set;
  const all = [...base];
  for (const local of added) {
    const occurrence = occurrenceAt(local, zone);
    if (!all.some(({ instant }) => instant === occurrence.instant)) all.push(occurrence);
  }
  const beforeMs = before.toZonedDateTime('UTC').epochMilliseconds;
  return all.filter(
    ({ instant, local }) =>
      instant < beforeMs &&
      !excluded.includes(instant) &&
      !excludedDays.some((day) => day.equals(local.toPlainDate())),
  );
}

export function localOf(instant: number, zone: string): Temporal.PlainDateTime {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone).toPlainDateTime();
}
