/** Numbers and rejections as a person reads them, the same in every locale. */
import type { Rejection } from '../model/event.js';
import { formatPosition } from '../model/event.js';
import type { SnapshotSummary } from '../snapshot/summary.js';

export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 event`, `2 events`. */
export function formatCountOf(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** In decimal units, as file listings have it: `512 bytes`, `4.5 kB`, `6.1 MB`, `1,203 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return formatCountOf(bytes, 'byte');
  const [scaled, unit] = bytes < 100e3 ? [bytes / 1e3, 'kB'] : [bytes / 1e6, 'MB'];
  const digits = scaled < 10 ? 1 : 0;
  return `${scaled.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
}

/** Two decimals below 10 ms. */
export function formatMs(ms: number): string {
  return `${ms < 10 ? ms.toFixed(2) : formatCount(Math.round(ms))} ms`;
}

/** `line 17: endTime is missing …`. The field is put in front of a detail that does not begin with it. */
export function formatRejection({ position, field, detail }: Rejection): string {
  const isNamed = field === null || detail.startsWith(field);
  return `${formatPosition(position)}${isNamed ? '' : `, ${field}`}: ${detail}`;
}

/**
 * A line for each reason, the commonest first, with the first record that it left out. No lines if there is no rejection.
 *
 * @param listed rejections that are shown elsewhere
 */
export function describeRejections(summary: SnapshotSummary, listed: readonly Rejection[] = []): string[] {
  if (summary.rejected === 0) return [];
  const codes = Object.entries(summary.rejectedByCode).sort(([, a], [, b]) => b - a);
  return [
    `${formatCountOf(summary.rejected, 'record')} left out:`,
    ...codes.map(([code, count]) => {
      const first = summary.rejections.find((rejection) => rejection.code === code);
      const isShown = first !== undefined && !listed.includes(first);
      return `  ${formatCount(count)} ${code}${isShown ? `, first at ${formatRejection(first)}` : ''}`;
    }),
  ];
}
