/** Versions and histories across restarts, through the snapshot file. */

import { test } from 'tap';
import { MemorySource, openTimetable, type Timetable } from '../../src/index.js';
import { openHere } from './open-here.js';

const record = (n: number, title: string): object => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  time: '2024-09-02T08:00:00Z',
  endTime: '2024-09-02T10:00:00Z',
  title,
});
const records = (title: string): object[] =>
  Array.from({ length: 10 }, (_, n) => record(n, n === 0 ? title : ''));

const sequenceOf = (timetable: Timetable): number => Number(timetable.view?.version.split('.')[0]);

test('`since` survives a restart, and versions never go back', async (t) => {
  const snapshotFile = `${t.testdir()}/timetable.snapshot`;
  const open = async (title: string): Promise<{ timetable: Timetable; source: MemorySource }> => {
    const source = new MemorySource(records(title), 'restarted');
    const timetable = openHere({ source, snapshotFile });
    await timetable.ready;
    return { timetable, source };
  };
  const one = await open('one');
  const ids = [one.timetable.summary?.id ?? ''];
  for (const title of ['two', 'three']) {
    one.source.replace(records(title));
    await one.timetable.refresh();
    ids.push(one.timetable.summary?.id ?? '');
  }
  const before = one.timetable.view?.version;
  await one.timetable.close();

  const two = await open('three');
  t.equal(two.timetable.publication?.origin, 'disk');
  t.equal(two.timetable.view?.version, before, 'the publication of the file');
  t.match(two.timetable.changes(ids[0] ?? ''), { from: ids[0], to: ids[2], changed: [{ title: 'three' }] });
  const [missed] = await (async () => {
    for await (const each of two.timetable.changes({ since: ids[1] })) return [each];
    return [];
  })();
  t.match(missed, { from: ids[1], to: ids[2], changed: [{ title: 'three' }] });
  await two.timetable.refresh();
  t.equal(two.timetable.view?.version, before, 'equal content is no publication');
  two.source.replace(records('four'));
  await two.timetable.refresh();
  t.ok(sequenceOf(two.timetable) > Number(before?.split('.')[0]));
  t.match(two.timetable.changes(ids[0] ?? ''), { from: ids[0], changed: [{ title: 'four' }] });
  const last = sequenceOf(two.timetable);
  await two.timetable.close();

  const pinned = openTimetable({ source: [], pin: snapshotFile });
  await pinned.ready;
  t.equal(sequenceOf(pinned), last);
  await pinned.close();
  const three = await open('one');
  await three.timetable.refresh();
  t.equal(three.timetable.summary?.id, ids[0], 'content of the past');
  t.ok(sequenceOf(three.timetable) > last);
  await three.timetable.close();
});

test('versions never go back without a snapshot file, either', async (t) => {
  let last = 0;
  for (const title of ['one', 'two']) {
    const source = new MemorySource(records(title));
    const timetable = openHere({ source });
    await timetable.ready;
    for (let n = 0; n < 3; n++) {
      source.replace(records(`${title} ${n}`));
      await timetable.refresh();
      t.ok(sequenceOf(timetable) > last);
      last = sequenceOf(timetable);
    }
    await timetable.close();
  }
});
