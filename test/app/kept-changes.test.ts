/** The snapshot file of a timetable whose records change: small changes are added to it. */
import { copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { MemorySource, openTimetable, type Timetable } from '../../src/index.js';
import { until } from '../waiting/until.js';

const EVENTS = 2000;

const record = (n: number, title: string): object => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  time: new Date(Date.UTC(2024, 8, 2, 8) + n * 60_000),
  endTime: new Date(Date.UTC(2024, 8, 2, 9) + n * 60_000),
  title,
});
const records = (): object[] => Array.from({ length: EVENTS }, (_, n) => record(n, 'first'));

const NONE = { ino: 0, size: 0 };
const fileOf = (path: string): { readonly ino: number; readonly size: number } =>
  statSync(path, { throwIfNoEntry: false }) ?? NONE;

async function open(source: MemorySource, snapshotFile: string): Promise<Timetable> {
  const timetable = openTimetable({ source, snapshotFile, watch: true });
  await timetable.ready;
  return timetable;
}

test('a small change adds a kilobyte, a file copied at any time opens with it, and large changes write the image', async (t) => {
  const folder = t.testdir();
  const path = join(folder, 'timetable.snapshot');
  const source = new MemorySource(records(), 'kept');
  const timetable = await open(source, path);
  const first = await until(
    () => fileOf(path),
    ({ size }) => size > 0,
  );
  const ids = [timetable.summary?.id ?? ''];
  for (const title of ['second', 'third']) {
    const { size } = fileOf(path);
    source.apply({ upsert: [record(7, title)] });
    await until(() => fileOf(path).size > size);
    ids.push(timetable.summary?.id ?? '');
    const now = fileOf(path);
    t.equal(now.ino, first.ino, 'the same file');
    t.ok(now.size - size < 2000, `${now.size - size} bytes`);
  }
  // As if the process were killed now.
  const copy = join(folder, 'copy');
  copyFileSync(path, copy);
  const version = timetable.view?.version;
  const pinned = openTimetable({ source: [], pin: copy });
  await pinned.ready;
  t.equal(pinned.view?.version, version);
  t.match(pinned.changes(ids[0] ?? ''), { changed: [{ title: 'third' }] });
  t.match(pinned.changes(ids[1] ?? ''), { changed: [{ title: 'third' }] });
  await pinned.close();

  source.apply({ upsert: Array.from({ length: EVENTS / 4 }, (_, n) => record(n, 'fourth')) });
  await timetable.refresh();
  await timetable.close();
  t.not(fileOf(path).ino, first.ino, 'the image is written again');
  const again = await open(new MemorySource(records(), 'kept'), path);
  t.match(again.get('00000000-0000-4000-8000-000000000007'), { title: 'fourth' });
  t.ok(again.changes(ids[0] ?? ''), 'the history is kept');
  await again.close();
});

test('the image is written again when its changes outgrow it', async (t) => {
  const path = join(t.testdir(), 'timetable.snapshot');
  const source = new MemorySource(records(), 'kept');
  const timetable = await open(source, path);
  const first = await until(
    () => fileOf(path),
    ({ size }) => size > 0,
  );
  for (let n = 0; fileOf(path).ino === first.ino && n < 100; n++) {
    const { size } = fileOf(path);
    source.apply({ upsert: Array.from({ length: 100 }, (_, k) => record(k, `${n}`.repeat(900))) });
    await timetable.refresh();
    await until(() => fileOf(path).size !== size);
  }
  t.not(fileOf(path).ino, first.ino);
  t.ok(fileOf(path).size < 1.3 * first.size);
  await timetable.close();
});
