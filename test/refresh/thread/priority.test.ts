/** The priority of threads. Inside, because it needs a thread that does nothing else. */
import { readlinkSync } from 'node:fs';
import { constants, getPriority } from 'node:os';
import { test } from 'tap';
import { letOthersGoFirst } from '../../../src/refresh/thread/priority.js';

test('the first thread of a process keeps its priority', (t) => {
  const before = getPriority(process.pid);
  letOthersGoFirst();
  t.equal(getPriority(process.pid), before);
  t.end();
});

test('other threads have a lower priority, if the system supports it', async (t) => {
  let own: string;
  try {
    own = readlinkSync('/proc/thread-self');
  } catch {
    t.pass('this system has none');
    return;
  }
  t.match(own, /\d+$/);
  const { Worker } = await import('node:worker_threads');
  const module = new URL('../../../dist/refresh/thread/priority.js', import.meta.url).href;
  const text = `
    const { parentPort } = require('node:worker_threads');
    const { getPriority } = require('node:os');
    const thread = Number(require('node:fs').readlinkSync('/proc/thread-self').split('/').at(-1));
    const before = getPriority(thread);
    import(${JSON.stringify(module)}).then(({ letOthersGoFirst }) => {
      letOthersGoFirst();
      parentPort.postMessage({ before, after: getPriority(thread) });
    });`;
  const worker = new Worker(text, { eval: true });
  const { before, after } = await new Promise<{ before: number; after: number }>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  await worker.terminate();
  t.equal(after, Math.max(before, constants.priority.PRIORITY_BELOW_NORMAL));
  t.equal(getPriority(process.pid), before, 'the others are not touched');
});
