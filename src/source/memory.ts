import { setImmediate as nextTurn } from 'node:timers/promises';
import { LecternError } from '../errors.js';
import type { Records } from './records.js';
import type { LoadOptions, LoadSummary, RecordSink, Source } from './source.js';

/** Records between two turns of the event loop: with 5 µs a record about 10 ms. */
const RECORDS_PER_TURN = 2048;

/**
 * Records that are in the process already, or come from a generator (a database cursor, say).
 *
 * @param records plain objects as JSON would give them. An array can be loaded again, a generator cannot.
 * @param name for messages
 */
export function memorySource(records: Records, name = 'records in memory'): Source {
  return { name, load: (sink, options = {}) => load(records, name, sink, options) };
}

async function load(
  records: Records,
  name: string,
  sink: RecordSink,
  { signal, onProgress }: LoadOptions,
): Promise<LoadSummary> {
  signal?.throwIfAborted();
  let count = 0;
  const tell = (): void => onProgress?.({ bytesRead: 0, bytesTotal: null, records: count });
  for await (const value of readable(records, name)) {
    sink.record(value, { record: ++count });
    if (count % RECORDS_PER_TURN === 0) {
      tell();
      await nextTurn();
      signal?.throwIfAborted();
    }
  }
  tell();
  return { format: 'memory', gzipped: false, bytesRead: 0, version: null };
}

/** The records; what goes wrong with them, but not with the sink, becomes `source-unreadable`. */
async function* readable(records: Records, name: string): AsyncGenerator<unknown> {
  try {
    yield* records;
  } catch (error) {
    if (error instanceof LecternError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new LecternError('source-unreadable', `cannot read ${name}: ${reason}`, { cause: error });
  }
}
