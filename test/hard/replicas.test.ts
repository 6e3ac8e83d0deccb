import { test } from 'tap';
import { runChaos } from '../fleet/chaos/run-chaos.js';
import { NATS_MISSING } from '../store/nats-server.js';
import { HARD, size } from './size.js';

const { LECTERN_CHAOS_CYCLES, LECTERN_CHAOS_SEED, LECTERN_CHAOS_ONLY } = process.env;
/** The acts of a short run, which has one fleet for all of them. */
const SHORT = [
  'server killed',
  'publisher killed',
  'replica killed',
  'buckets deleted',
  'half of the events, forced',
  'a wrong signature',
];
const CYCLES = Number(LECTERN_CHAOS_CYCLES ?? size(SHORT.length, 100));
const SEED = Number(LECTERN_CHAOS_SEED ?? 1);
const ONLY = LECTERN_CHAOS_ONLY?.split(';') ?? (HARD ? undefined : SHORT);
/** Longest time until all replicas are equal, on a machine that does nothing else. */
const EQUAL_MS_MAX = 15_000;

test(`${CYCLES} cycles of chaos, seed ${SEED}`, {
  skip: NATS_MISSING,
  timeout: size(380_000, 3_500_000),
}, async (t) => {
  const times = await runChaos(t, {
    cycles: CYCLES,
    seed: SEED,
    ...(ONLY === undefined ? {} : { only: ONLY }),
  });
  const sorted = [...times].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  t.comment(`equal after ${Math.round(median)} ms (median), ${Math.round(sorted.at(-1) ?? 0)} ms at most`);
  // Otherwise other tests may keep the machine busy.
  const slow = HARD ? times.filter((ms) => ms > EQUAL_MS_MAX) : [];
  t.strictSame(slow, [], 'all replicas are equal within 15 s after each cycle');
  t.ok(median < EQUAL_MS_MAX, 'and mostly sooner');
});
