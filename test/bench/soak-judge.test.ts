/** A soak's verdict on memory: it finds leaks, and ignores chance. */
import { test } from 'tap';
import { judgeMemory, LIMITS, type Look, type MemoryName } from '../soak/judge.mjs';
import { fitOf } from '../soak/slope.mjs';

const MB = 1_000_000;
const NAMES = Object.keys(LIMITS) as MemoryName[];

/** Mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Measurements every 30 s: a level, noise in MB (as a standard deviation), and a leak. */
function looksOf(
  minutes: number,
  seed: number,
  leak: { name: MemoryName; mbPerHour: number } | null,
): Look[] {
  const random = randomOf(seed);
  // A sum of twelve is nearly normal, with a deviation of 1.
  const normal = (): number => Array.from({ length: 12 }, random).reduce((sum, x) => sum + x, -6);
  const deviations = { heapUsed: 0.37, heapWithoutCode: 0.1, arrayBuffers: 0.5, external: 0.5, rss: 6 };
  return Array.from({ length: 2 * minutes }, (_, n) => {
    const hours = n / 120;
    const bytesOf = (name: MemoryName): number =>
      (100 + deviations[name] * normal() + (leak?.name === name ? leak.mbPerHour * hours : 0)) * MB;
    return {
      hours,
      ...(Object.fromEntries(NAMES.map((name) => [name, bytesOf(name)])) as Record<MemoryName, number>),
    };
  });
}

test('a line is fitted through points, with the standard error of its slope', async (t) => {
  t.match(fitOf([1, 2, 3, 7].map((x) => ({ x, y: 5 - 2 * x }))), { slope: -2, error: 0 });
  const { slope, error } = fitOf([
    { x: 0, y: 1 },
    { x: 1, y: 3 },
    { x: 2, y: 2 },
  ]);
  t.equal(slope, 0.5);
  // Distances from the line: -0.5, 1, -0.5; so the error is sqrt(1.5 / 1 / 2).
  t.ok(Math.abs(error - Math.sqrt(0.75)) < 1e-12);
  t.equal(
    fitOf([
      { x: 0, y: 1 },
      { x: 1, y: 2 },
    ]).error,
    Number.POSITIVE_INFINITY,
  );
});

test('a heap that grows by 5 MB an hour is refused after an hour, with any noise', async (t) => {
  for (let seed = 0; seed < 200; seed++) {
    const { faults } = judgeMemory(looksOf(60, seed, { name: 'heapUsed', mbPerHour: 5 }), 60);
    if (faults.length !== 1 || !/^heapUsed grows by \d/.test(faults[0] ?? ''))
      t.fail(`${seed}: ${faults.join()}`);
  }
  t.pass('in all of 200 runs');
});

for (const [name, mbPerHour] of [
  ['heapUsed', 20],
  ['heapWithoutCode', 6],
  ['arrayBuffers', 40],
  ['external', 40],
  ['rss', 400],
] as const) {
  test(`${name} that grows by ${mbPerHour} MB an hour is refused after 20 minutes`, async (t) => {
    let refused = 0;
    for (let seed = 0; seed < 200; seed++) {
      const { faults } = judgeMemory(looksOf(20, seed, { name, mbPerHour }), 20);
      if (faults.some((fault) => fault.startsWith(`${name} grows`))) refused++;
    }
    t.equal(refused, 200);
  });
}

test('a slope above the limit never passes; a slope below it is always decided', async (t) => {
  const seen = { passed: 0, undecided: 0, refused: 0 };
  for (let seed = 0; seed < 200; seed++) {
    const looks = looksOf(20, seed, { name: 'heapUsed', mbPerHour: 2 });
    const { faults, undecided, figures } = judgeMemory(looks, 20);
    const isAbove = figures.heapUsed.mbPerHour > figures.heapUsed.mbPerHourMax;
    const ofHeap = (texts: readonly string[]): boolean => texts.some((text) => text.startsWith('heapUsed '));
    if (isAbove !== (ofHeap(faults) || ofHeap(undecided)) || (ofHeap(faults) && ofHeap(undecided))) {
      t.fail(`${seed}: ${JSON.stringify({ faults, undecided, figures })}`);
    }
    if (ofHeap(undecided)) seen.undecided++;
    else if (ofHeap(faults)) seen.refused++;
    else seen.passed++;
    for (const text of undecided) t.match(text, /a run of \d+ minutes could tell$/);
  }
  t.ok(seen.undecided > 50 && seen.passed > 20, JSON.stringify(seen));
});

test('noise alone rarely fails a run', async (t) => {
  for (const minutes of [20, 60]) {
    let refused = 0;
    for (let seed = 0; seed < 200; seed++) {
      if (judgeMemory(looksOf(minutes, seed, null), minutes).faults.length > 0) refused++;
    }
    // Five kinds of memory, each wrong in at most one of forty runs.
    t.ok(refused <= 20, `${refused} of 200 runs of ${minutes} minutes`);
  }
});

test('the judge says whether a run was long enough, and how long it has to be', async (t) => {
  const short = judgeMemory(looksOf(20, 1, null), 20).figures.heapUsed;
  t.equal(short.canTell, false);
  t.ok(short.minutesToTell > 30 && short.minutesToTell < 90, `${short.minutesToTell} minutes`);
  const long = judgeMemory(looksOf(90, 1, null), 90).figures.heapUsed;
  t.equal(long.canTell, true);
  t.ok(Math.abs(long.mbPerHour) < 1);
});

test('a short run fails if it leaks beyond its warm-up, or has too few samples', async (t) => {
  const looks = (mb: number): Look[] =>
    Array.from({ length: 14 }, (_, n) => {
      const level = (100 + (mb * n) / 13) * MB;
      return {
        hours: n / 1200,
        heapUsed: level,
        heapWithoutCode: MB,
        arrayBuffers: MB,
        external: MB,
        rss: MB,
      };
    });
  t.strictSame(judgeMemory(looks(4), 0.7).faults, []);
  t.match(judgeMemory(looks(30), 0.7).faults, [/^heapUsed grows/]);
  t.match(judgeMemory(looks(0).slice(0, 6), 0.7).faults, [/looks in the second half/]);
});
