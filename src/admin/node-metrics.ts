/**
 * What dashboards of Node look for, under the names and types that prom-client's default metrics have. Those defaults know the
 * main thread only and cannot be ended; here every thread tells of itself, in a label that dashboards show as one line each.
 */
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { CELL, type SingleName } from '../metrics/cells.js';
import type { ThreadMeter } from '../serving/serving.js';
import type { Families, Sample } from './families.js';

/** Of each thread: name, help, where the number is, and what it is to be multiplied with. */
const OF_THREADS: readonly (readonly [name: string, help: string, cell: SingleName, scale: number])[] = [
  [
    'nodejs_eventloop_lag_seconds',
    'Lag of the event loop at the last look, a second ago at most.',
    'loopLagMs',
    1e-3,
  ],
  [
    'nodejs_eventloop_lag_min_seconds',
    'Least delay of a timer in the last 10 to 20 seconds.',
    'loopDelayMinMs',
    1e-3,
  ],
  ['nodejs_eventloop_lag_max_seconds', 'Longest delay of a timer in that time.', 'loopDelayMaxMs', 1e-3],
  ['nodejs_eventloop_lag_mean_seconds', 'Mean delay in that time.', 'loopDelayMeanMs', 1e-3],
  ['nodejs_eventloop_lag_stddev_seconds', 'Standard deviation of the delays.', 'loopDelayStddevMs', 1e-3],
  ['nodejs_eventloop_lag_p50_seconds', 'Half of the delays are at most this.', 'loopDelayP50Ms', 1e-3],
  ['nodejs_eventloop_lag_p90_seconds', '90 % of the delays are at most this.', 'loopDelayP90Ms', 1e-3],
  ['nodejs_eventloop_lag_p99_seconds', '99 % of the delays are at most this.', 'loopDelayP99Ms', 1e-3],
  ['nodejs_heap_size_total_bytes', 'The JavaScript heap, as allocated.', 'heapTotalBytes', 1],
  ['nodejs_heap_size_used_bytes', 'The JavaScript heap, as used.', 'heapUsedBytes', 1],
  ['nodejs_external_memory_bytes', 'Memory outside the heap that objects hold.', 'heapExternalBytes', 1],
];

export function addNodeMetrics(families: Families, threads: () => readonly ThreadMeter[]): void {
  for (const [name, help, cell, scale] of OF_THREADS) {
    families.gauge(name, help, ['thread'], () =>
      threads().map(({ thread, meter }): Sample => [{ thread }, meter.get(CELL[cell]) * scale]),
    );
  }
  const cpuSeconds = (part: (usage: NodeJS.CpuUsage) => number) => (): Sample[] => [
    [{}, part(process.cpuUsage()) / 1e6],
  ];
  families.counter(
    'process_cpu_user_seconds_total',
    'Processor time in user mode, all threads.',
    [],
    cpuSeconds(({ user }) => user),
  );
  families.counter(
    'process_cpu_system_seconds_total',
    'Processor time in the system, all threads.',
    [],
    cpuSeconds(({ system }) => system),
  );
  families.counter(
    'process_cpu_seconds_total',
    'Both together.',
    [],
    cpuSeconds(({ user, system }) => user + system),
  );
  const startSeconds = Math.round(Date.now() / 1000 - process.uptime());
  families.gauge('process_start_time_seconds', 'Start of the process, since 1970.', [], () => [
    [{}, startSeconds],
  ]);
  families.gauge('process_resident_memory_bytes', 'Memory of the process.', [], () => [
    [{}, process.memoryUsage.rss()],
  ]);
  families.gauge('process_open_fds', 'Open files and sockets.', [], openFiles);
  const filesMax = openFilesMax();
  families.gauge('process_max_fds', 'How many may be open.', [], () => filesMax);
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.');
  const version = { version: process.version, major, minor, patch };
  families.gauge('nodejs_version_info', 'Version of Node; always 1.', Object.keys(version), () => [
    [version, 1],
  ]);
}

/** Without waiting for the system: with many connections that would hold up requests. Linux only. */
async function openFiles(): Promise<readonly Sample[]> {
  const names = await readdir('/proc/self/fd').catch(() => null);
  // One of them is what reading the folder took.
  return names === null ? [] : [[{}, names.length - 1]];
}

function openFilesMax(): Sample[] {
  let text = '';
  try {
    text = readFileSync('/proc/self/limits', 'latin1');
  } catch {
    // Not on this system.
  }
  const count = /^Max open files +(\d+)/m.exec(text)?.[1];
  return count === undefined ? [] : [[{}, Number(count)]];
}
