/**
 * The service under soak, in a separate process (`node --expose-gc`). Argument: its options as JSON.
 * Messages: `refresh` makes it load the source; `look` returns its memory after a full collection.
 */
import { readdirSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { getHeapCodeStatistics } from 'node:v8';
import { pino } from 'pino';
import { startService } from '../../dist/app/service.js';

/** The log of the command line; its output does not matter here. */
const log = pino({ level: 'info', base: null }, pino.destination({ dest: 1, sync: true }));
const service = await startService(JSON.parse(process.argv[2]), { log });
await service.ready;
process.send({ kind: 'ready', url: service.baseUrl, admin: service.adminAddress.origin });

async function look() {
  for (let n = 0; n < 3; n++) {
    globalThis.gc();
    await turn();
  }
  const { heapUsed, arrayBuffers, external, rss } = process.memoryUsage();
  const { code_and_metadata_size: code, bytecode_and_metadata_size: bytecode } = getHeapCodeStatistics();
  const heapWithoutCode = heapUsed - code - bytecode;
  const descriptors = readdirSync('/proc/self/fd').length;
  process.send({ kind: 'look', heapUsed, heapWithoutCode, arrayBuffers, external, rss, descriptors });
}

/** The first outcome may belong to an earlier load. */
async function refresh() {
  await service.timetable.refresh();
  await service.timetable.refresh();
  process.send({ kind: 'refresh', events: service.timetable.summary.events });
}

process.on('message', (message) => {
  if (message === 'look') void look();
  if (message === 'refresh') void refresh();
});
const orphaned = () => process.exit(1);
process.once('disconnect', orphaned);
process.once('SIGTERM', async () => {
  await service.close();
  process.off('disconnect', orphaned);
  process.disconnect();
});
