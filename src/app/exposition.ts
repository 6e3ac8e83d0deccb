/**
 * Metrics for dashboards of Node, with the names and types of prom-client's defaults. prom-client's defaults
 * cover only the main thread and cannot be stopped.
 */
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { followLagMs, overdueSources } from '../answer/describe-health.js';
import type { ViewSource } from '../answer/present.js';
import type { KeptFiles } from '../base/files/kept-files.js';
import * as cells from '../base/metrics/cells.js';
import {
  BYTES_AT,
  CELL,
  FAILURES_AT,
  ROUTE_LABELS,
  type SingleName,
  TOKEN_FAILURES,
} from '../base/metrics/cells.js';
import { monotonicMs } from '../base/model/clock.js';
import { REJECTION_CODES } from '../base/model/event.js';
import type { SourcePart, SourceState } from '../base/model/source-state.js';
import { VERSION } from '../base/version.js';
import type { Logger } from '../http/logger.js';
import { INTERNALS, missingInternals } from '../http/node/internals.js';
import type { ChannelState } from '../refresh/loader.js';
import { reportedHeaps, type Serving, type ThreadHeap, type ThreadMeter } from './serving.js';
import type { Activity } from './timetable-events.js';

/** The suffix is for parts of a histogram. */
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number, suffix?: string];
/** Samples of a metric. A number is one sample without labels; null means unknown. */
type Samples = readonly Sample[] | number | null;
type Look = () => Samples | Promise<Samples>;

interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  readonly help: string;
  readonly look: Look;
}

function counter(name: string, help: string, look: Look): Family {
  return { type: 'counter', name, help, look };
}

function gauge(name: string, help: string, look: Look): Family {
  return { type: 'gauge', name, help, look };
}

