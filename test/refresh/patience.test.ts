/** How long a load may take. Inside, because it would wait for whole intervals. */
import { test } from 'tap';
import { Patience, withTimeLimits } from '../../src/refresh/patience.js';
import type { SourceSpec } from '../../src/source/spec.js';

test('the time limit of an upstream is the interval or twice its longest load, within bounds', (t) => {
  const all = (ms: number): object => ({ headersMsMax: 0.9 * ms, idleMsMax: 0.9 * ms, totalMsMax: ms });
  const cases: [intervalMs: number, tookMs: number | null, limits: object | null][] = [
    [0, 100, null],
    [1000, null, null],
    [1000, 100, all(4000)],
    [20_000, 100, all(20_000)],
    [1000, 9000, all(18_000)],
    [120_000, 100, { headersMsMax: 60_000, idleMsMax: 30_000, totalMsMax: 120_000 }],
    [86_400_000, 100, { headersMsMax: 60_000, idleMsMax: 30_000, totalMsMax: 900_000 }],
  ];
  for (const [intervalMs, tookMs, limits] of cases) {
    const patience = new Patience(intervalMs);
    patience.succeeded(tookMs);
    t.strictSame(patience.limits, limits, `every ${intervalMs} ms, took ${tookMs} ms`);
  }
  const patience = new Patience(1000);
  patience.succeeded(9000);
  patience.succeeded(10);
  patience.succeeded(null);
  t.strictSame(patience.limits, all(18_000), 'the longest counts');
  t.end();
});

test('every fifth failed attempt has the full time', (t) => {
  const patience = new Patience(1000);
  patience.succeeded(10);
  const isQuick: boolean[] = [];
  for (let n = 0; n < 11; n++) {
    isQuick.push(patience.limits !== null);
    patience.failed();
  }
  t.strictSame(isQuick, [true, true, true, true, false, true, true, true, true, false, true]);
  patience.succeeded(30_000);
  t.match(patience.limits, { headersMsMax: 54_000, totalMsMax: 60_000 }, 'and what it takes then is known');
  t.end();
});

test('limits apply to files and addresses that have none of their own, also among several sources', (t) => {
  const limits = { headersMsMax: 1, idleMsMax: 2, totalMsMax: 3 };
  const file: SourceSpec = { kind: 'file', path: 'a', lecturerIds: 'b' };
  const plain: SourceSpec = { kind: 'http', url: 'http://a/', idleMsMax: undefined };
  const own: SourceSpec = { kind: 'http', url: 'http://b/', headersMsMax: 9, totalMsMax: 8 };
  t.strictSame(withTimeLimits({ kind: 'merged', specs: [file, plain, own] }, limits), {
    kind: 'merged',
    specs: [
      { ...file, idleMsMax: 2, totalMsMax: 3 },
      { kind: 'http', url: 'http://a/', ...limits },
      { ...own, idleMsMax: 2 },
    ],
  });
  t.end();
});
