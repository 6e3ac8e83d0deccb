import { join } from 'node:path';
import { test } from 'tap';
import { runHere } from './run-here.js';

const DEMO = 'fixtures/demo.ndjson.gz';

test('explain takes free time as a path', async (t) => {
  const query = 'by=room&date=2026-10-05&weeks=3&limit=2';
  for (const path of ['/schedule/free', 'http://localhost:3000/api/v1/schedule/free/']) {
    const { code, stdout } = await runHere(t, ['explain', DEMO, `${path}?${query}`]);
    t.equal(code, 0);
    t.match(stdout, /^FREE room: \d+ known, \d+ of them with events$/m);
    t.match(
      stdout,
      /^WINDOW \[2026-10-05T00:00:00\.000Z, 2026-10-06T00:00:00\.000Z\), and 2 in later weeks: /m,
    );
    t.match(stdout, /^\d+ free, 2 on this page, /m);
  }
});

test('explain takes local days, in the zone of the query or of --time-zone', async (t) => {
  const window = /^WINDOW \[2026-10-24T22:00:00\.000Z, 2026-10-25T23:00:00\.000Z\): /m;
  const asked = [
    ['date=2026-10-25&timeZone=Europe/Berlin'],
    ['date=2026-10-25', '--time-zone', 'Europe/Berlin'],
    ['date=2026-10-25&timeZone=Europe/Berlin', '--time-zone', 'Asia/Tokyo'],
  ];
  for (const argv of asked) t.match((await runHere(t, ['explain', DEMO, ...argv])).stdout, window);
  const { code, stderr } = await runHere(t, ['explain', DEMO, 'date=2026-02-30']);
  t.equal(code, 2);
  t.match(stderr, /"2026-02-30" is not a date: 2026-02 has no day 30$/m);
});

test('explain reads a file of rooms', async (t) => {
  const id = '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417';
  const rooms = join(t.testdir({ 'rooms.csv': `id,name,building\n${id},Aula,A\n` }), 'rooms.csv');
  const path = '/schedule/free?by=room&date=2026-10-05&building=A';
  const { stdout } = await runHere(t, ['explain', DEMO, path, '--rooms', rooms]);
  t.match(stdout, /^1 free, /m);
  const { code, stderr } = await runHere(t, ['explain', DEMO, path, '--rooms', `${rooms}x`]);
  t.equal(code, 1);
  t.match(stderr, /rooms\.csvx/);
});
