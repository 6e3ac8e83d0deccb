import { test } from 'tap';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { ImageFiller } from '../../src/snapshot/image-filler.js';
import { imagePieces } from '../../src/snapshot/image-layout.js';
import { imageOfCount, stored } from './images.js';

/** All arrays and the summary, in one order of names. */
function bytesOf(image: SnapshotImage): Buffer {
  const ordered = inOrder(image) as SnapshotImage;
  return Buffer.concat(imagePieces(stored(ordered)));
}

function inOrder(part: unknown): unknown {
  if (typeof part !== 'object' || part === null || ArrayBuffer.isView(part) || Array.isArray(part))
    return part;
  const entries = Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, inOrder(inner)]));
}

test('an image is filled from pieces of any length; bytes that are no image are refused', (t) => {
  const image = imageOfCount(30);
  const bytes = bytesOf(image);
  for (const length of [1, 7, 4096, bytes.length]) {
    const filler = new ImageFiller(bytes.length);
    for (let at = 0; at < bytes.length; at += length) filler.write(bytes.subarray(at, at + length));
    t.ok(bytesOf(filler.finish().image).equals(bytes), `pieces of ${length}`);
  }
  const filled = (given: Uint8Array, bytesTotal = given.length): (() => unknown) => {
    const filler = new ImageFiller(bytesTotal);
    filler.write(given);
    return () => filler.finish();
  };
  t.throws(filled(bytes.subarray(0, -1)), /ends early/);
  t.throws(filled(bytes.subarray(0, -1), bytes.length), /ends early/);
  t.throws(filled(Buffer.concat([bytes, Buffer.of(1)])), /longer/);
  t.throws(filled(Buffer.from('not an image, and longer than its prefix')), /not a snapshot file/);
  t.throws(filled(Buffer.alloc(0)), /not a snapshot file/);
  t.end();
});

test('an array named __proto__ changes no object but its image', (t) => {
  const image = Object.defineProperty({ ...imageOfCount(1) }, '__proto__', {
    value: { polluted: new Uint8Array([1]) },
    enumerable: true,
  });
  const bytes = Buffer.concat(imagePieces(stored(image)));
  const filler = new ImageFiller(bytes.length);
  filler.write(bytes);
  filler.finish();
  t.equal(({} as { polluted?: unknown }).polluted, undefined);
  t.end();
});
