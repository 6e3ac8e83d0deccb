/** Cycles of chaos: one or two acts, then a new timetable that all replicas must serve. */
import type { Test } from 'tap';
import { until } from '../fleet.js';
import { ACTS, type Random } from './acts.js';
import { ChaosFleet } from './chaos-fleet.js';

/** Numerical Recipes' linear congruential generator: numbers from 0 to 1, the same for the same seed. */
function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Every act comes equally often, in another order each time. */
function* actsOf(random: Random): Generator<string, never> {
  for (;;) {
    const names = Object.keys(ACTS);
    while (names.length > 0) yield names.splice(Math.floor(random() * names.length), 1)[0] ?? '';
  }
}

/**
 * After each cycle: every id that was served had been announced by a publisher, no poison was served, no version went
 * back, no read failed, and all replicas answer alike.
 *
 * @returns the times until all replicas were equal, ms
 */
export async function runChaos(
  t: Test,
  {
    cycles,
    seed,
    only,
  }: { readonly cycles: number; readonly seed: number; readonly only?: readonly string[] },
): Promise<readonly number[]> {
  const random = seeded(seed);
  const fleet = await ChaosFleet.open(t);
  await until(() => fleet.isEqual, 'the fleet serves').catch((error: Error) => {
    throw new Error(`${error.message}\n${fleet.describe()}`);
  });
  const acts = actsOf(random);
  const times: number[] = [];
  for (let cycle = 1; cycle <= cycles; cycle++) {
    const name = only?.[(cycle - 1) % only.length] ?? acts.next().value;
    if (random() < 0.5) fleet.publish(`during ${cycle}`);
    await ACTS[name]?.(fleet, random);
    fleet.publish(`cycle ${cycle}`);
    const tookMs = await until(() => fleet.isEqual, `all replicas are equal after: ${name}`).catch(
      (error: Error) => {
        throw new Error(`cycle ${cycle}: ${error.message}\n${fleet.describe()}`);
      },
    );
    times.push(tookMs);
    const readers = fleet.replicas.map(({ reader }) => reader);
    const wrong = [...new Set(readers.flatMap(({ ids }) => [...ids]))].filter(
      (id) => !fleet.announced.has(id) || fleet.forged.has(id),
    );
    const failures = readers.flatMap((reader) => reader.failures);
    t.strictSame(
      { wrong, failures },
      { wrong: [], failures: [] },
      `${name}: equal after ${Math.round(tookMs)} ms`,
    );
    if (wrong.length + failures.length > 0) throw new Error(`cycle ${cycle}: ${fleet.describe()}`);
  }
  t.ok(
    fleet.replicas.every(({ reader }) => reader.reads > cycles),
    'all were read all the time',
  );
  return times;
}
