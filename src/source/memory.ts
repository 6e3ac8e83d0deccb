import { setImmediate as nextTurn } from 'node:timers/promises';
import { LecternError } from '../errors.js';
import type { LoadOptions, LoadSummary, RecordSink, Source } from './source.js';

/** Records between two turns of the event loop: with 5 µs a record about 10 ms. */
const RECORDS_PER_TURN = 2048;

/**
 * Records that are in the process already, or come from a generator (a database cursor, say).
 *
 * @param records plain objects as JSON would give them. Loaded anew each time it is iterated: an array can be loaded
 *   again, a generator cannot.
 * @param name for messages
 */
export function memorySource(
  records: Iterable<unknown> | AsyncIterable<unknown>,
  name = 'records in memory',
): Source {
  return { name, load: (sink, options = {}) => load(records, name, sink, options) };
}

async function load(
  records: Iterable<unknown> | AsyncIterable<unknown>,
  name: string,
  sink: RecordSink,
  options: LoadOptions,
): Promise<LoadSummary> {
  const { signal, onProgress } = options;
  signal?.throwIfAborted();
  const steps = begin(records, name);
  let count = 0;
  let exhausted = false;
  try {
    for (;;) {
      let step: IteratorResult<unknown>;
      try {
        const next = steps.next();
        // Awaiting what is no promise would cost a turn of the microtask queue for every record.
        step = next instanceof Promise || 'then' in next ? await next : next;
      } catch (error) {
        exhausted = true;
        throw unreadable(name, error);
      }
      if (step.done) break;
      sink.record(step.value, { record: ++count });
      if (count % RECORDS_PER_TURN === 0) {
        onProgress?.({ bytesRead: 0, bytesTotal: null, records: count });
        await nextTurn();
        signal?.throwIfAborted();
      }
    }
    exhausted = true;
  } finally {
    // As `for … of` does: a generator that was left early may have something to close.
    if (!exhausted) await steps.return?.();
  }
  onProgress?.({ bytesRead: 0, bytesTotal: null, records: count });
  return { format: 'memory', gzipped: false, bytesRead: 0, version: null };
}

/** The two kinds of iterator in one: a step or the promise of one. */
interface Steps {
  next(): IteratorResult<unknown> | PromiseLike<IteratorResult<unknown>>;
  return?(): unknown;
}

function begin(records: Iterable<unknown> | AsyncIterable<unknown>, name: string): Steps {
  try {
    return Symbol.asyncIterator in records ? records[Symbol.asyncIterator]() : records[Symbol.iterator]();
  } catch (error) {
    throw unreadable(name, error);
  }
}

function unreadable(name: string, error: unknown): LecternError {
  if (error instanceof LecternError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new LecternError('source-unreadable', `cannot read ${name}: ${reason}`, { cause: error });
}
