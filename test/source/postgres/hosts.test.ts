import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'tap';
import { openHere } from '../../app/open-here.js';
import { skip, startServer } from './server.js';

const EVENT = `SELECT '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417'::uuid AS id,
  '2026-09-14T08:00:00Z'::timestamptz AS time, '2026-09-14T09:00:00Z'::timestamptz AS "endTime"`;

/** The number of events. */
async function read(url: string, headersMsMax?: number): Promise<number> {
  const source = { kind: 'postgres', url, query: EVENT, headersMsMax } as const;
  const timetable = openHere({ source, watch: false });
  try {
    return (await timetable.ready).events;
  } finally {
    await timetable.close();
  }
}

test('a failure names the host that failed last', async (t) => {
  await t.rejects(read('postgres://u@127.0.0.1:1,127.0.0.1:2,127.0.0.1:3/x'), {
    message: /nothing listens there: 127\.0\.0\.1:3$/,
  });
  await t.rejects(read('postgres://u@127.0.0.1:1,no.such.host.invalid/x'), {
    message: /the host "no\.such\.host\.invalid" is not known/,
  });
});

test('silent hosts leave time for the hosts after them', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  t.teardown(() => silent.close());
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const hung = `127.0.0.1:${port}`;
  for (const parameters of ['', '?connect_timeout=60']) {
    const url = `postgres://postgres@${hung},${hung},127.0.0.1:${server.port}/postgres${parameters}`;
    t.equal(await read(url, 6000), 1, parameters);
  }
  await t.rejects(read(`postgres://postgres@127.0.0.1:1,${hung}/postgres`, 400), {
    message: new RegExp(`${hung} was not ready in time`),
  });
});
