/**
 * Reads every event of a source as iCalendar, in a new process as at the first request. Prints JSON: how long
 * each slice kept the thread busy, in milliseconds, and the bytes. Argument: the source.
 */
import { openTimetable } from '../../dist/index.js';
import { mainThreadTimes } from '../reload/process-status.mjs';

const timetable = openTimetable({ source: process.argv[2], watch: false, gate: false });
await timetable.ready;
const result = timetable.view.schedule([], { unknownParameters: 'reject' });
const sliceMs = [];
let bytes = 0;
const begin = () => ({ cpu: process.cpuUsage(), wallMs: performance.now(), ...mainThreadTimes() });
// Processor time includes that of other threads. Elapsed time includes that of other processes, unless the
// system reports the waiting time.
const spentMs = ({ cpu, wallMs, waitedMs }) => {
  const { user, system } = process.cpuUsage(cpu);
  const elapsedMs = performance.now() - wallMs - (mainThreadTimes().waitedMs - waitedMs);
  return Math.min((user + system) / 1000, elapsedMs);
};
let before = begin();
for (const slice of result.read.execute('ics').body.makeChunks()) {
  sliceMs.push(spentMs(before));
  bytes += slice.byteLength;
  // The server turns to other requests between two slices.
  await new Promise(setImmediate);
  before = begin();
}
await timetable.close();
process.stdout.write(JSON.stringify({ bytes, sliceMs }));
