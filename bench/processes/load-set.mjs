/** Loads a file until it could be served. Argument: the file. Prints the processor time that all threads took. */
import { openTimetable } from '../../dist/index.js';

const began = performance.now();
const timetable = openTimetable({ source: process.argv[2], watch: false });
const { events } = await timetable.ready;
const seconds = (performance.now() - began) / 1000;
process.stdout.write(JSON.stringify({ events, seconds, ...process.cpuUsage() }));
await timetable.close();
