/**
 * Loads a file until it is ready to serve. Argument: the file. Prints the processor time of all threads, the largest
 * resident memory of the process, and the memory that a load may take here.
 */
import { openTimetable } from '../../dist/index.js';
import { memoryForLoad } from '../../dist/refresh/memory-room.js';

const boundBytes = memoryForLoad();
const began = performance.now();
const timetable = openTimetable({ source: process.argv[2], watch: false });
const { events } = await timetable.ready;
const seconds = (performance.now() - began) / 1000;
const peakBytes = process.resourceUsage().maxRSS * 1024;
process.stdout.write(JSON.stringify({ events, seconds, peakBytes, boundBytes, ...process.cpuUsage() }));
await timetable.close();
