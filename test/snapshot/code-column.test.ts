/** Columns of codes are as narrow as their dictionaries allow: the largest size for each width, and the next. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { checkerOf } from '../../src/answer/execute.js';
import { clausesOf } from '../../src/answer/plan.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { readImageFile, writeImageFile } from '../../src/snapshot/image-file.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import { eventOf, imageOf, stored } from './images.js';

const ALWAYS = { startMs: Number.NEGATIVE_INFINITY, endMs: Number.POSITIVE_INFINITY };
const path = join(mkdtempSync(join(tmpdir(), 'lectern-codes-')), 'image');

const roomOf = (n: number): string => `Room ${String(n).padStart(6, '0')}`;

/** Event n has room n; the event after the last room has none. */
function imageOfRooms(count: number): SnapshotImage {
  return imageOf(
    Array.from({ length: count + 1 }, (_, n) =>
      eventOf(n, { time: n, endTime: n + 1, roomId: n === count ? null : roomOf(n) }),
    ),
  );
}

const WIDTHS = [
  { count: 0, type: Uint8Array },
  { count: 1, type: Uint8Array },
  { count: 255, type: Uint8Array },
  { count: 256, type: Uint16Array },
  { count: 257, type: Uint16Array },
  { count: 65_535, type: Uint16Array },
  { count: 65_536, type: Uint32Array },
  { count: 65_537, type: Uint32Array },
];
// The largest sets take most of the time.
for (const { count, type } of WIDTHS) {
  test(`${count} rooms fit into their column, and so does an event without a room`, async (t) => {
    const image = imageOfRooms(count);
    const { codes, postings } = image.fields.roomId;
    t.equal(codes.constructor, type);
    t.equal(codes.length, count + 1);
    t.equal(postings.ordinals.length, count, 'the event without one is in no posting list');

    const snapshot = new Snapshot(image);
    const field = snapshot.field('roomId');
    const events = [...codes.keys()];
    const matching = (...values: string[]): number[] => {
      const filter = { field: 'roomId' as const, values, isExcluding: false };
      const query = { filters: [filter], identities: null, window: ALWAYS };
      return events.filter(checkerOf(snapshot, clausesOf(snapshot, query)));
    };
    for (const n of new Set([0, 1, 254, 255, 256, 65_534, 65_535, 65_536, count - 1])) {
      const isThere = n >= 0 && n < count;
      t.strictSame(matching(roomOf(n)), isThere ? [n] : [], `room ${n} by the column`);
      const code = field.dictionary.codeOf(roomOf(n));
      if (isThere) t.strictSame([...field.postings.subarray(field.start[code], field.start[code + 1])], [n]);
    }
    const first = [0, 1].filter((n) => n < count);
    t.strictSame(matching(roomOf(0), roomOf(1)), first, 'one of several by the column');

    writeImageFile(path, stored(image));
    const read = readImageFile(path).image.fields.roomId.codes;
    t.equal(read.constructor, type, 'from disk');
    t.ok(
      read.every((code, n) => code === codes[n]),
      'the same codes from disk',
    );
  });
}

test('an image is refused if column widths do not fit the dictionaries', async (t) => {
  for (const [count, Other] of [
    [255, Uint16Array],
    [255, Uint32Array],
    [256, Uint8Array],
    [256, Uint32Array],
    [65_536, Uint16Array],
  ] as const) {
    const image = imageOfRooms(count);
    const { roomId } = image.fields;
    const fields = { ...image.fields, roomId: { ...roomId, codes: Other.from(roomId.codes) } };
    writeImageFile(path, stored({ ...image, fields }));
    t.throws(() => readImageFile(path), /roomId: .*another type/, `${count} as ${Other.name}`);
  }
});

test('afterwards', (t) => {
  rmSync(join(path, '..'), { recursive: true });
  t.end();
});
