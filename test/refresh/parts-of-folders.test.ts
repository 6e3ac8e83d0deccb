/** Folders as sources of a timetable. */
import { unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { open, record, states, titles } from './addresses.js';

test('a watched folder keeps, renews and drops the events of its files', async (t) => {
  const folder = t.testdir({
    'a.ndjson': record('a', '1'),
    'b.ndjson': record('b', '1'),
    'c.ndjson': record('c', '1'),
  });
  const { timetable, told } = open(t, { source: folder, refreshSeconds: 0, watch: true });
  await timetable.ready;
  const next = async (change: () => void): Promise<void> => {
    const loaded = new Promise<void>((resolve) => {
      timetable.on('loaded', () => resolve());
    });
    change();
    const timer = setInterval(() => {}, 1000);
    await loaded;
    clearInterval(timer);
  };
  await next(() => writeFileSync(join(folder, 'b.ndjson'), 'garbage'));
  t.strictSame(titles(timetable), ['a 1', 'b 1', 'c 1']);
  t.strictSame(states(timetable), ['ok', 'stale', 'ok']);
  t.equal(timetable.status, 'degraded', 'there is no interval to wait for');
  await next(() => writeFileSync(join(folder, 'b.ndjson'), record('b', '2')));
  t.strictSame(titles(timetable), ['a 1', 'b 2', 'c 1']);
  await next(() => writeFileSync(join(folder, 'd.ndjson'), record('d', '1')));
  await next(() => unlinkSync(join(folder, 'd.ndjson')));
  t.strictSame(titles(timetable), ['a 1', 'b 2', 'c 1']);
  t.match(told, [/^stale: /, 'ok']);
});

test('a changed part leaves the names, times and rejections of other parts unchanged', async (t) => {
  const folder = t.testdir({
    'a.csv': [
      'id,time,endTime,title,roomId,roomName,extra',
      'a1,2024-03-31T02:30,2024-03-31T04:00,in the gap,r1,Großer Saal,x',
      'a2,2024-04-01T08:00,2024-04-01T09:00,plain,r1,,x',
      'a3,yesterday,2024-04-01T09:00,bad,r1,,x',
      '',
    ].join('\n'),
    'b.ndjson': record('b', '1'),
    'c.json': `[${record('c', '1')},${record('c', '2')}]`,
  });
  const { timetable } = open(t, {
    source: folder,
    timeZone: 'Europe/Berlin',
    gate: { rejectPercentMax: 100 },
  });
  await timetable.ready;
  const facts = (): unknown => {
    const { events, rejectedByCode, rejections, ambiguousTimes, unserved } = timetable.summary ?? {};
    const rooms = timetable.directory('rooms');
    return { events, rejectedByCode, rejections, ambiguousTimes, unserved, rooms };
  };
  const before = facts();
  t.match(before, {
    events: 4,
    rejectedByCode: { 'malformed-time': 1, 'duplicate-id': 1 },
    ambiguousTimes: { gaps: 1, overlaps: 0 },
    unserved: { fields: [{ name: 'extra', records: 3 }] },
    rooms: { entries: [{ id: 'r1', name: 'Großer Saal' }] },
  });
  for (const n of [1, 2]) {
    writeFileSync(join(folder, 'b.ndjson'), record('b', `${n + 1}`));
    if (n === 2) writeFileSync(join(folder, 'a.csv'), '<html>');
    t.match(await timetable.refresh(), { result: 'published' });
    t.strictSame(facts(), before);
  }
  t.strictSame(states(timetable), ['stale', 'ok', 'ok']);
});
