/**
 * One process that starts from a snapshot file, serves it over HTTP, and reports this on standard output.
 *
 *     node warm-start.mjs <source file> <snapshot file>
 */
import { createServer } from 'node:http';
import { openTimetable } from '../../dist/index.js';

const [source = '', snapshotFile = ''] = process.argv.slice(2);
const openedMs = performance.now();
const timetable = openTimetable({ source, watch: false, snapshotFile });
const server = createServer(timetable.handler());
server.listen(0, '127.0.0.1');
const { events } = await timetable.ready;
const readyMs = performance.now() - openedMs;
const { port } = server.address();
const { origin } = timetable.publication;
process.stdout.write(`${JSON.stringify({ port, readyMs, events, origin })}\n`);
process.stdin.resume().on('end', () => process.exit(0));
