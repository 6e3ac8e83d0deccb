import type { MessagePort } from 'node:worker_threads';
import { LecternError } from '../errors.js';
import { NdjsonReader } from '../source/formats/ndjson.js';
import { readRecords } from '../source/formats/read-records.js';
import type { LoadOptions, LoadSummary, RecordSink, Source } from '../source/source.js';
import type { StreamChunk, StreamSpec } from './task-messages.js';

/**
 * A source that another thread feeds. One chunk is asked for at a time, so neither side holds more.
 *
 * @param askForMore tells the sender that the next chunk may come
 */
export function streamSource(spec: StreamSpec, port: MessagePort, askForMore: () => void): Source {
  const { name, content, version } = spec;
  return {
    name,
    async load(sink, options = {}) {
      const chunks = chunksFrom(port, askForMore);
      if (content === 'records') return { ...(await loadRecords(name, chunks, sink, options)), version };
      const reading = { ...options, sourceName: name, bytesTotal: null };
      return { ...(await readRecords(chunks, sink, reading)), version };
    },
  };
}

/** NDJSON that the sender made of records, whole lines in each chunk. No chunk at all is a set of no records. */
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

/** @throws LecternError `source-unreadable` where the sender says that it failed */
async function* chunksFrom(port: MessagePort, askForMore: () => void): AsyncGenerator<Uint8Array> {
  for (;;) {
    const message = new Promise<StreamChunk>((resolve) => port.once('message', resolve));
    askForMore();
    const chunk = await message;
    if (chunk.kind === 'end') return;
    if (chunk.kind === 'failed') throw new LecternError('source-unreadable', chunk.message);
    yield chunk.bytes;
  }
}
