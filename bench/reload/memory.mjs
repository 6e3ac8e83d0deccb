/**
 * One process: serves a file, replaces it with each of several in turn, and reports its memory.
 *
 *     node memory.mjs <file to serve> <snapshot file> <replacement>…
 */
import { copyFileSync, renameSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { openTimetable } from '../../dist/index.js';
import { forgetPeak, residentBytes } from './process-status.mjs';

const [file = '', snapshotFile = '', ...replacements] = process.argv.slice(2);
const SETTLE_MS = 4000;
const timetable = openTimetable({ source: file, watch: false, snapshotFile });
const { bytes: imageBytes } = await timetable.ready;
const firstPeakBytes = residentBytes().peak;
await delay(SETTLE_MS);
const steadyBytes = residentBytes().now;
const reloads = [];
for (const replacement of replacements) {
  copyFileSync(replacement, `${file}.next`);
  renameSync(`${file}.next`, file);
  const { id } = timetable.summary;
  forgetPeak();
  await timetable.refresh();
  if (timetable.summary.id === id) throw new Error('nothing was published');
  await delay(SETTLE_MS);
  const { now, peak } = residentBytes();
  reloads.push({ peakBytes: peak, afterBytes: now });
}
await timetable.close();
process.stdout.write(JSON.stringify({ imageBytes, firstPeakBytes, steadyBytes, reloads }));
