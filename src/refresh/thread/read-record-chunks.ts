import { FieldTable } from '../../source/field-map.js';
import { NdjsonReader } from '../../source/formats/ndjson.js';
import { preparePatterns } from '../../source/map-value.js';
import type { LoadOptions, LoadSummary, RowSink } from '../../source/source.js';

/** Reads NDJSON made from records, with whole lines in each chunk. Without chunks there are no records. */
export async function readRecordChunks(
  name: string,
  chunks: AsyncIterable<Uint8Array>,
  sink: RowSink,
  { onProgress, rules, notes }: LoadOptions,
): Promise<Omit<LoadSummary, 'version'>> {
  await preparePatterns(rules);
  // Records in memory have numbers and no lines.
  const table = new FieldTable(sink, 'memory', rules, name, { notes });
  const reader = new NdjsonReader(name, table, rules);
  let bytesRead = 0;
  for await (const chunk of chunks) {
    bytesRead += chunk.length;
    reader.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    onProgress?.({ bytesRead: 0, bytesTotal: null, records: reader.records });
  }
  if (bytesRead > 0) reader.finish();
  table.finish();
  return { format: 'memory', gzipped: false, bytesRead };
}
