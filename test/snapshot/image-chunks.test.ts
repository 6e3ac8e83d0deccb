/** An image from chunks of any length. Inside, because stores choose the lengths themselves. */
import { test } from 'tap';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { imageOfChunks, imagePieces } from '../../src/snapshot/image-layout.js';
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

async function* chunksOf(bytes: Uint8Array, length: number = bytes.length): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

test('an image is read from chunks of any length; bytes that are no image are refused', async (t) => {
  const image = imageOfCount(30);
  const bytes = bytesOf(image);
  for (const length of [1, 7, 4096, bytes.length]) {
    const read = await imageOfChunks(chunksOf(bytes, length), bytes.length);
    t.ok(bytesOf(read.image).equals(bytes), `chunks of ${length}`);
  }
  const refused: readonly (readonly [Uint8Array, number, RegExp])[] = [
    [bytes.subarray(0, -1), bytes.length - 1, /ends early/],
    [bytes.subarray(0, -1), bytes.length, /ends early/],
    [Buffer.concat([bytes, Buffer.of(1)]), bytes.length + 1, /longer/],
    [Buffer.from('not an image, and longer than its prefix'), 40, /not a snapshot file/],
    [Buffer.alloc(0), 0, /not a snapshot file/],
  ];
  for (const [given, bytesTotal, reason] of refused)
    await t.rejects(imageOfChunks(chunksOf(given), bytesTotal), reason);
});

test('an array named __proto__ changes no object but its image', async (t) => {
  const image = Object.defineProperty({ ...imageOfCount(1) }, '__proto__', {
    value: { polluted: new Uint8Array([1]) },
    enumerable: true,
  });
  const bytes = Buffer.concat(imagePieces(stored(image)));
  await imageOfChunks(chunksOf(bytes), bytes.length);
  t.equal(({} as { polluted?: unknown }).polluted, undefined);
});
