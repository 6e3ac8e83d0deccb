/** Publications in a snapshot file: written ones are read back, and damaged ones are left out. */
import fc from 'fast-check';
import { test } from 'tap';
import { compareSnapshots, type Delta, extendHistory } from '../../src/snapshot/differences.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { readImageFile, writeImageFile } from '../../src/snapshot/image-file.js';
import type { Beside } from '../../src/snapshot/image-layout.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import { publicationsOf, withPublications } from '../../src/snapshot/stored-history.js';
import { runs } from '../hard/size.js';
import { imageOfCount } from './images.js';

/** Several publications in a row. */
function published(count: number): { image: SnapshotImage; deltas: readonly Delta[] } {
  let image = imageOfCount(20, { title: 'first' });
  let deltas: readonly Delta[] = [];
  for (let n = 1; n <= count; n++) {
    const next = imageOfCount(20 + (n % 5), { title: `after ${n}` });
    const present = new Snapshot(next);
    deltas = extendHistory(deltas, compareSnapshots(new Snapshot(image), present, 1000), present).deltas;
    image = next;
  }
  return { image, deltas };
}

const PARTS: Beside = { meta: { version: 1, parts: [] }, arrays: [Uint8Array.of(1, 2, 3)] };

test('history survives a file', async (t) => {
  for (const count of [0, 1, 5, 30]) {
    const { image, deltas } = published(count);
    const path = `${t.testdir()}/history.snapshot`;
    writeImageFile(path, image, null, null, withPublications(PARTS, { sequence: 1234, deltas }));
    const { beside, image: read } = readImageFile(path);
    t.match(beside?.meta, PARTS.meta, 'what else is kept stays');
    t.strictSame(beside?.arrays[0], PARTS.arrays[0]);
    const found = publicationsOf(beside, read);
    t.equal(found?.sequence, 1234);
    if (count === 0) t.equal(found?.history, null);
    else {
      const last = deltas.at(-1) as Delta;
      const expected = extendHistory(deltas.slice(0, -1), last, new Snapshot(image));
      t.strictSame(found?.history, expected, `${count} publications`);
    }
  }
});

test('files without publications are accepted', (t) => {
  const { image } = published(0);
  t.equal(publicationsOf(null, image), null);
  t.equal(publicationsOf(PARTS, image), null);
  t.equal(publicationsOf({ meta: { publications: 5 }, arrays: [] }, image), null);
  t.end();
});

test('damaged or unrelated publications are left out', (t) => {
  const { image, deltas } = published(3);
  const whole = withPublications(null, { sequence: 7, deltas });
  t.ok(publicationsOf(whole, image)?.history);
  t.equal(publicationsOf(whole, published(2).image)?.history, null, 'another image');
  type Meta = { publications: { sequence: unknown; version: unknown; deltas: Record<string, unknown>[] } };
  const { publications } = whole.meta as Meta;
  const withMeta = (change: object): Beside => ({
    ...whole,
    meta: { publications: { ...publications, ...change } },
  });
  for (const sequence of [0, -1, 1.5, 'x', null, 2 ** 53]) {
    t.equal(publicationsOf(withMeta({ sequence }), image), null, `the sequence ${sequence}`);
  }
  t.equal(publicationsOf(withMeta({ version: 2 }), image), null);
  const cut = withMeta({ deltas: [publications.deltas[0], publications.deltas[2]] });
  t.equal(publicationsOf(cut, image)?.history, null, 'a gap');
  fc.assert(
    fc.property(
      fc.nat(2),
      fc.constantFrom('from', 'to', 'added', 'changed', 'removed', 'first'),
      fc.oneof(fc.integer(), fc.double(), fc.string(), fc.constant(null)),
      fc.nat(8),
      fc.oneof(fc.uint8Array(), fc.uint32Array()),
      (n, name, value, place, array) => {
        const changed = publications.deltas.map((delta, i) =>
          i === n ? { ...delta, [name]: value } : delta,
        );
        publicationsOf(withMeta({ deltas: changed }), image);
        const arrays = whole.arrays.map((each, i) => (i === place ? array : each));
        publicationsOf({ ...whole, arrays }, image);
        return true;
      },
    ),
    { seed: 57, numRuns: runs(300) },
  );
  t.pass('nothing throws');
  const [ids, idStart, digests] = whole.arrays as [Uint8Array, Uint32Array, Uint8Array];
  const damaged = [
    [ids.subarray(1), idStart, digests],
    [ids, idStart.subarray(1), digests],
    [ids, Uint32Array.from(idStart).reverse(), digests],
    [ids, idStart, digests.subarray(1)],
    [ids, Uint8Array.from(idStart), digests],
  ];
  for (const first of damaged) {
    t.equal(publicationsOf({ ...whole, arrays: [...first, ...whole.arrays.slice(3)] }, image)?.history, null);
  }
  t.end();
});
