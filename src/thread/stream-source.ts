import { NdjsonReader } from '../source/formats/ndjson.js';
import { readRecords } from '../source/formats/read-records.js';
import type { LoadOptions, LoadSummary, RecordSink, Source } from '../source/source.js';
import type { StreamSpec } from './task-messages.js';

/** A source that comes in chunks. */
export function streamSource(
  { name, content, version }: StreamSpec,
  chunks: AsyncIterable<Uint8Array>,
): Source {
  return {
    name,
    async load(sink, options = {}) {
      if (content === 'records') return { ...(await loadRecords(name, chunks, sink, options)), version };
      const reading = { ...options, sourceName: name, bytesTotal: null };
      return { ...(await readRecords(chunks, sink, reading)), version };
    },
  };
}

/** NDJSON that was made of records, whole lines in each chunk. No chunk at all is a set of no records. */
async function loadRecords(
  name: string,
  chunks: AsyncIterable<Uint8Array>,
  sink: RecordSink,
  { onProgress }: LoadOptions,
): Promise<Omit<LoadSummary, 'version'>> {
  // Records in memory have numbers and no lines.
  const reader = new NdjsonReader(name, {
    record: (value, { record }) => sink.record(value, { record }),
    reject: (rejection) => sink.reject({ ...rejection, position: { record: rejection.position.record } }),
    ...(sink.undecoded === undefined ? {} : { undecoded: sink.undecoded }),
  });
  let bytesRead = 0;
  for await (const chunk of chunks) {
    bytesRead += chunk.length;
    reader.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    onProgress?.({ bytesRead: 0, bytesTotal: null, records: reader.records });
  }
  if (bytesRead > 0) reader.finish();
  return { format: 'memory', gzipped: false, bytesRead };
}
