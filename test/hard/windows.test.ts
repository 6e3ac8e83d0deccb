/** The processor time of windows on alternating long and short slots: at most that of the values' events. */
import { test } from 'tap';
import type { ReadResult } from '../../src/answer/answer.js';
import type { FieldFilter } from '../../src/answer/query.js';
import type { View } from '../../src/answer/view.js';
import { alternatingEvents, BEGIN_MS, MINUTE_MS, someGroups } from '../answer/alternating-slots.js';
import { readOf, STRICT, viewOfEvents } from '../answer/reading.js';
import { collectGarbage } from '../http/collect-garbage.js';
import { recordFigure } from './figures.mjs';
import { HARD, size } from './size.js';

const EVENTS = 100_000;
const ROUNDS = size(5, 51);
/** The same values without a window; other work makes either longer. */
const TIMES_MAX = 20;

interface Case {
  readonly figure: string;
  readonly values: number;
  readonly isPersonal: boolean;
  readonly worstMs: number;
}

const CASES: readonly Case[] = [
  { figure: 'windows-values', values: 100, isPersonal: false, worstMs: 5 },
  { figure: 'windows-identities', values: 850, isPersonal: true, worstMs: 20 },
];

/** Windows that begin when half, nearly all and all of the events have begun. As many slots are running, or half as many. */
const WINDOWS: readonly (readonly [startMinute: number, minutes: number | null])[] = [
  [EVENTS / 2, null],
  [EVENTS / 2, 24 * 60],
  [EVENTS - 1500, 24 * 60],
  [EVENTS - 1500, 1],
  [EVENTS, null],
];

function windowPairs(startMinute: number, minutes: number | null): [string, string][] {
  const startMs = BEGIN_MS + startMinute * MINUTE_MS;
  const pairs: [string, string][] = [['startTime', new Date(startMs).toISOString()]];
  if (minutes !== null) pairs.push(['endTime', new Date(startMs + minutes * MINUTE_MS).toISOString()]);
  return pairs;
}

/** The steps of an answer up to the first sent bytes. */
function cpuMsOf(ask: () => ReadResult): number {
  const before = process.cpuUsage();
  const [first] = readOf(ask()).execute('json').body.makeChunks();
  const { user, system } = process.cpuUsage(before);
  if (first === undefined) throw new Error('an answer without a byte');
  return (user + system) / 1000;
}

function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] as number;
}

/** Alternates queries by values with queries by values in a window. */
function measure(view: View, { values, isPersonal }: Case, groups: number) {
  const asked = someGroups(values, groups);
  const identities: FieldFilter[] = [{ field: 'studyGroup', values: [...new Set(asked)].sort() }];
  const filters = isPersonal ? [] : asked.map((value): [string, string] => ['studyGroup', value]);
  const ask = (pairs: [string, string][]): ReadResult =>
    isPersonal ? view.personal(pairs, STRICT, identities) : view.schedule([...filters, ...pairs], STRICT);
  return WINDOWS.map((window) => {
    const pairs = windowPairs(...window);
    // Code is slow when it runs for the first time.
    for (let n = 0; n < 3; n++) cpuMsOf(() => ask(pairs));
    const withoutMs: number[] = [];
    const withMs: number[] = [];
    for (let n = 0; n < ROUNDS; n++) {
      withoutMs.push(cpuMsOf(() => ask([])));
      withMs.push(cpuMsOf(() => ask(pairs)));
    }
    return { window, withMs: medianOf(withMs), leastMs: Math.min(...withMs), withoutMs: medianOf(withoutMs) };
  });
}

for (const asked of CASES) {
  const what = `${asked.values} ${asked.isPersonal ? 'identities' : 'values'}`;
  test(`with ${EVENTS} alternating events, ${what} cost about the same with and without a window`, (t) => {
    const measured = [1000, EVENTS / 2].map((groups) => {
      const view = viewOfEvents(alternatingEvents({ events: EVENTS, groups }), 'any');
      collectGarbage();
      return { groups, windows: measure(view, asked, groups) };
    });
    t.comment(JSON.stringify(measured));
    for (const { groups, windows } of measured) {
      for (const { window, withMs, leastMs, withoutMs } of windows) {
        const told = `${groups} groups, window of minutes ${window.join(' and ')}: ${withMs.toFixed(2)} ms, without ${withoutMs.toFixed(2)} ms`;
        t.ok(withMs <= TIMES_MAX * withoutMs + 0.5, told);
        if (HARD) t.ok(leastMs <= asked.worstMs, `at most ${asked.worstMs} ms: ${told}`);
      }
    }
    if (HARD) {
      const all = measured.flatMap(({ windows }) => windows);
      const worst = all.reduce((a, b) => (b.withMs > a.withMs ? b : a));
      recordFigure(
        asked.figure,
        `at most ${worst.withMs.toFixed(1)} ms (median of ${ROUNDS}), ${worst.leastMs.toFixed(1)} at best; the same without a window ${worst.withoutMs.toFixed(1)} ms`,
        { measured },
      );
    }
    t.end();
  });
}
