import { formatPosition, type Rejection } from '../model/event.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import { formatCount, formatCountOf } from './quantity.js';

/** `line 17: endTime is missing …`; the field stands in front where the detail does not begin with it. */
export function formatRejection({ position, field, detail }: Rejection): string {
  const named = field === null || detail.startsWith(field);
  return `${formatPosition(position)}${named ? '' : `, ${field}`}: ${detail}`;
}

/** A line for each reason, the commonest first, with the first record that it left out. Nothing where none was. */
export function describeRejections(summary: SnapshotSummary): string[] {
  if (summary.rejected === 0) return [];
  const codes = Object.entries(summary.rejectedByCode).sort(([, a], [, b]) => b - a);
  return [
    `${formatCountOf(summary.rejected, 'record')} left out:`,
    ...codes.map(([code, count]) => {
      const first = summary.rejections.find((rejection) => rejection.code === code);
      const where = first === undefined ? '' : `, first at ${formatRejection(first)}`;
      return `  ${formatCount(count)} ${code}${where}`;
    }),
  ];
}
