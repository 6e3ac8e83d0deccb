/** Loads a file until it is ready to serve. Argument: the file. Prints the processor time of all threads. */
import { openTimetable } from '../../dist/index.js';

const began = performance.now();
const timetable = openTimetable({ source: process.argv[2], watch: false });
const { events } = await timetable.ready;
const seconds = (performance.now() - began) / 1000;
process.stdout.write(JSON.stringify({ events, seconds, ...process.cpuUsage() }));
await timetable.close();
