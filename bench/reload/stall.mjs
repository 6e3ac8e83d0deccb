/**
 * One process: serves a file, replaces it, and watches its own event loop meanwhile.
 *
 *     node stall.mjs <file to serve> <file that replaces it, or "-" for a control run> <snapshot file> [<seconds>]
 *
 * A timer of 1 ms reads from the timetable and measures the time since the last reading. Linux says how long
 * the thread waited for a processor meanwhile; Lectern used the rest.
 */
import { copyFile, rename } from 'node:fs/promises';
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { openTimetable } from '../../dist/index.js';
import { mainThreadTimes } from './process-status.mjs';

const [file = '', replacement = '', snapshotFile = '', seconds = '15'] = process.argv.slice(2);
const timetable = openTimetable({ source: file, watch: false, snapshotFile });
const { span } = await timetable.ready;
await delay(3000);

const gaps = [];
const collections = [];
let reads = 0;
let failures = 0;
let last = performance.now();
let lastTimes = mainThreadTimes();
const observer = new PerformanceObserver((list) => {
  for (const { detail, duration } of list.getEntries()) collections.push({ kind: detail.kind, ms: duration });
});
observer.observe({ entryTypes: ['gc'] });
const histogram = monitorEventLoopDelay({ resolution: 1 });
histogram.enable();
const timer = setInterval(() => {
  const now = performance.now();
  const times = mainThreadTimes();
  gaps.push({
    gapMs: now - last,
    waitedMs: times.waitedMs - lastTimes.waitedMs,
    ranMs: times.ranMs - lastTimes.ranMs,
  });
  last = now;
  lastTimes = times;
  try {
    const startMs = span.startMs + ((reads * 3_600_000) % (span.endMs - span.startMs));
    timetable.findBytes({ startTime: new Date(startMs), endTime: new Date(startMs + 60_000), limit: 20 });
    reads++;
  } catch {
    failures++;
  }
}, 1);

const beganMs = performance.now();
let before = null;
if (replacement === '-') {
  await delay(Number(seconds) * 1000);
} else {
  before = timetable.summary.id;
  await copyFile(replacement, `${file}.next`);
  await rename(`${file}.next`, file);
  // The measurement's own copying and renaming are excluded.
  await delay(200);
  gaps.length = 0;
  histogram.reset();
  await timetable.refresh();
}
const loadMs = performance.now() - beganMs;
// The swap, the collection of the old snapshot and the writing of the new one are included.
if (replacement !== '-') await delay(4000);
clearInterval(timer);
histogram.disable();
observer.disconnect();
const { publication } = timetable;
if (replacement !== '-' && (publication?.origin !== 'source' || timetable.summary.id === before)) {
  throw new Error('nothing was published');
}
await timetable.close();

const own = ({ gapMs, waitedMs }) => gapMs - waitedMs;
const sorted = (values) => values.sort((a, b) => a - b);
const gapsMs = sorted(gaps.map(({ gapMs }) => gapMs));
const longest = gaps.reduce((a, b) => (b.gapMs > a.gapMs ? b : a));
process.stdout.write(
  JSON.stringify({
    loadMs,
    reads,
    failures,
    longestMs: gapsMs.at(-1),
    p999Ms: gapsMs[Math.floor(gapsMs.length * 0.999)],
    ownLongestMs: Math.max(...gaps.map(own)),
    ranLongestMs: Math.max(...gaps.map(({ ranMs }) => ranMs)),
    ranInLongestMs: longest.ranMs,
    waitedInLongestMs: longest.waitedMs,
    atLoad: gaps.indexOf(longest) / gaps.length,
    histogramMaxMs: histogram.max / 1e6,
    collectionLongestMs: Math.max(0, ...collections.map(({ ms }) => ms)),
  }),
);
