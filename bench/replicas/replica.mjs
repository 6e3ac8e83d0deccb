/**
 * One process: a replica that is read all the time, and reports what it serves, and at what cost.
 *
 *     node replica.mjs <address> <public key> <snapshot file or nothing>
 */
import { setTimeout as delay } from 'node:timers/promises';
import { openTimetable } from '../../dist/index.js';
import { forgetPeak, residentBytes } from '../reload/process-status.mjs';
import { ReadTurns } from '../turns.mjs';
import { answerRequests } from './process.mjs';

const [source, publisherPublicKey, snapshotFile] = process.argv.slice(2);
const replica = openTimetable({ source, publisherPublicKey, ...(snapshotFile ? { snapshotFile } : {}) });
replica.on('error', () => {});
replica.on('published', () => process.send({ event: 'served', id: replica.summary.id, atMs: Date.now() }));

const turns = new ReadTurns(replica);
let beganCpu = process.cpuUsage();
let beganMs = 0;
let steadyBytes = 0;

answerRequests(
  {
    ready: () => replica.ready.then(() => {}),
    begin() {
      turns.begin();
      forgetPeak();
      steadyBytes = residentBytes().now;
      beganMs = performance.now();
      beganCpu = process.cpuUsage();
    },
    /** Processor milliseconds for each millisecond, while nothing is announced. */
    async reads(ms) {
      const before = process.cpuUsage();
      const beganMs = performance.now();
      await delay(ms);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000 / (performance.now() - beganMs);
    },
    async end(settleMs) {
      await delay(settleMs);
      const { user, system } = process.cpuUsage(beganCpu);
      const { peak: peakBytes } = residentBytes();
      const tookMs = performance.now() - beganMs;
      return { ...turns.figures, cpuMs: (user + system) / 1000, tookMs, steadyBytes, peakBytes };
    },
  },
  () => replica.close(),
);
await replica.ready;
process.send({ event: 'ready', atMs: Date.now() });
