/**
 * Differences since past snapshots, compared with the oracle. Inside, because its bounds are thousands of
 * publications.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import {
  SNAPSHOT_DIFFERENCES_ENTRIES_MAX,
  SNAPSHOT_HISTORY_ENTRIES_MAX,
  SNAPSHOTS_KEPT_MAX,
  SNAPSHOTS_KEPT_MIN,
} from '../../src/base/limits.js';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { editImage } from '../../src/change/apply.js';
import {
  type Change,
  type EarlierRows,
  earlierRowCount,
  earlierRowsIn,
  earlierRowsOf,
} from '../../src/change/change.js';
import { changeOfEdit, compare } from '../../src/change/compare.js';
import { differenceSince, extendHistory, type History, NO_DIFFERENCES } from '../../src/change/history.js';
import { byteLengthOf } from '../../src/snapshot/image.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';

import { runs } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import { eventOf, idOf, imageOf } from '../snapshot/images.js';

// On a busy machine this takes minutes.
const ENTRIES_MAX = 1000;

type Content = ReadonlyMap<string, NormalisedEvent>;

interface Generation {
  readonly content: Content;
  readonly snapshot: Snapshot;
}

/** Small sets of few different events, so that the same set and the same event reappear. */
const contentArbitrary: fc.Arbitrary<Content> = fc
  .uniqueArray(fc.tuple(fc.nat(11), fc.nat(2), fc.nat(2)), { selector: ([n]) => n, maxLength: 12 })
  .map((events) => {
    const content = events.map(([n, hour, title]) => {
      const { time } = eventOf(0);
      const moved = { time: time + hour * 3_600_000, endTime: time + (hour + 1 + (n % 2)) * 3_600_000 };
      return eventOf(n, { ...moved, title: `form ${title}` });
    });
    return new Map(content.map((event) => [event.id, event]));
  });

function generationOf(content: Content): Generation {
  return { content, snapshot: new Snapshot(imageOf(content.values())) };
}

/** The slow way: both sets, event by event. Ids in order. */
function differences(before: Content, after: Content): Record<'added' | 'changed' | 'removed', string[]> {
  const same = (id: string): boolean => JSON.stringify(before.get(id)) === JSON.stringify(after.get(id));
  return {
    added: [...after.keys()].filter((id) => !before.has(id)).sort(),
    changed: [...after.keys()].filter((id) => before.has(id) && !same(id)).sort(),
    removed: [...before.keys()].filter((id) => !after.has(id)).sort(),
  };
}

test('the change of an edit equals the change between two snapshots', (t) => {
  fc.assert(
    fc.property(contentArbitrary, contentArbitrary, fc.constantFrom(2, ENTRIES_MAX), (a, b, max) => {
      const base = imageOf(a.values());
      const went = [...a.keys()].filter((id) => !b.has(id));
      const { image, ...made } = editImage(base, { came: [...b.values()], went });
      const [before, after] = [new Snapshot(base), new Snapshot(image)];
      const { edit, ...change } = changeOfEdit(before, after, made, max);
      const { edit: none, ...expected } = compare(before, after, max);
      assert.deepEqual(change, expected);
      assert.equal(none, null);
      assert.equal(edit === null, change.earlier === null);
    }),
    { seed: 54, numRuns: runs(500) },
  );
  t.pass();
  t.end();
});

/** The ids of a difference, each kind in order; null if unknown. */
function toldSince(
  history: History | null,
  from: string,
  present: Snapshot,
): ReturnType<typeof differences> | null {
  const all = history?.differences ?? NO_DIFFERENCES;
  const difference = differenceSince(all, from, present.summary.id);
  if (difference === null) return null;
  const removedIds = JSON.parse(Buffer.from(all.removedIds.json.bytes).toString('utf8')) as string[];
  const idsOf = (ordinals: Uint32Array): string[] =>
    [...ordinals].map((ordinal) => present.rows.idOf(ordinal)).sort();
  return {
    added: idsOf(difference.added.entries),
    changed: idsOf(difference.changed.entries),
    removed: [...difference.removed.entries].map((n) => removedIds[n] ?? ''),
  };
}

