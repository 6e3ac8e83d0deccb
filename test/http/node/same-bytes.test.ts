/** Requests on the fast path and requests that Node handles get the same bytes and the same lines of the log. */
import fc from 'fast-check';
import { test } from 'tap';
import { size } from '../../hard/size.js';
import { assertSameBothWays, CASES, type Script, script } from './both-ways.js';

const SEED = 20_270_301;

test('the corpus of raw requests, whole and cut', async (t) => {
  const scripts = CASES.flatMap((bytes, n): Script[] => {
    const step = Math.max(1, Math.ceil(bytes.length / size(2, bytes.length, bytes.length)));
    const cuts: Script[] = [];
    for (let at = 1 + (n % step); at < bytes.length; at += step)
      cuts.push([bytes.subarray(0, at), bytes.subarray(at)]);
    return [[bytes], ...cuts];
  });
  await assertSameBothWays(t, scripts);
});

test('generated requests, behind each other and in pieces', async (t) => {
  // 33,000 scripts have 100,000 requests.
  await assertSameBothWays(t, fc.sample(script, { numRuns: size(200, 33_000), seed: SEED }));
});
