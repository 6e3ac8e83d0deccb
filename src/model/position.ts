import type { RecordPosition } from './event.js';

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