function counts(of: {
  added: number | string[];
  changed: number | string[];
  removed: number | string[];
}): number[] {
  return [of.added, of.changed, of.removed].map((each) => (Array.isArray(each) ? each.length : each));
}

test('the comparison of two snapshots agrees with the oracle', async (t) => {
  const check = (): void =>
    fc.assert(
      fc.property(contentArbitrary, contentArbitrary, (a, b) => {
        const [before, after] = [generationOf(a), generationOf(b)];
        const change = compare(before.snapshot, after.snapshot, ENTRIES_MAX);
        const expected = differences(a, b);
        assert.deepEqual(counts(change), counts(expected));
        assert.deepEqual([change.from, change.to], [before.snapshot.summary.id, after.snapshot.summary.id]);
        assert.deepEqual(
          [...earlierRowsIn(change.earlier, generationOf(new Map()).snapshot)]
            .map(([, id, digest]) => [id, digest === null])
            .sort(),
          [
            ...expected.added.map((id) => [id, true]),
            ...[...expected.changed, ...expected.removed].map((id) => [id, false]),
          ].sort(),
          'every event that is different, and whether there was one before',
        );
      }),
      { seed: 20240902, numRuns: runs(150) },
    );
  t.doesNotThrow(check);
});

test('the changes since any past snapshot equal the difference of the full sets', async (t) => {
  const check = (): void =>
    fc.assert(
      fc.property(fc.array(contentArbitrary, { minLength: 1, maxLength: 10 }), (contents) => {
        const generations = contents.map(generationOf);
        let history: History | null = null;
        for (const [n, present] of generations.entries()) {
          const last = generations[n - 1];
          if (last !== undefined) {
            const change = compare(last.snapshot, present.snapshot, ENTRIES_MAX);
            history = extendHistory(history?.changes ?? [], [change], present.snapshot);
          }
          for (const past of generations.slice(0, n + 1)) {
            assert.deepEqual(
              toldSince(history, past.snapshot.summary.id, present.snapshot),
              differences(past.content, present.content),
            );
          }
        }
        assert.equal(toldSince(history, 'of another process', generations[0]?.snapshot as Snapshot), null);
      }),
      { seed: 20240902, numRuns: runs(60) },
    );
  t.doesNotThrow(check);
});

fastTest('a difference too large to keep is given as counts and ends the history', async (t) => {
  const sets = [3, 6, 9, 10].map((count) =>
    generationOf(new Map(Array.from({ length: count }, (_, n) => [idOf(n), eventOf(n)]))),
  );
  const [a, b, c, d] = sets.map(({ snapshot }) => snapshot) as [Snapshot, Snapshot, Snapshot, Snapshot];
  const tooLarge = compare(b, c, 2);
  t.strictSame([tooLarge.added, tooLarge.earlier], [3, null]);
  const fits = compare(b, c, 3).earlier;
  t.equal(fits === null ? null : earlierRowCount(fits), 3, 'exactly as many as are kept');
  const swapped = compare(a, generationOf(new Map([[idOf(0), eventOf(0)]])).snapshot, 1);
  t.strictSame([swapped.removed, swapped.earlier], [2, null]);

  const first = extendHistory([], [compare(a, b, 100)], b);
  const gap = extendHistory(first.changes, [tooLarge], c);
  t.strictSame([gap.changes, gap.differences.since], [[], []]);
  const history = extendHistory(gap.changes, [compare(c, d, 100)], d);
  t.equal(toldSince(history, a.summary.id, d), null);
  t.equal(toldSince(history, b.summary.id, d), null);
  t.strictSame(toldSince(history, c.summary.id, d)?.added.length, 1, 'what came after it is known');
});

