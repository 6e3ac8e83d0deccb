/** A snapshot file with changes after its image: what is read back, also after a kill at any byte. */
import { copyFileSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { type Change, encodeChanges } from '../../src/change/change.js';
import { appendChanges, readSnapshotFile, writeSnapshotFile } from '../../src/change/snapshot-file.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { eventOf, idOf, imageOfCount, stored } from '../snapshot/images.js';
import { changed } from './edits.js';

interface Step {
  readonly image: SnapshotImage;
  readonly change: Change;
}

/** Three publications after a first one. */
function steps(base: SnapshotImage): Step[] {
  let image = base;
  return [0, 1, 2].map((n) => {
    const edit = { came: [eventOf(n, { title: `changed ${n}` })], went: [idOf(10 + n)] };
    const step = changed(image, edit);
    image = step.image;
    return { image, change: { ...step.change, sequence: 101 + n } };
  });
}

async function written(
  path: string,
): Promise<{ readonly base: SnapshotImage; readonly all: readonly Step[] }> {
  const base = imageOfCount(40);
  const all = steps(base);
  let place = writeSnapshotFile(path, stored(base, { sequence: 100, sourceVersion: 'v 0' }), []);
  for (const [n, { change }] of all.entries()) {
    const next = await appendChanges(path, place, [change], `v ${n + 1}`);
    if (next === null) throw new Error('nothing was added');
    place = next;
  }
  return { base, all };
}

test('image, changes, history, sequence and version of the source are read back', async (t) => {
  const path = join(t.testdir(), 'file');
  const { base, all } = await written(path);
  const { image, history, sequence, sourceVersion } = readSnapshotFile(path);
  t.strictSame(image, all[2]?.image);
  t.strictSame([sequence, sourceVersion], [103, 'v 3']);
  t.strictSame(
    history?.changes.map(({ from, to }) => [from, to]),
    all.map(({ image: { summary } }, n) => [(all[n - 1]?.image ?? base).summary.id, summary.id]),
  );

  // The next image contains these changes, and they stay its history.
  writeSnapshotFile(path, stored(image, { sequence: 103 }), history?.changes ?? []);
  const again = readSnapshotFile(path);
  t.strictSame(again.history?.differences, history?.differences);
  t.equal(again.sequence, 103);
});

test('a file that ends at any byte of a change opens with the last whole one, and is continued from there', async (t) => {
  const path = join(t.testdir(), 'file');
  const { base, all } = await written(path);
  const bytes = readFileSync(path);
  const cut = `${path}.cut`;
  const { imageBytes } = readSnapshotFile(path).place;
  const ends = [imageBytes];
  for (const [n, { change }] of all.entries())
    ends.push((ends.at(-1) ?? 0) + encodeChanges([change], `v ${n + 1}`).length);
  t.equal(ends.at(-1), bytes.length);
  // Every byte is tried with the bytes of changes alone.
  const lengths = [...ends.flatMap((end) => [end - 1, end, end + 9]), ends[1] ?? 0].filter(
    (length) => length >= imageBytes && length <= bytes.length,
  );
  for (const length of lengths) {
    writeFileSync(cut, bytes.subarray(0, length));
    const { image, sequence } = readSnapshotFile(cut);
    const whole = ends.filter((end) => end <= length).length - 1;
    const expected = all[whole - 1]?.image ?? base;
    t.strictSame([image.summary.id, sequence], [expected.summary.id, 100 + whole], `${length} bytes`);
  }
  const middle = (ends[1] ?? 0) + 50;
  copyFileSync(path, cut);
  truncateSync(cut, middle);
  const { place } = readSnapshotFile(cut);
  t.ok(await appendChanges(cut, place, [all[1]?.change as Change], 'v 2'));
  t.strictSame(readSnapshotFile(cut).image, all[1]?.image);
  t.equal(statSync(cut).size, ends[2], 'the torn change is gone');
});

test('a damaged change in the middle ends the file; changes of another image are refused', async (t) => {
  const path = join(t.testdir(), 'file');
  const { base, all } = await written(path);
  const bytes = readFileSync(path);
  const { place } = readSnapshotFile(path);
  const at = place.imageBytes + 30;
  bytes.writeUInt8(255 - bytes.readUInt8(at), at);
  writeFileSync(path, bytes);
  t.strictSame(readSnapshotFile(path).image, base);

  const other = writeSnapshotFile(path, stored(imageOfCount(5)), []);
  await appendChanges(path, other, [all[0]?.change as Change], null);
  t.throws(() => readSnapshotFile(path), { code: 'image-unusable', message: /of another image/ });
});

test('nothing is added to a file that another process has replaced, changed or removed', async (t) => {
  const path = join(t.testdir(), 'file');
  const { all } = await written(path);
  const change = all[2]?.change as Change;
  const { place } = readSnapshotFile(path);
  writeFileSync(path, 'more', { flag: 'a' });
  t.equal(await appendChanges(path, place, [change], null), null, 'longer');
  writeSnapshotFile(path, stored(imageOfCount(40)), []);
  t.equal(await appendChanges(path, place, [change], null), null, 'replaced');
  rmSync(path);
  t.equal(await appendChanges(path, place, [change], null), null, 'removed');
});
