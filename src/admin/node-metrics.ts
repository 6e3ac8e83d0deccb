/**
 * Metrics for dashboards of Node, with the names and types of prom-client's defaults. prom-client's defaults
 * cover only the main thread and cannot be stopped.
 */
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import type { SingleName } from '../metrics/cells.js';
import type { ThreadMeter } from '../serving/serving.js';
import { counter, type Family, gauge, perThread } from './families.js';

/** Names without `nodejs_`. */
const OF_THREADS: readonly (readonly [name: string, help: string, cell: SingleName])[] = [
  ['eventloop_lag_seconds', 'Lag of the event loop when last measured, at most a second ago.', 'loopLagMs'],
  ['eventloop_lag_min_seconds', 'Smallest delay of a timer in the last 10 to 20 seconds.', 'loopDelayMinMs'],
  ['eventloop_lag_max_seconds', 'Longest delay of a timer in the last 10 to 20 seconds.', 'loopDelayMaxMs'],
  ['eventloop_lag_mean_seconds', 'Mean delay of a timer in the last 10 to 20 seconds.', 'loopDelayMeanMs'],
  [
    'eventloop_lag_stddev_seconds',
    'Standard deviation of the delays of a timer in the last 10 to 20 seconds.',
    'loopDelayStddevMs',
  ],
  [
    'eventloop_lag_p50_seconds',
    'Half of the timer delays in the last 10 to 20 seconds are at most this.',
    'loopDelayP50Ms',
  ],
  [
    'eventloop_lag_p90_seconds',
    '90 % of the timer delays in the last 10 to 20 seconds are at most this.',
    'loopDelayP90Ms',
  ],
  [
    'eventloop_lag_p99_seconds',
    '99 % of the timer delays in the last 10 to 20 seconds are at most this.',
    'loopDelayP99Ms',
  ],
  ['heap_size_total_bytes', 'Allocated size of the JavaScript heap.', 'heapTotalBytes'],
  ['heap_size_used_bytes', 'Used size of the JavaScript heap.', 'heapUsedBytes'],
  [
    'external_memory_bytes',
    'Memory outside the JavaScript heap that belongs to its objects.',
    'heapExternalBytes',
  ],
];

export function nodeFamilies(threads: readonly ThreadMeter[]): Family[] {
  const startSeconds = Math.round(Date.now() / 1000 - process.uptime());
  const filesMax = openFilesMax();
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.');
  const version = { version: process.version, major, minor, patch };
  const { cpuUsage, memoryUsage } = process;
  return [
    ...OF_THREADS.map(([name, help, cell]) => gauge(`nodejs_${name}`, help, () => perThread(threads, cell))),
    counter(
      'process_cpu_user_seconds_total',
      'Processor time of all threads in user mode.',
      () => cpuUsage().user / 1e6,
    ),
    counter(
      'process_cpu_system_seconds_total',
      'Processor time of all threads in the kernel.',
      () => cpuUsage().system / 1e6,
    ),
    counter('process_cpu_seconds_total', 'Processor time of all threads, user and kernel.', () => {
      const { user, system } = cpuUsage();
      return (user + system) / 1e6;
    }),
    gauge('process_start_time_seconds', 'Time at which the process started, since 1970.', () => startSeconds),
    gauge('process_resident_memory_bytes', 'Memory of the process.', () => memoryUsage.rss()),
    gauge('process_open_fds', 'Open files and sockets.', openFiles),
    gauge('process_max_fds', 'Largest allowed number of open files and sockets.', () => filesMax),
    gauge('nodejs_version_info', 'Version of Node; always 1.', () => [[version, 1]]),
  ];
}

/**
 * Counts open files (Linux only), asynchronously: with many connections a synchronous read would delay
 * requests.
 */
async function openFiles(): Promise<number | null> {
  const names = await readdir('/proc/self/fd').catch(() => null);
  // One of these files was opened to read the folder.
  return names === null ? null : names.length - 1;
}

/** Linux only. */
function openFilesMax(): number | null {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    const count = /^Max open files +(\d+)/m.exec(limits)?.[1];
    return count === undefined ? null : Number(count);
  } catch {
    return null;
  }
}
