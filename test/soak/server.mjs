/**
 * The service under soak, in a process of its own (`node --expose-gc`). Argument: its options as JSON. Messages: `look` gets what it
 * holds after a full collection.
 */
import { readdirSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { startService } from '../../dist/service.js';

const service = await startService(JSON.parse(process.argv[2]));
await service.ready;
process.send({ kind: 'ready', url: service.baseUrl });

async function look() {
  for (let n = 0; n < 3; n++) {
    globalThis.gc();
    await turn();
  }
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  const descriptors = readdirSync('/proc/self/fd').length;
  process.send({ kind: 'look', heapUsed, arrayBuffers, rss, descriptors });
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
