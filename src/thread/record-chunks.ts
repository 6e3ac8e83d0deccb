import type { Records } from '../source/records.js';

/** One turn of turning an embedding program's records into text. */
const STREAM_CHUNK_MS_MAX = 4;

/**
 * Turns records into chunks of NDJSON, for a thread that builds from them. A chunk ends after a few milliseconds, so that
 * this thread is never busy for long. What JSON does to a value happens here, too: a Date becomes its text.
 *
 * A record that JSON cannot represent (undefined, a circle, a bigint) becomes a text that says so, which is rejected
 * like any other record that is no object, under its own number.
 */
export async function* recordChunks(records: Records): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const chunk = new ChunkBuilder();
  if (Symbol.iterator in records) {
    // Not `for await`: it would wait a turn for each record.
    for (const record of records) {
      if (chunk.add(record)) yield chunk.take();
    }
  } else {
    for await (const record of records) {
      if (chunk.add(record)) yield chunk.take();
    }
  }
  if (!chunk.isEmpty) yield chunk.take();
}

/** The same records as the thread gets to see them, for building without one. */
export function plainRecords(records: Records): Records {
  return Symbol.iterator in records ? plainSync(records) : plainAsync(records);
}

function* plainSync(records: Iterable<unknown>): Generator<unknown> {
  for (const record of records) yield JSON.parse(lineOf(record));
}

async function* plainAsync(records: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  for await (const record of records) yield JSON.parse(lineOf(record));
}

class ChunkBuilder {
  #lines: string[] = [];
  #beganMs = 0;

  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  /** Adds a record and says whether the chunk is due. */
  add(record: unknown): boolean {
    if (this.isEmpty) this.#beganMs = performance.now();
    this.#lines.push(lineOf(record));
    return performance.now() - this.#beganMs >= STREAM_CHUNK_MS_MAX;
  }

  take(): Uint8Array<ArrayBuffer> {
    const text = `${this.#lines.join('\n')}\n`;
    this.#lines = [];
    return new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;
  }
}

function lineOf(record: unknown): string {
  try {
    return JSON.stringify(record) ?? '"a record that JSON cannot represent"';
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    return JSON.stringify(`a record that JSON cannot represent: ${reason}`);
  }
}
