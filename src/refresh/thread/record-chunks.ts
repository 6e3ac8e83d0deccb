import type { Records } from '../../source/memory-source.js';
import type { ByteChunks } from './task-messages.js';

/** Longest turn of converting an embedding program's records to text. */
const STREAM_CHUNK_MS_MAX = 4;

/**
 * Turns records into chunks of NDJSON. A chunk ends after a few milliseconds, so this thread is never busy for long.
 * If JSON cannot represent a value of a record, such as a circular object, the record's other values stay. A record
 * that cannot be read becomes a text that says so, which is rejected.
 */
export async function* recordChunks(records: Records): ByteChunks {
  let lines: string[] = [];
  let beganMs = 0;
  const isDueWith = (record: unknown): boolean => {
    if (lines.length === 0) beganMs = performance.now();
    lines.push(lineOf(record));
    return performance.now() - beganMs >= STREAM_CHUNK_MS_MAX;
  };
  const take = (): Uint8Array<ArrayBuffer> => {
    const text = `${lines.join('\n')}\n`;
    lines = [];
    return new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;
  };
  if (Symbol.iterator in records) {
    // `for await` would wait for a turn of the event loop at each record.
    for (const record of records) if (isDueWith(record)) yield take();
  } else {
    for await (const record of records) if (isDueWith(record)) yield take();
  }
  if (lines.length > 0) yield take();
}

function lineOf(record: unknown): string {
  try {
    return JSON.stringify(record) ?? '"a record that JSON cannot represent"';
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    return lineOfFields(record) ?? JSON.stringify(`a record that JSON cannot represent: ${reason}`);
  }
}

/**
 * Writes a record field by field, so that the rejection names the id and the field. Null if the fields cannot
 * be read.
 */
function lineOfFields(record: unknown): string | null {
  if (typeof record !== 'object' || record === null || Array.isArray(record) || 'toJSON' in record)
    return null;
  try {
    const fields = Object.entries(record).map(([name, value]) => {
      const text = textOf(value);
      return text === undefined ? '' : `${JSON.stringify(name)}:${text}`;
    });
    return `{${fields.filter((field) => field !== '').join(',')}}`;
  } catch {
    return null;
  }
}

/** Replaces a value that JSON cannot represent by an object, because no served field accepts an object. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'bigint') return String(value);
  try {
    return JSON.stringify(value);
  } catch {
    return '{}';
  }
}