/** Earlier events, all with distinct ids. */
function earlier(n: number, entries: number): EarlierRows {
  const rows = Array.from({ length: entries }, (_, entry) => [`${n}-${entry}`, 'some digest.'] as const);
  return earlierRowsOf(null, rows);
}

fastTest('the history is bounded in snapshots and entries, and drops the oldest first', async (t) => {
  const [present] = [generationOf(new Map()).snapshot];
  const change = (n: number, entries: number): Change => ({
    from: `snapshot ${n}`,
    to: `snapshot ${n + 1}`,
    added: 0,
    removed: entries,
    changed: 0,
    sequence: n,
    earlier: earlier(n, entries),
    edit: null,
  });
  const after = (changes: readonly Change[], next: Change): History =>
    extendHistory(changes, [next], present);
  /** The history after this many publications. They are made at once, because each call makes all differences. */
  const afterAll = (count: number, entries: number): History =>
    after(
      Array.from({ length: count - 1 }, (_, n) => change(n, entries)),
      change(count - 1, entries),
    );
  const history = afterAll(SNAPSHOTS_KEPT_MAX + 3, 1);
  t.equal(toldSince(history, 'snapshot 2', present), null);
  t.equal(toldSince(history, 'snapshot 3', present)?.removed.length, SNAPSHOTS_KEPT_MAX);

  // Each difference has the entries of all changes since: 1 + 2 + … times the entries of one.
  const entries = 200;
  const wide = afterAll(40, entries);
  const kept = wide.differences.since.length;
  t.ok((entries * kept * (kept + 1)) / 2 <= SNAPSHOT_DIFFERENCES_ENTRIES_MAX);
  t.ok((entries * (kept + 1) * (kept + 2)) / 2 > SNAPSHOT_DIFFERENCES_ENTRIES_MAX, 'as many as fit');
  t.ok(byteLengthOf(wide.differences.since) <= 4 * SNAPSHOT_DIFFERENCES_ENTRIES_MAX);
  const most = Math.floor(SNAPSHOT_HISTORY_ENTRIES_MAX / SNAPSHOTS_KEPT_MIN / 10);
  const large16 = afterAll(SNAPSHOTS_KEPT_MIN + 2, most);
  t.equal(large16.differences.since.length, SNAPSHOTS_KEPT_MIN, 'so many are always kept');

  const half = SNAPSHOT_HISTORY_ENTRIES_MAX / 2;
  let large = after([], change(0, half));
  for (let n = 1; n < 3; n++) large = after(large.changes, change(n, half));
  t.equal(toldSince(large, 'snapshot 0', present), null);
  t.equal(toldSince(large, 'snapshot 1', present)?.removed.length, 2 * half, 'exactly as many as are kept');
  const tooLarge = after(large.changes, change(3, SNAPSHOT_HISTORY_ENTRIES_MAX + 1));
  t.equal(toldSince(tooLarge, 'snapshot 3', present), null);
  t.equal(toldSince(tooLarge, 'snapshot 2', present), null);
});

fastTest('all differences are in shared memory, at 4 bytes an event', async (t) => {
  const titled = (title: string): Generation =>
    generationOf(new Map(Array.from({ length: 400 }, (_, n) => [idOf(n), eventOf(n, { title })])));
  let last = titled('0');
  let history: History | null = null;
  const past = 16;
  for (let n = 1; n <= past; n++) {
    const next = titled(String(n));
    const change = compare(last.snapshot, next.snapshot, ENTRIES_MAX);
    history = extendHistory(history?.changes ?? [], [change], next.snapshot);
    last = next;
  }
  const { since } = (history as History).differences;
  t.equal(since.length, past);
  for (const { changed } of since) {
    t.equal(changed.entries.length, 400);
    t.ok(changed.entries.buffer instanceof SharedArrayBuffer);
  }
  t.equal(new Set(since.map(({ changed }) => changed.entries.buffer)).size, 1, 'in one piece');
  t.ok(byteLengthOf(since) === past * 400 * 4);
});
