/**
 * Without single internals of Node, both ways still give the same bytes. Inside, because an internal of Node
 * is taken away.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { INTERNALS, useInternals } from '../../../../src/http/node/internals.js';
import { size } from '../../../hard/size.js';
import { assertSameBothWays, script } from '../both-ways.js';

const SEED = 20_270_302;

test('generated requests without single internals of Node', async (t) => {
  const scripts = fc.sample(script, { numRuns: size(500, 2000), seed: SEED });
  // Without half-open connections, the answers depend on the time when a client closes its side.
  const parts = INTERNALS.filter((part) => part !== 'server.httpAllowHalfOpen');
  for (const part of parts) {
    useInternals([part]);
    await assertSameBothWays(t, scripts);
  }
});
