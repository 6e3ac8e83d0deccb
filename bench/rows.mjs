/** Rows: the results of a run, each with its figure, spread and target. */
import { PEERS } from './peers/peers.mjs';
import { median, spreadOf } from './statistics.mjs';
import { WORKLOADS } from './workloads.mjs';

/** The workload measured with every set. */
export const SECOND_ROW = 'filter + window';
export const PEER_WORKLOADS = [SECOND_ROW, 'two filters + window', 'window of a day'];
/** The least ratio of a peer's processor time to Lectern's. */
export const PEER_TARGETS = new Map([
  ['Fastify + better-sqlite3', 10],
  ['Fastify + PostgreSQL', 20],
  ['json-server', 3000],
]);
/** The fixed rates, as portions of what the floor can answer, and the percentiles of latency. */
export const RATES = [0.5, 0.7];
export const LATENCIES = ['p50', 'p99', 'p99.9'];
export const rateName = (portion) => `${SECOND_ROW} at ${portion * 100} % of the floor's capacity`;
export const latencyName = (portion, p) => `${rateName(portion)}, ${p}`;

export const ROW_NAMES = {
  largeAgainstSmall: 'large set against small, default caches',
  largeAgainstSmallCached: 'large set against small, caches large enough',
  firstSight: 'first sight of a token, beyond jose and the floor',
  memoryIdle: 'memory before the first request',
  memoryFull: 'memory with full caches',
};

/** What is measured of a cold load. */
export const LOAD_ROWS = {
  processor: 'cold load against JSON.parse of every line',
  time: 'cold load against JSON.parse of every line, time until ready',
  memory: 'cold load, largest memory against what a load may take',
};

/**
 * A row from the values of all rounds.
 *
 * @param {{ group: string, name: string, set: string, unit: string, target: number | null, isLeast?: boolean
 * }} about `isLeast`: the target is the least allowed value, not the largest
 * @param {number[]} values one for each round
 * @param {object} [detail] further facts to show
 */
export function rowOf(about, values, detail = {}) {
  return { isLeast: false, ...about, ...spreadOf(values), values, detail };
}

/** The row of a workload: each round of Lectern, divided by the floor's in the same round. */
export function workloadRow(about, floorRounds, ownRounds, detail) {
  const ratios = ownRounds.map((own, n) => own.cpuMicros / floorRounds[n].cpuMicros);
  const middle = (rounds, field) => median(rounds.map((each) => each[field]));
  return rowOf({ unit: 'ratio', ...about }, ratios, {
    micros: middle(ownRounds, 'cpuMicros'),
    userMicros: middle(ownRounds, 'userMicros'),
    systemMicros: middle(ownRounds, 'systemMicros'),
    floorMicros: middle(floorRounds, 'cpuMicros'),
    perSecond: middle(ownRounds, 'perSecond'),
    floorPerSecond: middle(floorRounds, 'perSecond'),
    requestsPerRound: middle(ownRounds, 'requests'),
    latencyMs: Object.fromEntries(
      LATENCIES.map((p) => [p, median(ownRounds.map(({ latencyMs }) => latencyMs[p]))]),
    ),
    ...detail,
  });
}

/**
 * The rows of a full run, without the set that is not part of the project and the peers that are programs of the system.
 *
 * @param {{ peers: boolean }} options whether rows of peers are included
 * @returns {{ group: string, name: string, set: string }[]}
 */
