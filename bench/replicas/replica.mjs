/**
 * One process: a replica that reads all the time, and says what it serves and what that took.
 *
 *     node replica.mjs <address> <public key> <snapshot file or nothing>
 */
import { setTimeout as delay } from 'node:timers/promises';
import { openTimetable } from '../../dist/index.js';
import { forgetPeak, mainThreadTimes, residentBytes } from '../reload/process-status.mjs';
import { answerRequests } from './process.mjs';

const [source, feedPublicKey, snapshotFile] = process.argv.slice(2);
const replica = openTimetable({ source, feedPublicKey, ...(snapshotFile ? { snapshotFile } : {}) });
replica.on('error', () => {});
replica.on('published', () => process.send({ event: 'served', id: replica.summary.id, atMs: Date.now() }));

const figures = { longestMs: 0, ownLongestMs: 0, reads: 0, failures: 0 };
let last = performance.now();
let lastTimes = mainThreadTimes();
let beganCpu = process.cpuUsage();
let steadyBytes = 0;
let canRead = false;

/** The longest turn of this thread, while it reads a page of the served window every few milliseconds. */
function turn() {
  const now = performance.now();
  const times = mainThreadTimes();
  figures.longestMs = Math.max(figures.longestMs, now - last);
  figures.ownLongestMs = Math.max(figures.ownLongestMs, now - last - (times.waitedMs - lastTimes.waitedMs));
  last = now;
  lastTimes = times;
  if (!canRead) return;
  try {
    const { span } = replica.summary;
    const startMs = span.startMs + ((figures.reads * 3_600_000) % (span.endMs - span.startMs));
    replica.findBytes({ startTime: new Date(startMs), endTime: new Date(startMs + 60_000), limit: 20 });
    figures.reads++;
  } catch {
    figures.failures++;
  }
}
setInterval(turn, 5);

answerRequests(
  {
    ready: async () => {
      await replica.ready;
      canRead = true;
    },
    begin() {
      Object.assign(figures, { longestMs: 0, ownLongestMs: 0, reads: 0, failures: 0 });
      forgetPeak();
      steadyBytes = residentBytes().now;
      beganCpu = process.cpuUsage();
    },
    async end(settleMs) {
      await delay(settleMs);
      const { user, system } = process.cpuUsage(beganCpu);
      const { peak: peakBytes } = residentBytes();
      return { ...figures, cpuMs: (user + system) / 1000, steadyBytes, peakBytes };
    },
  },
  () => replica.close(),
);
await replica.ready;
process.send({ event: 'ready', atMs: Date.now() });
