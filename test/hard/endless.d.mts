export type Format = 'ndjson' | 'json-array' | 'messagepack' | 'icalendar' | 'csv';
export function endless(
  format: Format,
  options?: { readonly isVaried?: boolean; readonly title?: string },
): Generator<Buffer, never>;
export function someOf(pieces: Iterable<Buffer>, count: number, format: Format): Generator<Buffer>;
export function packed(pieces: Iterable<Buffer>): import('node:stream').Readable;
export function goodEvents(): object[];
export function endlessRecords(): Generator<object, never>;