function expectedRows({ peers }) {
  const rows = WORKLOADS.map(({ name }) => ({ group: 'workload', name, set: 'medium' }));
  for (const set of ['small', 'large', 'distinct']) rows.push({ group: 'workload', name: SECOND_ROW, set });
  rows.push({ group: 'workload', name: SECOND_ROW, set: 'large, caches large enough' });
  rows.push({ group: 'size', name: ROW_NAMES.largeAgainstSmall, set: 'large' });
  rows.push({ group: 'size', name: ROW_NAMES.largeAgainstSmallCached, set: 'large' });
  for (const portion of RATES) {
    for (const p of LATENCIES) rows.push({ group: 'latency', name: latencyName(portion, p), set: 'medium' });
  }
  rows.push({ group: 'token', name: ROW_NAMES.firstSight, set: 'medium' });
  for (const name of Object.values(LOAD_ROWS)) rows.push({ group: 'load', name, set: 'large' });
  rows.push({ group: 'memory', name: ROW_NAMES.memoryIdle, set: 'large' });
  rows.push({ group: 'memory', name: ROW_NAMES.memoryFull, set: 'large' });
  if (!peers) return rows;
  for (const workload of PEER_WORKLOADS) {
    for (const { name, program } of PEERS) {
      if (program === undefined) rows.push({ group: `peer, ${workload}`, name, set: 'medium' });
    }
  }
  return rows;
}

/** The expected rows that are missing. */
export function missingRows(rows, options) {
  return expectedRows(options).filter(
    (wanted) =>
      !rows.some(
        ({ group, name, set }) => group === wanted.group && name === wanted.name && set === wanted.set,
      ),
  );
}

/** Whether the median meets the target; null if there is no target. */
export function isMet({ median: found, target, isLeast }) {
  if (target === null) return null;
  return isLeast ? found >= target : found <= target;
}

/** Rounds to the significant digits. */
export function figure(value) {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const labelled = (name, set) => `${name} (${set})`.padEnd(62);

/** The line that replaces a row which cannot be measured here. */
export function tellWithout(name, set, reason) {
  return `${labelled(name, set)}; no figure: ${reason}`;
}

/**
 * A row in one line, for the console.
 *
 * @param {object} row
 * @param {{ isJudged: boolean }} options whether to show target and verdict; quick runs do not
 */
export function tell(row, { isJudged }) {
  const { group, name, set, unit, target, isLeast, detail } = row;
  const suffix = unit === 'ratio' ? '' : ` ${unit}`;
  const parts = [
    labelled(`${group === 'workload' ? '' : `${group}: `}${name}`, set),
    `${figure(row.median)}${suffix}, ${figure(row.q1)} to ${figure(row.q3)} (${figure(row.min)} to ${figure(row.max)})`,
  ];
  if (isJudged && target !== null) {
    parts.push(`${isLeast ? 'at least' : 'at most'} ${figure(target)}${isMet(row) ? '' : ' MISSED'}`);
  }
  if (detail.floorMs !== undefined) {
    parts.push(
      `${figure(detail.ms)} ms against ${figure(detail.floorMs)}`,
      `${Math.round(detail.perSecond)}/s of ${Math.round(detail.capacity)}`,
    );
  }
  if (detail.floorMicros !== undefined) {
    const { latencyMs } = detail;
    parts.push(
      `${figure(detail.micros)} µs against ${figure(detail.floorMicros)}`,
      `${Math.round(detail.perSecond)}/s against ${Math.round(detail.floorPerSecond)}`,
      `p50 ${figure(latencyMs.p50)} p99 ${figure(latencyMs.p99)} p99.9 ${figure(latencyMs['p99.9'])} ms`,
      `${figure(detail.meanEvents)} events, ${detail.bodyBytes} bytes`,
    );
  }
  return parts.join('; ');
}

/** The end of a run: its rows, and those that miss their targets. Figures of a quick run are too few for a verdict. */
export function tellEnd(rows, isQuick, durationSeconds) {
  const about = `${rows.length} ${rows.length === 1 ? 'row' : 'rows'} in ${durationSeconds} s`;
  if (isQuick) return `${about}; a quick run shows that everything works, its figures are not to be judged`;
  const missed = rows.filter((row) => isMet(row) === false);
  if (missed.length === 0) return about;
  return `${about}; beyond their target: ${missed.map(({ name, set }) => `${name} (${set})`).join(', ')}`;
}
