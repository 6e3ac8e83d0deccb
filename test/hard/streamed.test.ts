/** A calendar of 200 MB and a CSV of 1,000,000 rows are read in constant memory, besides the image. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from 'tap';
import { recordFigure } from './figures.mjs';
import { HARD, size } from './size.js';

const SCRIPT = fileURLToPath(new URL('./streamed.mjs', import.meta.url));
const DIST = new URL('../../dist', import.meta.url).href;
const MIB = 2 ** 20;
const BYTES = size(10_000_000, 200_000_000);

interface Streamed {
  readonly bytes: number;
  readonly records: number;
  readonly rejected: number;
  readonly beforeBytes: number;
  readonly peakBytes: number;
}

/** Growth allowed in MiB. Texts that all differ fill the tables of remembered lines, which hold 16,384 lines. */
const CASES = [
  { name: 'a calendar', format: 'icalendar', isVaried: false, bytes: BYTES, limitMib: 64 },
  {
    name: 'a calendar whose texts all differ',
    format: 'icalendar',
    isVaried: true,
    bytes: BYTES,
    limitMib: 192,
  },
  { name: 'a CSV', format: 'csv', isVaried: true, bytes: size(10_000_000, 232_000_000), limitMib: 64 },
] as const;

const told: string[] = [];
for (const { name, format, isVaried, bytes, limitMib } of CASES) {
  test(`${name} of ${bytes / 1e6} MB takes at most ${limitMib} MiB besides the image`, {
    timeout: 600_000,
  }, async (t) => {
    const argv = [SCRIPT, DIST, format, String(bytes), isVaried ? '1' : '0'];
    const { stdout } = await promisify(execFile)(process.execPath, argv);
    const seen = JSON.parse(stdout) as Streamed;
    t.equal(seen.rejected, 0);
    t.ok(seen.bytes >= bytes && seen.records > bytes / 500, `${seen.records} records, ${seen.bytes} bytes`);
    if (HARD && format === 'csv') t.ok(seen.records >= 1_000_000, `${seen.records} rows`);
    const mib = (seen.peakBytes - seen.beforeBytes) / MIB;
    t.ok(mib <= limitMib, `${mib.toFixed(0)} MiB`);
    told.push(`${name}: ${(seen.bytes / 1e6).toFixed(0)} MB, ${seen.records} records, ${mib.toFixed(0)} MiB`);
    if (HARD && told.length === CASES.length) recordFigure('streamed', told.join('; '), { limitMib });
  });
}
