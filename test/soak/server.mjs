/**
 * The service under soak, in a process of its own (`node --expose-gc`). Argument: its options as JSON. Messages: `look` gets what it
 * holds after a full collection.
 */
import { readdirSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { startService } from '../../dist/service.js';

/** As the command line has it; where it goes is nobody's business here. */
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
  const descriptors = readdirSync('/proc/self/fd').length;
  process.send({ kind: 'look', heapUsed, arrayBuffers, external, rss, descriptors });
}

process.on('message', (message) => {
  if (message === 'look') void look();
});
const orphaned = () => process.exit(1);
process.once('disconnect', orphaned);
process.once('SIGTERM', async () => {
  await service.close();
  process.off('disconnect', orphaned);
  process.disconnect();
});
