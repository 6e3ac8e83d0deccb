/** Threads of loads that hang are ended from outside. Changes Worker, because no file and no server can make an honest thread hang. */
import { createServer } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import threads from 'node:worker_threads';
import { test } from 'tap';
import { openTimetable } from '../../../src/index.js';
import { testFolder } from '../../base/files/test-folder.js';

/** Makes a thread wait for ever at the moment when it opens a file or sends a request. */
const HANGING = `
for (const [module, name] of [['node:fs/promises', 'open'], ['node:http', 'request']])
  require(module)[name] = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
require('node:module').syncBuiltinESMExports();
`;

test('threads that hang while they read a file or an address are ended, and the next loads succeed', async (t) => {
  const record = {
    id: '7f2c0a52-8f4b-4d53-9f0e-0d8f6f0b6c11',
    time: '2026-09-14T06:00:00Z',
    endTime: '2026-09-14T07:30:00Z',
  };
  const text = JSON.stringify(record);
  const server = createServer((_, res) => void res.end(text)).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const { Worker } = threads;
  threads.Worker = class extends Worker {
    constructor(boot: string | URL, options?: threads.WorkerOptions) {
      super(`${HANGING}${boot}`, options);
    }
  };
  syncBuiltinESMExports();
  const sources = [
    join(testFolder(t, { 'events.ndjson': text }), 'events.ndjson'),
    `http://127.0.0.1:${port}/events.ndjson`,
  ];
  const timetables = sources.map((source) => openTimetable({ source }));
  t.teardown(() => Promise.all(timetables.map((timetable) => timetable.close())));
  const message = /the thread that reads it did not answer for 33 s, and was ended/;
  await Promise.all(timetables.map(({ ready }) => t.rejects(ready, { code: 'source-unreadable', message })));
  threads.Worker = Worker;
  syncBuiltinESMExports();
  for (const timetable of timetables) {
    await timetable.refresh();
    t.equal(timetable.summary?.events, 1);
  }
});
