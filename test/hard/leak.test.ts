import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from 'tap';
import { builtModule } from '../refresh/built.js';
import { HARD, size } from './size.js';

const EVENTS = size(2000, 20_000);
const RELOADS = size(8, 300);
const PER_ROUND = size(2, 10);
const SCRIPT = fileURLToPath(new URL('./leak.mjs', import.meta.url));
const MIB = 1024 * 1024;

/** Slope of the straight line through the values, by least squares: the growth from one to the next. */
function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let covariance = 0;
  let variance = 0;
  for (const [n, value] of values.entries()) {
    covariance += (n - middle) * (value - mean);
    variance += (n - middle) ** 2;
  }
  return covariance / variance;
}

test('a slope is fitted to points', async (t) => {
  t.equal(slopeOf([1, 1, 1]), 0);
  t.equal(slopeOf([1, 3, 5, 7]), 2);
  t.equal(slopeOf([4, 0, 4, 0, 4]), 0);
});

test(`${RELOADS} reloads of ${EVENTS} events leave no memory behind`, {
  timeout: size(100_000, 900_000),
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-leak-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    SCRIPT,
    builtModule('index.js'),
    ...[EVENTS, RELOADS, PER_ROUND].map(String),
    join(folder, 'image'),
  ]);
  const { rounds } = JSON.parse(stdout) as {
    readonly rounds: readonly {
      readonly rssBytes: number;
      readonly heapBytes: number;
      readonly alive: number;
    }[];
  };
  t.equal(rounds.length, RELOADS / PER_ROUND);
  const second = rounds.slice(rounds.length / 2);
  const heapMib = second.map(({ heapBytes }) => heapBytes / MIB);
  const rssMib = second.map(({ rssBytes }) => rssBytes / MIB);
  const perReload = (values: number[]): number => slopeOf(values) / PER_ROUND;
  const told = (values: number[]): string =>
    `${values[0]?.toFixed(1)} to ${values.at(-1)?.toFixed(1)} MiB, ${perReload(values).toFixed(3)} MiB a reload`;
  // The served image, the previous one, and one being written.
  t.ok(Math.max(...rounds.map(({ alive }) => alive)) <= 3, 'snapshots that were replaced are collected');
  t.ok(perReload(heapMib) < size(1, 0.02), `heap: ${told(heapMib)}`);
  // One snapshot of 20,000 events is about 9 MiB, so even occasional leaks show. In a short run, which is mostly
  // warm-up, resident memory varies by more than all snapshots together, so living snapshots are counted instead.
  if (HARD) t.ok(perReload(rssMib) < 0.2, `resident: ${told(rssMib)}`);
  t.comment(`heap ${told(heapMib)}; resident ${told(rssMib)}`);
});