/** A metric in the text format of Prometheus, version 0.0.4. */
async function textOf({ type, name, help, look }: Family): Promise<string> {
  const found = await look();
  const samples: readonly Sample[] =
    found === null || typeof found === 'number' ? [[{}, found ?? Number.NaN]] : found;
  const lines = samples.map(([labels, value, suffix = '']) => {
    const written = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text, /[\\\n"]/g)}"`);
    return `${name}${suffix}${written.length === 0 ? '' : `{${written.join(',')}}`} ${value}\n`;
  });
  return `# HELP ${name} ${escaped(help, /[\\\n]/g)}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function escaped(text: string, characters: RegExp): string {
  return text.replace(characters, (each) => (each === '\n' ? '\\n' : `\\${each}`));
}

function sum(meters: readonly ThreadMeter[], cell: number): number {
  return meters.reduce((total, { meter }) => total + meter.get(cell), 0);
}

/** One sample per thread. Values in milliseconds are converted to seconds. */
function perThread(
  threads: readonly ThreadMeter[],
  name: cells.SingleName,
  labels: Readonly<Record<string, string>> = {},
): Sample[] {
  const scale = name.endsWith('Ms') ? 1e-3 : 1;
  return threads.map(({ thread, meter }) => [{ thread, ...labels }, meter.get(cells.CELL[name]) * scale]);
}

/** Omits routes and statuses that never occurred. */
function requestsByRoute(meters: readonly ThreadMeter[]): Sample[] {
  const samples: Sample[] = [];
  for (const [route, label] of cells.ROUTE_LABELS.entries()) {
    for (let place = 0; place < cells.STATUS_PLACES; place++) {
      const count = sum(meters, cells.REQUESTS_AT + route * cells.STATUS_PLACES + place);
      if (count > 0)
        samples.push([{ route: label, status: String(cells.STATUSES[place] ?? 'other') }, count]);
    }
  }
  return samples;
}

function durationsByRoute(meters: readonly ThreadMeter[]): Sample[] {
  return cells.ROUTE_LABELS.flatMap((route, n) => {
    let count = 0;
    const buckets = Array.from({ length: cells.DURATION_CLASSES }, (_, i): Sample => {
      count += sum(meters, cells.DURATIONS_AT + n * cells.DURATION_CLASSES + i);
      const end = cells.DURATION_ENDS_MS[i];
      return [{ route, le: end === undefined ? '+Inf' : String(end / 1000) }, count, '_bucket'];
    });
    if (count === 0) return [];
    const seconds = sum(meters, cells.DURATION_SUMS_AT + n) / 1000;
    return [...buckets, [{ route }, seconds, '_sum'], [{ route }, count, '_count']] satisfies Sample[];
  });
}

type ObservedServing = Pick<Serving, 'condition' | 'keys' | 'meters'>;

export interface Observed {
  readonly timetable: ViewSource;
  readonly activity: Activity;
  /** Null for a publisher, which answers no requests. */
  readonly serving: ObservedServing | null;
  /** The state of a replica or publisher; null for other services. */
  readonly channel: () => ChannelState | null;
  readonly files: Pick<KeptFiles, 'counts' | 'refused'>;
  readonly losses: () => number;
  readonly log?: Logger | undefined;
}

/** All metrics, looked up only at a scrape. */
export class Exposition {
  readonly #threads: readonly ThreadMeter[];
  readonly #families: readonly Family[];

  /** @param more further threads, which do not serve; only their event loop and heap are shown */
  constructor(observed: Observed, more: readonly ThreadMeter[], isReady: () => boolean) {
    const { serving } = observed;
    this.#threads = [...(serving?.meters ?? []), ...more];
    this.#families = [
      ...(serving === null ? [] : ofServing(serving)),
      ...ofTimetable(observed, isReady),
      ...(observed.channel() === null ? [] : ofChannel(observed)),
      ...ofFiles(observed),
      ...ofProcess(observed, this.#threads),
      ...nodeFamilies(this.#threads),
    ];
  }

  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8';

  async text(): Promise<string> {
    for (const { thread, meter } of this.#threads) if (thread === 'main') meter.sample();
    return (await Promise.all(this.#families.map(textOf))).join('\n');
  }
}

function ofServing(serving: ObservedServing): Family[] {
  return [...ofRequests(serving), ...ofKeySet(serving), ...ofOverload(serving), ...ofConnections(serving)];
}

function ofRequests({ meters }: ObservedServing): Family[] {
  return [
    counter('lectern_http_requests_total', 'Answered requests.', () => requestsByRoute(meters)),
    {
      type: 'histogram',
      name: 'lectern_http_request_duration_seconds',
      help: 'Time from the head of a request until its whole answer is written to the connection.',
      look: () => durationsByRoute(meters),
    },
    counter('lectern_http_response_bytes_total', 'Bytes of the bodies of answers.', () =>
      ROUTE_LABELS.map((route, n) => [{ route }, sum(meters, BYTES_AT + n)]),
    ),
    counter(
      'lectern_token_cache_lookups_total',
      'Look-ups of tokens in the cache of verified tokens.',
      () => [
        [{ result: 'hit' }, sum(meters, CELL.tokenHits)],
        [{ result: 'miss' }, sum(meters, CELL.tokenMisses)],
      ],
    ),
    counter('lectern_token_failures_total', 'Requests refused because of their token.', () =>
      TOKEN_FAILURES.map((reason, n) => [{ reason }, sum(meters, FAILURES_AT + n)]),
    ),
    counter('lectern_cache_lookups_total', 'Cache look-ups.', () => [
      [{ cache: 'answers', result: 'hit' }, sum(meters, CELL.answerHits)],
      [{ cache: 'answers', result: 'miss' }, sum(meters, CELL.answerMisses)],
      [{ cache: 'rows', result: 'hit' }, sum(meters, CELL.rowHits)],
      [{ cache: 'rows', result: 'miss' }, sum(meters, CELL.rowMisses)],
    ]),
    gauge('lectern_cache_bytes', 'Memory of the caches.', () => [
      [{ cache: 'answers' }, sum(meters, CELL.answerBytes)],
      [{ cache: 'rows' }, sum(meters, CELL.rowBytes)],
    ]),
  ];
}

function ofKeySet({ keys }: ObservedServing): Family[] {
  const { fetched } = keys;
  if (fetched === null) return [];
  return [
    gauge('lectern_key_set_age_seconds', 'Time since the last good fetch of the key set.', () =>
      inSeconds(fetched.ageMs),
    ),
    counter('lectern_key_set_fetches_total', 'Finished fetches of the key set.', () =>
      countsBy('result', fetched.results),
    ),
  ];
}

function ofOverload(serving: ObservedServing): Family[] {
  return [
    counter(
      'lectern_overload_refusals_total',
      'Requests refused because of overload; they do not count as answered.',
      () => serving.condition.refused,
    ),
    counter(
      'lectern_overloads_total',
      'How often a serving thread became overloaded.',
      () => serving.condition.overloads,
    ),
    gauge(
      'lectern_overloaded_threads',
      'Serving threads that are overloaded now.',
      () => serving.condition.threadsOverloaded,
    ),
  ];
}

function ofTimetable({ timetable, activity }: Observed, isReady: () => boolean): Family[] {
  return [
    gauge('lectern_ready', '1 if /ready answers 200, 0 otherwise.', () => Number(isReady())),
    gauge('lectern_snapshot_info', 'The served snapshot; always 1.', () => {
      const { summary, publication } = timetable;
      return summary === null ? [] : [[{ id: summary.id, origin: publication?.origin ?? 'source' }, 1]];
    }),
    gauge('lectern_snapshot_age_seconds', 'Time since the snapshot was built.', () => {
      const { publication } = timetable;
      return publication === null ? null : inSeconds(monotonicMs() - publication.builtMonotonicMs);
    }),
    gauge('lectern_snapshot_events', 'Events of the snapshot.', () => timetable.summary?.events ?? null),
    gauge(
      'lectern_snapshot_rejected_records',
      'Records left out of the snapshot; `overridden` is not a fault.',
      () => {
        const { summary } = timetable;
        if (summary === null) return [];
        return REJECTION_CODES.map((code) => [{ code }, summary.rejectedByCode[code] ?? 0]);
      },
    ),
    gauge(
      'lectern_snapshot_file_failed',
      '1 if the last write of the snapshot file failed, 0 otherwise.',
      () => Number((timetable.source.snapshotFileError ?? null) !== null),
    ),
    gauge('lectern_snapshot_bytes', 'Memory of the snapshot.', () => timetable.summary?.bytes ?? null),
    gauge(
      'lectern_source_last_success_timestamp_seconds',
      'When the source last delivered or confirmed the served timetable.',
      () => inSeconds(timetable.source.lastSuccessMs),
    ),
    gauge(
      'lectern_followed_last_commit_timestamp_seconds',
      'Time of the last commit that changed the followed table, by the clock of the database.',
      () => inSeconds(timetable.source.followed?.lastCommitMs ?? null),
    ),
    gauge(
      'lectern_followed_lag_seconds',
      'Age of the oldest commit of the followed table that is not served yet; 0 if all commits are served.',
      () => inSeconds(timetable.source.followed ? followLagMs(timetable.source.followed) : null),
    ),
    gauge(
      'lectern_source_stale_seconds',
      'How long the source has failed (of several sources, the one that has failed longest); 0 if none fails.',
      () => inSeconds(staleMs(timetable.source)),
    ),
    gauge(
      'lectern_sources_overdue',
      'Sources that are missing, or have failed for longer than ten refresh intervals.',
      () => overdueSources(timetable),
    ),
    gauge('lectern_sources', 'Sources by state; a folder or glob counts as its files.', () =>
      countsBy('state', sourcesByState(timetable)),
    ),
    counter('lectern_reloads_total', 'Finished loads.', () => countsBy('result', activity.loads)),
    counter('lectern_gate_refusals_total', 'Refused loads.', () => countsBy('reason', activity.refusals)),
  ];
}

function ofChannel({ channel }: Observed): Family[] {
  const sequence = gauge(
    'lectern_channel_sequence',
    'Sequence of the announcement that a replica serves, or that a publisher made or found.',
    () => oneOrNone(channel()?.sequence),
  );
  if (channel()?.replica === null) {
    const leader = gauge('lectern_publisher_leader', '1 if this publisher leads, 0 if it stands by.', () =>
      Number(channel()?.isLeader ?? false),
    );
    return [sequence, leader];
  }
  return [
    sequence,
    gauge(
      'lectern_channel_lag_seconds',
      'Time since this replica learnt of the announcement that it should serve; 0 while it serves this announcement.',
      () => inSeconds(channel()?.replica?.lagMs ?? null),
    ),
    gauge(
      'lectern_channel_quarantined_images',
      'Images that this replica refuses to serve.',
      () => channel()?.replica?.quarantined ?? null,
    ),
    gauge('lectern_channel_pinned', '1 if this replica serves a pinned image, 0 otherwise.', () =>
      Number(channel()?.replica?.isPinned ?? false),
    ),
    gauge(
      'lectern_channel_format_unreadable',
      '1 if this replica cannot read the format of the announced image, 0 otherwise.',
      () => Number((channel()?.replica?.unreadableFormat ?? null) !== null),
    ),
  ];
}

function ofFiles({ files }: Observed): Family[] {
  return [
    counter('lectern_file_reloads_total', 'Changes of configuration files, accepted or refused.', () =>
      [...files.counts].flatMap(([file, { taken, refused }]): Sample[] => [
        [{ file, result: 'taken' }, taken],
        [{ file, result: 'refused' }, refused],
      ]),
    ),
    gauge('lectern_files_refused', 'Configuration files whose present content is refused.', () =>
      [...files.counts.keys()].map((file) => [
        { file },
        files.refused.filter((each) => each === file).length,
      ]),
    ),
  ];
}

function ofConnections({ meters }: ObservedServing): Family[] {
  return [
    gauge('lectern_connections_open', 'Connections at present.', () => sum(meters, CELL.connectionsOpen)),
    gauge('lectern_event_streams_open', 'Open event streams.', () => sum(meters, CELL.streamsOpen)),
    counter('lectern_connections_cut_total', 'Connections that the service closed to protect itself.', () => [
      [{ reason: 'too-many' }, sum(meters, CELL.connectionsDropped)],
      [{ reason: 'slow-reader' }, sum(meters, CELL.slowReaders)],
      [{ reason: 'silent' }, sum(meters, CELL.silent)],
      [{ reason: 'flooded' }, sum(meters, CELL.flooded)],
    ]),
    gauge(
      'lectern_node_internals_missing',
      '1 for a part of Node that does not work as expected and is not used; answers are slower then.',
      () => INTERNALS.map((part) => [{ part }, missingInternals().includes(part) ? 1 : 0]),
    ),
  ];
}

function ofProcess(observed: Observed, threads: readonly ThreadMeter[]): Family[] {
  const { serving, losses, log } = observed;
  const info = { version: VERSION, node: process.version };
  return [
    counter(
      'lectern_event_loop_seconds_total',
      'Time of the event loop by state; utilisation is active / (active + idle).',
      () => [
        ...perThread(threads, 'loopActiveMs', { state: 'active' }),
        ...perThread(threads, 'loopIdleMs', { state: 'idle' }),
      ],
    ),
    counter(
      'lectern_threads_lost_total',
      'Serving threads that ended unexpectedly and were replaced.',
      losses,
    ),
    counter(
      'lectern_log_lines_dropped_total',
      'Log lines dropped because they were not read in time.',
      () => (log?.linesDropped?.() ?? 0) + sum(serving?.meters ?? [], CELL.logLinesDropped),
    ),
    gauge('lectern_info', 'Versions of Lectern and Node; always 1.', () => [[info, 1]]),
    gauge('lectern_uptime_seconds', 'Time since the start of the process.', () => process.uptime()),
  ];
}

function sourcesByState({ source, summary }: ViewSource): Readonly<Record<SourcePart['state'], number>> {
  const { parts, failingSinceMs } = source;
  if (parts !== null) {
    const { total, stale, missing } = parts;
    return { ok: total - stale - missing, stale, missing };
  }
  const isFailing = failingSinceMs !== null;
  const isMissing = summary === null;
  return {
    ok: Number(!isFailing),
    stale: Number(isFailing && !isMissing),
    missing: Number(isFailing && isMissing),
  };
}

function staleMs({ failingSinceMs, parts }: SourceState): number {
  const since = [failingSinceMs, parts?.failingSinceMs ?? null].flatMap((ms) => ms ?? []);
  return since.length === 0 ? 0 : Math.max(0, Date.now() - Math.min(...since));
}

function oneOrNone(value: number | null | undefined): Sample[] {
  return value === null || value === undefined ? [] : [[{}, value]];
}

function inSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}

function countsBy(label: string, counts: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(counts).map(([name, count]) => [{ [label]: name }, count]);
}

/** Delays of a timer: the ends of names and of descriptions, and the cells. */
const LAGS: readonly (readonly [name: string, help: string, cell: SingleName])[] = [
  ['min', 'Smallest delay', 'loopDelayMinMs'],
  ['max', 'Longest delay', 'loopDelayMaxMs'],
  ['mean', 'Mean delay', 'loopDelayMeanMs'],
  ['stddev', 'Standard deviation of the delays', 'loopDelayStddevMs'],
  ['p50', 'Median of the delays', 'loopDelayP50Ms'],
  ['p90', '90th percentile of the delays', 'loopDelayP90Ms'],
  ['p99', '99th percentile of the delays', 'loopDelayP99Ms'],
];

function lagFamilies(threads: readonly ThreadMeter[]): Family[] {
  const lag = (name: string, help: string, cell: SingleName): Family =>
    gauge(`nodejs_eventloop_lag_${name}seconds`, help, () => perThread(threads, cell));
  return [
    lag('', 'Lag of the event loop when last measured, at most a second ago.', 'loopLagMs'),
    ...LAGS.map(([name, help, cell]) =>
      lag(`${name}_`, `${help} of a timer in the last 10 to 20 seconds.`, cell),
    ),
  ];
}

const HEAPS: readonly (readonly [name: string, help: string, value: keyof ThreadHeap])[] = [
  ['heap_size_total_bytes', 'Allocated size of the JavaScript heap.', 'heapTotalBytes'],
  ['heap_size_used_bytes', 'Used size of the JavaScript heap.', 'heapUsedBytes'],
  [
    'external_memory_bytes',
    'Memory outside the JavaScript heap that belongs to its objects.',
    'heapExternalBytes',
  ],
];

/** Also threads that load, patch, fetch or follow, while they run. */
function heapPerThread(threads: readonly ThreadMeter[], value: keyof ThreadHeap): Sample[] {
  const others = [...reportedHeaps(value)].map(([thread, bytes]): Sample => [{ thread }, bytes]);
  return [...perThread(threads, value), ...others];
}

function nodeFamilies(threads: readonly ThreadMeter[]): Family[] {
  const startSeconds = Math.round(Date.now() / 1000 - process.uptime());
  const filesMax = openFilesMax();
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.');
  const version = { version: process.version, major, minor, patch };
  const { cpuUsage, memoryUsage } = process;
  return [
    ...lagFamilies(threads),
    ...HEAPS.map(([name, help, value]) => gauge(`nodejs_${name}`, help, () => heapPerThread(threads, value))),
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
