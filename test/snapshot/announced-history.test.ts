/** Histories of announcements, compared with a history that knows every announced image. */
import fc from 'fast-check';
import { test } from 'tap';
import {
  nextAnnouncedHistory,
  readAnnouncedHistory,
  writeAnnouncedHistory,
} from '../../src/snapshot/announced-history.js';
import {
  compareSnapshots,
  type Delta,
  differenceSince,
  extendHistory,
  historyOf,
} from '../../src/snapshot/differences.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { patchImage } from '../../src/snapshot/patch.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import { runs } from '../hard/size.js';
import { eventOf, idOf, imageOfCount } from './images.js';

function extended(deltas: readonly Delta[], before: SnapshotImage, image: SnapshotImage): readonly Delta[] {
  const present = new Snapshot(image);
  return extendHistory(deltas, compareSnapshots(new Snapshot(before), present, 1000), present).deltas;
}

/** Events 0 to 7 get one of three titles, or are removed. */
const CHANGE = fc.record({ n: fc.nat(7), title: fc.constantFrom('a', 'b', 'c', null) });

function changed(image: SnapshotImage, { n, title }: { n: number; title: string | null }): SnapshotImage {
  return title === null
    ? patchImage(image, { upserts: [], removals: [idOf(n)] })
    : patchImage(image, { upserts: [eventOf(n, { title })], removals: [] });
}

test('an announced history equals a history of compared images, even if some publications are not announced', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ change: CHANGE, isAnnounced: fc.boolean() }), { maxLength: 12 }),
      (steps) => {
        let image = imageOfCount(8);
        let own: readonly Delta[] = [];
        let last = image;
        let announced: readonly Delta[] = [];
        let expected: readonly Delta[] = [];
        for (const { change, isAnnounced } of steps) {
          const next = changed(image, change);
          if (next.summary.id === image.summary.id) continue;
          own = extended(own, image, next);
          image = next;
          if (!isAnnounced || image.summary.id === last.summary.id) continue;
          const found = nextAnnouncedHistory(announced, last.summary.id, own, image);
          if (found === null) throw new Error('the changes are known');
          const bytes = writeAnnouncedHistory(found);
          announced = readAnnouncedHistory(bytes ?? Buffer.alloc(0), image.summary.id) ?? [];
          expected = extended(expected, last, image);
          last = image;
          const present = new Snapshot(image);
          const [mine, slow] = [announced, expected].map((deltas) => historyOf(deltas, present).differences);
          t.strictSame(mine, slow);
          for (const { from } of expected)
            if (mine && differenceSince(mine, from, image.summary.id) === null)
              throw new Error('an announced image is unknown');
        }
      },
    ),
    { numRuns: runs(60) },
  );
  t.end();
});

test('a history with a gap, or of another image, is not used', (t) => {
  const [first, second, third] = ['first', 'second', 'third'].map((title) => imageOfCount(5, { title }));
  if (first === undefined || second === undefined || third === undefined) throw new Error('three images');
  const own = extended([], second, third);
  t.equal(nextAnnouncedHistory([], first.summary.id, own, third), null, 'the first one is unknown');
  t.equal(nextAnnouncedHistory([], second.summary.id, own, first), null, 'it leads elsewhere');
  const bytes = writeAnnouncedHistory(own) ?? Buffer.alloc(0);
  t.equal(readAnnouncedHistory(bytes, third.summary.id)?.length, 1);
  t.equal(readAnnouncedHistory(bytes, second.summary.id), null);
  t.equal(readAnnouncedHistory(bytes.subarray(0, 20), third.summary.id), null);
  t.equal(readAnnouncedHistory(Buffer.from('no history'), third.summary.id), null);
  t.strictSame(
    readAnnouncedHistory(writeAnnouncedHistory([]) ?? Buffer.alloc(0), third.summary.id),
    [],
    'the first announcement',
  );
  t.end();
});
