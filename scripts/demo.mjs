/**
 * `npm start`: serves the demo timetable, with a term around today. Shortly after the start some lessons of the next
 * days change, so that the pages have changes to show. Arguments are those of `lectern serve`.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { changedRows, rowsAround } from './demo-rows.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const lines = gunzipSync(readFileSync(join(ROOT, 'fixtures/demo.ndjson.gz'))).toString('utf8');
const rows = rowsAround(
  lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line)),
  Date.now(),
);
const folder = mkdtempSync(join(tmpdir(), 'lectern-demo-'));
const source = join(folder, 'demo.ndjson');
const textOf = (all) => all.map((row) => `${JSON.stringify(row)}\n`).join('');
writeFileSync(source, textOf(rows));

const given = process.argv.slice(2);
// Calendar addresses of the demo last until it ends.
const feeds = given.some((each) => each.startsWith('--feed-secret'))
  ? {}
  : { LECTERN_FEED_SECRET: randomBytes(48).toString('base64') };
const rooms = join(ROOT, 'fixtures/demo-rooms.ndjson');
const child = spawn(
  process.execPath,
  [join(ROOT, 'dist/cli.js'), 'serve', source, '--rooms', rooms, '--dev', ...given],
  { stdio: ['inherit', 'pipe', 'inherit'], env: { ...feeds, ...process.env } },
);
let printed = '';
child.stdout.on('data', (bytes) => {
  process.stdout.write(bytes);
  if (printed === null) return;
  printed += bytes;
  if (!printed.includes('A new token: ')) return;
  printed = null;
  writeFileSync(`${source}.new`, textOf(changedRows(rows, Date.now())));
  renameSync(`${source}.new`, source);
});
process.on('SIGTERM', () => child.kill('SIGTERM'));
// Also after an error, as when the reader of the output has gone.
process.on('exit', () => child.kill('SIGTERM'));
// A terminal sends it to both.
process.on('SIGINT', () => {});
child.once('exit', (code, signal) => {
  rmSync(folder, { recursive: true, force: true });
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143);
});
