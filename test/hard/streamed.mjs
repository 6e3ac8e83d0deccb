/**
 * Reads data that is generated while it is read, without keeping it. Prints one line of JSON: bytes, records,
 * and resident memory before the start and at its peak.
 *
 * node streamed.mjs <folder of the built package> <format> <bytes> <1: all texts differ>
 */
import { endless, someOf } from './endless.mjs';

const [, , folder, format, bytesText, variedText] = process.argv;
const { readRecords } = await import(`${folder}/source/formats/read-records.js`);
const bytesMax = Number(bytesText);
const seen = { bytes: 0, records: 0, rejected: 0, beforeBytes: 0, peakBytes: 0 };

function* pieces() {
  const all = endless(format, { isVaried: variedText === '1' });
  while (seen.bytes < bytesMax) {
    const { value } = all.next();
    seen.bytes += value.length;
    seen.peakBytes = Math.max(seen.peakBytes, process.memoryUsage.rss());
    yield value;
  }
}

const sink = {
  row: () => {
    seen.records++;
  },
  fault: () => {
    seen.rejected++;
  },
};
const read = someOf(pieces(), Number.POSITIVE_INFINITY, format);
seen.beforeBytes = process.memoryUsage.rss();
await readRecords(read, sink, { sourceName: 'test', bytesTotal: null, rules: { identifiers: 'uuid' } });
process.stdout.write(JSON.stringify(seen));
