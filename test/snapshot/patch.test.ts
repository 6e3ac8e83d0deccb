import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { size } from '../hard/size.js';
import { assertChain, chains, timetables } from './patched.js';

const RUNS = size(1000, 10_000);

test('every step of generated sequences of changes equals a whole build, to the byte', async () => {
  fc.assert(
    fc.property(timetables, chains, (start, steps) => {
      assertChain(start, steps);
    }),
    { numRuns: Number(process.env.R ?? RUNS), seed: 53 },
  );
  assert.ok(RUNS > 0);
});
