/**
 * Rows as views of the snapshot, and rows that are gathered. Inside, because no client sees which of the two
 * it gets.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { generateEvents } from '../../bench/generate.mjs';
import { jsonRows } from '../../src/answer/json.js';
import { Selection } from '../../src/answer/selection.js';
import { runs } from '../hard/size.js';
import { createNormaliser } from '../normalise/objects.js';
import { snapshotOfEvents } from './reading.js';

const normalise = createNormaliser('uuid');
const { rows } = snapshotOfEvents(
  [...generateEvents({ events: 4000, seed: 7 })].map((record, n) => {
    const event = normalise(record, { record: n + 1 });
    assert.ok(!('code' in event));
    return event;
  }),
  'uuid',
);

/** Row by row. */
function slowly(runs: readonly number[]): string {
  const texts: string[] = [];
  for (let r = 0; r < runs.length; r += 2) {
    for (let n = runs[r] as number; n < (runs[r + 1] as number); n++)
      texts.push(rows.rowOf(n).toString('utf8'));
  }
  return `[${texts.join(',')}]`;
}

test('runs of any length form the same array, whether sent as views or gathered', (t) => {
  /** Gaps and lengths alternate; a view takes about a hundred rows. */
  const steps = fc.array(
    fc.tuple(
      fc.integer({ min: 1, max: 9 }),
      fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 60, max: 400 })),
    ),
    { maxLength: 40 },
  );
  let views = 0;
  let mixed = 0;
  fc.assert(
    fc.property(steps, fc.boolean(), (parts, fromFirst) => {
      const runs: number[] = [];
      let at = fromFirst ? -1 : 0;
      for (const [gap, length] of parts) {
        const first = Math.min(rows.count - 1, at + gap);
        const end = Math.min(rows.count, first + length);
        if (first >= end || first < at) break;
        runs.push(first, end);
        at = end;
      }
      const body = jsonRows(rows, Selection.ofRuns(Uint32Array.from(runs)));
      const bytes = Buffer.concat([...body.makeChunks()]);
      assert.equal(bytes.length, body.byteLength);
      assert.equal(bytes.toString('utf8'), slowly(runs));
      const chunks = [...body.makeChunks()].length;
      if (chunks > 1) views++;
      if (chunks > 1 && runs.length > chunks) mixed++;
    }),
    { numRuns: runs(300), seed: 11 },
  );
  t.ok(views > 50, `${views} with views`);
  t.ok(mixed > 20, `${mixed} with both`);
  for (const runs of [
    [0, rows.count],
    [0, rows.count - 1],
    [1, rows.count],
    [0, 200],
    [rows.count - 200, rows.count],
  ]) {
    const chunks = jsonRows(rows, Selection.ofRuns(Uint32Array.from(runs))).makeChunks();
    t.equal(Buffer.concat([...chunks]).toString('utf8'), slowly(runs));
  }
  t.end();
});
