/**
 * Reads every event of a source as iCalendar, in a new process as at the first request. Prints JSON: processor time of
 * each slice in milliseconds, and the bytes. Argument: the source.
 */
import { openTimetable } from '../../dist/index.js';

const timetable = openTimetable({ source: process.argv[2], watch: false, gate: false });
await timetable.ready;
const result = timetable.view.schedule([], { unknownParameters: 'reject' });
const sliceMs = [];
let bytes = 0;
const spentMs = (before) => {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};
let before = process.cpuUsage();
for (const slice of result.read.execute('ics').body.chunks) {
  sliceMs.push(spentMs(before));
  bytes += slice.byteLength;
  // The server turns to other requests between two slices.
  await new Promise(setImmediate);
  before = process.cpuUsage();
}
await timetable.close();
process.stdout.write(JSON.stringify({ bytes, sliceMs }));
