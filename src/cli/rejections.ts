import type { RecordPosition, Rejection } from '../model/event.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import { formatCount, formatCountOf } from './quantity.js';

/** `line 17 (record 16)`, `record 3 at byte 512`, `page 2, line 5 of a.ndjson`: where to look in the source. */
export function formatPosition({ record, line, byte, page, source }: RecordPosition): string {
  const place =
    line !== undefined
      ? line === record
        ? `line ${line}`
        : `line ${line} (record ${record})`
      : byte === undefined
        ? `record ${record}`
        : `record ${record} at byte ${byte}`;
  return `${page === undefined ? '' : `page ${page}, `}${place}${source === undefined ? '' : ` of ${source}`}`;
}

/** `line 17, endTime: …` */
export function formatRejection({ position, field, detail }: Rejection): string {
  return `${formatPosition(position)}${field === null ? '' : `, ${field}`}: ${detail}`;
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
