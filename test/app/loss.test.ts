/** Threads that are lost. */

import { test } from 'tap';
import { hs256, SECRET } from '../auth/tokens.js';
import { MemorySource, openTimetable, startService } from '../refresh/built.js';
import { timeForAFault, until } from '../waiting/until.js';
import { get, keptLog, makeThrow, openConnections, watchThreads } from './threads.js';

const RECORDS = [
  {
    id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
    time: '2024-09-02T08:00:00Z',
    endTime: '2024-09-02T09:00:00Z',
  },
];
const headers = {
  authorization: `Bearer ${hs256({ sub: 'alice', exp: Math.floor(Date.now() / 1000) + 3600 })}`,
};

test('connections reach every thread; a lost thread is replaced, and the others continue', async (t) => {
  const threads = watchThreads(t);
  const { log, lines } = keptLog();
  const source = new MemorySource(RECORDS);
  const service = await startService({ source, port: 0, hs256Secret: SECRET, workers: 3 }, { log });
  t.teardown(() => service.close());
  await service.ready;
  await until(() => threads.length === 3);
  const { port } = service.address;
  const open = await openConnections(60, port, '/api/v1/schedule');
  t.equal(open.size, 60);

  const [first, second] = threads;
  await first?.terminate();
  await until(() => open.size < 60);
  await timeForAFault(50);
  const left = open.size;
  t.ok(left > 0 && left < 60, `${60 - left} of 60 connections were the first thread's`);
  makeThrow(second);
  await until(() => open.size < left);
  await timeForAFault(50);
  t.ok(open.size > 0, `${left - open.size} were the second's, ${open.size} the third's`);

  // During and after the replacement: the present snapshot, from the first request on.
  source.replace([...RECORDS, { ...RECORDS[0], id: '51b5e7a5-0b9f-4b7c-8a5f-9f1f7a5b6d20' }]);
  await service.timetable.refresh();
  await until(() => threads.length === 3);
  for (let n = 0; n < 100; n++) {
    const { status, headers: fields } = await get(`${service.baseUrl}/schedule`, headers);
    t.strictSame([status, fields['x-total-count']], [200, '2']);
    await timeForAFault(5);
  }
  const losses = lines.filter(({ message }) => message === 'serving thread lost');
  t.equal(losses.length, 2);
  t.match(losses[0], { level: 'error', fields: { reason: /exit code 1/ } });
  t.match(losses[1], {
    level: 'error',
    fields: { reason: /a serving thread was sent \{"kind":"nonsense"\}/ },
  });
  for (const socket of open) socket.destroy();
});

test('threads that are lost repeatedly are replaced ever more slowly', async (t) => {
  const threads = watchThreads(t);
  const { log, lines } = keptLog();
  const service = await startService(
    { source: new MemorySource(RECORDS), port: 0, hs256Secret: SECRET, workers: 2 },
    { log },
  );
  t.teardown(() => service.close());
  await service.ready;
  await until(() => threads.length === 2);
  const losses = (): string[] =>
    lines
      .filter(({ message }) => message === 'serving thread lost')
      .map(({ fields }) => String(fields.reason));
  const [, spared] = threads;
  for (let n = 1; n <= 4; n++) {
    await until(() => threads.some((thread) => thread !== spared));
    makeThrow(threads.find((thread) => thread !== spared));
    await until(() => losses().length === n);
    t.equal((await get(`${service.baseUrl}/schedule`, headers)).status, 200, 'the other one serves');
  }
  const pauses = losses().map((reason) => /in (\d+) ms/.exec(reason)?.[1] ?? 'none');
  t.strictSame(pauses, ['none', '100', '200', '400']);
});

test('an embedding program gets an event for a lost thread', async (t) => {
  const threads = watchThreads(t);
  const timetable = openTimetable({ source: new MemorySource(RECORDS) });
  t.teardown(() => timetable.close());
  await timetable.ready;
  const server = await timetable.serve({ auth: { hs256Secret: SECRET }, port: 0, workers: 2 });
  await until(() => threads.length === 2);
  const told = new Promise<Error>((resolve) => timetable.on('error', resolve));
  makeThrow(threads[0]);
  t.match(await told, { code: 'thread-lost', message: /^a serving thread was lost and will be replaced: / });
  t.equal((await get(`${server.address.origin}/api/v1/schedule`, headers)).status, 200);
});
