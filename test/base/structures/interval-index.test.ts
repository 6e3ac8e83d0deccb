/** Intervals against a scan of all. Inside, as a data structure that could stand alone. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { buildIntervalIndex, IntervalIndex } from '../../../src/base/structures/interval-index.js';

type Interval = readonly [start: number, end: number];

function indexOf(
  intervals: readonly Interval[],
  perBucketMax = 4,
  treesMax = 3,
  scansMax = 0,
): IntervalIndex {
  const sorted = [...intervals].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const starts = Float64Array.from(sorted, (interval) => interval[0]);
  const ends = Float64Array.from(sorted, (interval) => interval[1]);
  return new IntervalIndex(starts, ends, buildIntervalIndex(starts, ends, perBucketMax), {
    treesMax,
    scansMax,
  });
}

/** The window rule, directly from its definition. */
function overlapping(intervals: readonly Interval[], from: number, to: number): number[] {
  return [...intervals]
    .sort((a, b) => a[0] - b[0] || a[1] - b[1])
    .flatMap(([start, end], i) =>
      (start === end ? from <= start && start < to : start < to && end > from) ? [i] : [],
    );
}

function ask(index: IntervalIndex, from: number, to: number): number[] {
  const within = index.startingWithin(from, to);
  const found = [...index.runningAt(from)];
  for (let i = within.first; i < within.end; i++) found.push(i);
  return found;
}

const interval = fc
  .tuple(
    fc.integer({ min: 0, max: 40 }),
    fc.oneof(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 50 })),
  )
  .map(([start, length]): Interval => [start, start + length]);

test('a window finds exactly the intervals that overlap it', (t) => {
  fc.assert(
    fc.property(
      fc.array(interval, { maxLength: 60 }),
      fc.integer({ min: -2, max: 95 }),
      fc.integer({ min: 1, max: 95 }),
      (intervals, from, length) => {
        const expected = overlapping(intervals, from, from + length);
        // Tests trees, scans and repeated queries.
        assert.deepEqual(ask(indexOf(intervals), from, from + length), expected);
        const index = indexOf(intervals, 4, 3, 1);
        for (let time = 0; time < 3; time++) assert.deepEqual(ask(index, from, from + length), expected);
      },
    ),
    { seed: 1, numRuns: 2000 },
  );
  t.pass('every generated case');
  t.end();
});

test('a search with a limit gives all intervals, or null if there are more', (t) => {
  const intervals = Array.from({ length: 100 }, (_, i): Interval => [i, i + 10]);
  // Tests trees built at once, and scans.
  for (const scansMax of [0, 255]) {
    for (const max of [0, 1, 8, 9, 10, Number.POSITIVE_INFINITY]) {
      const found = indexOf(intervals, 4, 100, scansMax).runningUpTo(50, max);
      t.strictSame(found && [...found], max < 9 ? null : [41, 42, 43, 44, 45, 46, 47, 48, 49], `${max}`);
    }
    t.strictSame(
      [...(indexOf(intervals, 4, 3, scansMax).runningUpTo(0, 0) ?? [-1])],
      [],
      'none is no more than none',
    );
  }
  t.end();
});

test('windows at every kind of boundary agree with a scan', (t) => {
  const intervals: Interval[] = [
    [10, 20],
    [15, 15],
    [20, 20],
    [20, 30],
  ];
  const index = indexOf(intervals);
  const cases: [from: number, to: number, expected: number[], why: string][] = [
    [0, 10, [], 'ends where the first begins'],
    [0, 11, [0], 'one instant of the first'],
    [19, 20, [0], 'the last instant of the first'],
    [20, 21, [2, 3], 'touches the first, holds the empty one at its start'],
    [15, 16, [0, 1], 'an empty interval at the start of the window'],
    [14, 15, [0], 'an empty interval at the end of the window'],
    [16, 17, [0], 'an empty interval that is over'],
    [30, 40, [], 'after everything'],
    [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, [0, 1, 2, 3], 'no bounds'],
    [Number.NEGATIVE_INFINITY, 15, [0], 'no lower bound'],
    [20, Number.POSITIVE_INFINITY, [2, 3], 'no upper bound'],
  ];
  for (const [from, to, expected, why] of cases) t.strictSame(ask(index, from, to), expected, why);
  t.end();
});

test('an index without intervals finds nothing', (t) => {
  const index = indexOf([]);
  t.strictSame(ask(index, 0, 10), []);
  t.end();
});

test('the trees in memory stay within their bound, and answers stay right', (t) => {
  const intervals = Array.from({ length: 400 }, (_, i): Interval => [i, i + 5]);
  const index = indexOf(intervals, 8, 3);
  for (let from = 0; from < 400; from += 7) {
    t.strictSame(ask(index, from, from + 1), overlapping(intervals, from, from + 1));
    t.ok(index.treeCount <= 3);
  }
  t.end();
});

test('a tree is built once scans have cost as much as its build, at most one per query', (t) => {
  const intervals = Array.from({ length: 12 }, (_, i): Interval => [i, i + 100]);
  const index = indexOf(intervals, 4, 2, 3);
  const counts = Array.from({ length: 9 }, () => {
    t.strictSame(ask(index, 50, 51), overlapping(intervals, 50, 51));
    return index.treeCount;
  });
  // Three buckets: three queries scan them, then each query builds one tree, and two trees are kept.
  t.strictSame(counts, [0, 0, 0, 1, 2, 2, 2, 2, 2]);
  t.end();
});

test('a few very long intervals do not make queries search every bucket', (t) => {
  const intervals: Interval[] = Array.from({ length: 5000 }, (_, i): Interval => [i * 10, i * 10 + 10]);
  for (let i = 0; i < 20; i++) intervals.push([i, 60_000]);
  const index = indexOf(intervals, 64, 1000);
  t.strictSame(ask(index, 25_005, 25_006), overlapping(intervals, 25_005, 25_006));
  // One bucket of short intervals, and the buckets of one or two length classes of long ones.
  t.ok(index.treeCount <= 4, `${index.treeCount} trees were built`);
  t.end();
});
