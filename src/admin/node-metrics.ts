/**
 * What dashboards of Node look for, under the names and types that prom-client's default metrics have. Those defaults know the
 * main thread only and cannot be ended; here every thread has a label.
 */
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { CELL, type SingleName } from '../metrics/cells.js';
import type { ThreadMeter } from '../serving/serving.js';
import type { Family } from './families.js';

/** One value per thread: name, help, cell and factor. */
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

export function nodeFamilies(threads: readonly ThreadMeter[]): Family[] {
  const family = (type: Family['type'], name: string, help: string, samples: Family['samples']): Family => ({
    type,
    name,
    help,
    samples,
  });
  const cpuSeconds = (part: (usage: NodeJS.CpuUsage) => number) => () => part(process.cpuUsage()) / 1e6;
  const startSeconds = Math.round(Date.now() / 1000 - process.uptime());
  const filesMax = openFilesMax();
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.');
  return [
    ...OF_THREADS.map(([name, help, cell, scale]) =>
      family('gauge', name, help, () =>
        threads.map(({ thread, meter }) => [{ thread }, meter.get(CELL[cell]) * scale]),
      ),
    ),
    family(
      'counter',
      'process_cpu_user_seconds_total',
      'Processor time in user mode, all threads.',
      cpuSeconds(({ user }) => user),
    ),
    family(
      'counter',
      'process_cpu_system_seconds_total',
      'Processor time in the system, all threads.',
      cpuSeconds(({ system }) => system),
    ),
    family(
      'counter',
      'process_cpu_seconds_total',
      'Both together.',
      cpuSeconds(({ user, system }) => user + system),
    ),
    family('gauge', 'process_start_time_seconds', 'Start of the process, since 1970.', () => startSeconds),
    family('gauge', 'process_resident_memory_bytes', 'Memory of the process.', process.memoryUsage.rss),
    family('gauge', 'process_open_fds', 'Open files and sockets.', openFiles),
    family('gauge', 'process_max_fds', 'How many may be open.', () => filesMax),
    family('gauge', 'nodejs_version_info', 'Version of Node; always 1.', () => [
      [{ version: process.version, major, minor, patch }, 1],
    ]),
  ];
}

/** Without waiting for the system: with many connections that would hold up requests. Linux only. */
async function openFiles(): Promise<number | null> {
  const names = await readdir('/proc/self/fd').catch(() => null);
  // One of them is what reading the folder took.
  return names === null ? null : names.length - 1;
}

function openFilesMax(): number | null {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    const count = /^Max open files +(\d+)/m.exec(limits)?.[1];
    return count === undefined ? null : Number(count);
  } catch {
    // Not on this system.
    return null;
  }
}
