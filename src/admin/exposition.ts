import type { Registry } from 'prom-client';
import type { Logger } from '../http/logger.js';
import { INNER_PARTS, missingInnerParts } from '../http/node/inner-parts.js';
import { CELL, type SingleName } from '../metrics/cells.js';
import { monotonicMs } from '../model/clock.js';
import { REJECTION_CODES } from '../model/event.js';
import type { Serving, ThreadMeter } from '../serving/serving.js';
import type { ViewSource } from '../view/view-source.js';
import type { Activity } from './activity.js';
import { type Family, registryOf, type Sample } from './families.js';
import { nodeFamilies } from './node-metrics.js';
import { bytesByRoute, durationsByRoute, failuresByReason, requestsByRoute, sum } from './request-metrics.js';

/** What the admin listener tells of. */
export interface Observed {
  readonly timetable: ViewSource;
  /** Of the timetable, since it was opened. */
  readonly activity: Activity;
  readonly serving: Pick<Serving, 'condition' | 'hasKeys' | 'isServing' | 'keyFetches' | 'meters'>;
  /** Serving threads of this server that were lost. */
  readonly losses: () => number;
  readonly version: string;
  readonly log?: Logger | undefined;
}

/**
 * The text that Prometheus reads (https://prometheus.io/docs/instrumenting/exposition_formats/). Everything is looked up when it is
 * asked for; between two scrapes this costs nothing.
 */
export class Exposition {
  readonly #observed: Observed;
  readonly #threads: readonly ThreadMeter[];
  readonly #families: Family[] = [];
  readonly #registry: Registry;

  /** @param more threads besides those that serve: their event loop and heap are shown */
  constructor(observed: Observed, more: readonly ThreadMeter[], isReady: () => boolean) {
    this.#observed = observed;
    this.#threads = [...observed.serving.meters, ...more];
    this.#addRequests();
    this.#addKeySet();
    this.#addOverload();
    this.#addTimetable(isReady);
    this.#addConnections();
    this.#addThreads();
    this.#addProcess();
    this.#registry = registryOf([...this.#families, ...nodeFamilies(this.#threads)]);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  async text(): Promise<string> {
    for (const { thread, meter } of this.#threads) if (thread === 'main') meter.sample();
    return this.#registry.metrics();
  }

  #sum(name: SingleName): number {
    return sum(this.#observed.serving.meters, CELL[name]);
  }

  #counter(name: string, help: string, samples: Family['samples']): void {
    this.#families.push({ type: 'counter', name: `lectern_${name}`, help, samples });
  }

  #gauge(name: string, help: string, samples: Family['samples']): void {
    this.#families.push({ type: 'gauge', name: `lectern_${name}`, help, samples });
  }

  #addRequests(): void {
    const { meters } = this.#observed.serving;
    this.#counter('http_requests_total', 'Requests that were answered.', () => requestsByRoute(meters));
    this.#families.push({
      type: 'histogram',
      name: 'lectern_http_request_duration_seconds',
      help: 'From the head of a request to its answer being handed to the connection.',
      samples: () => durationsByRoute(meters),
    });
    this.#counter('http_response_bytes_total', 'Bytes of the bodies of answers.', () => bytesByRoute(meters));
    this.#counter(
      'token_cache_lookups_total',
      'Tokens that were looked for among those verified before.',
      () => [
        [{ result: 'hit' }, this.#sum('tokenHits')],
        [{ result: 'miss' }, this.#sum('tokenMisses')],
      ],
    );
    this.#counter('token_failures_total', 'Requests that were not let in.', () => failuresByReason(meters));
    this.#counter('cache_lookups_total', 'What was looked for in the caches.', () => [
      [{ cache: 'answers', result: 'hit' }, this.#sum('answerHits')],
      [{ cache: 'answers', result: 'miss' }, this.#sum('answerMisses')],
      [{ cache: 'rows', result: 'hit' }, this.#sum('rowHits')],
      [{ cache: 'rows', result: 'miss' }, this.#sum('rowMisses')],
    ]);
    this.#gauge('cache_bytes', 'Memory of the caches.', () => [
      [{ cache: 'answers' }, this.#sum('answerBytes')],
      [{ cache: 'rows' }, this.#sum('rowBytes')],
    ]);
  }

  #addKeySet(): void {
    const { keyFetches } = this.#observed.serving;
    if (keyFetches === null) return;
    this.#gauge('key_set_age_seconds', 'Since the key set was last fetched.', () =>
      inSeconds(keyFetches.ageMs),
    );
    this.#counter('key_set_fetches_total', 'Fetches of the key set that have ended.', () =>
      countsBy('result', keyFetches.results),
    );
  }

  #addOverload(): void {
    const { serving } = this.#observed;
    this.#counter(
      'overload_refusals_total',
      'Requests refused as there were too many; not among those answered.',
      () => serving.condition.refused,
    );
    this.#counter(
      'overloads_total',
      'Times that a serving thread came to have too many requests.',
      () => serving.condition.overloads,
    );
    this.#gauge(
      'overloaded_threads',
      'Serving threads that have too many requests.',
      () => serving.condition.threadsOverloaded,
    );
  }

  #addTimetable(isReady: () => boolean): void {
    const { timetable, activity } = this.#observed;
    this.#gauge('ready', '1 where the service wants requests, 0 otherwise.', () => Number(isReady()));
    this.#gauge('snapshot_info', 'The snapshot that is served; always 1.', () => {
      const { summary, publication } = timetable;
      return summary === null ? [] : [[{ id: summary.id, origin: publication?.origin ?? 'source' }, 1]];
    });
    this.#gauge('snapshot_age_seconds', 'Since the snapshot was built.', () => {
      const { publication } = timetable;
      return publication === null ? null : inSeconds(monotonicMs() - publication.builtMonotonicMs);
    });
    this.#gauge('snapshot_events', 'Events of the snapshot.', () => timetable.summary?.events ?? null);
    this.#gauge(
      'snapshot_rejected_records',
      'Records that were left out of it; `overridden` is no fault.',
      () => {
        const { summary } = timetable;
        if (summary === null) return [];
        return REJECTION_CODES.map((code) => [{ code }, summary.rejectedByCode[code] ?? 0]);
      },
    );
    this.#gauge('snapshot_bytes', 'Memory of the snapshot.', () => timetable.summary?.bytes ?? null);
    this.#gauge(
      'source_last_success_timestamp_seconds',
      'When the source last gave, or confirmed, what is served.',
      () => inSeconds(timetable.source.lastSuccessMs),
    );
    this.#counter('reloads_total', 'Loads that have ended.', () => countsBy('result', activity.loads));
    this.#counter('gate_refusals_total', 'Snapshots that were built and not published.', () =>
      countsBy('reason', activity.refusals),
    );
  }

  #addConnections(): void {
    this.#gauge('connections_open', 'Connections at present.', () => this.#sum('connectionsOpen'));
    this.#counter('connections_cut_total', 'Connections that were closed for what their clients did.', () => [
      [{ reason: 'too-many' }, this.#sum('connectionsDropped')],
      [{ reason: 'slow-reader' }, this.#sum('slowReaders')],
      [{ reason: 'silent' }, this.#sum('silent')],
      [{ reason: 'flooded' }, this.#sum('flooded')],
    ]);
    this.#gauge(
      'http_inner_parts_missing',
      'Parts inside Node that are not as expected and not used: answers are slower.',
      () => INNER_PARTS.map((part) => [{ part }, missingInnerParts().includes(part) ? 1 : 0]),
    );
  }

  #addThreads(): void {
    const { losses, log } = this.#observed;
    const perThread = (name: SingleName, scale: number, labels: Record<string, string>): Sample[] =>
      this.#threads.map(({ thread, meter }) => [{ thread, ...labels }, meter.get(CELL[name]) * scale]);
    this.#gauge('event_loop_delay_seconds', 'How late timers were in the last 10 to 20 seconds.', () => [
      ...perThread('loopDelayP50Ms', 1e-3, { quantile: '0.5' }),
      ...perThread('loopDelayP99Ms', 1e-3, { quantile: '0.99' }),
      ...perThread('loopDelayMaxMs', 1e-3, { quantile: '1' }),
    ]);
    this.#counter(
      'event_loop_seconds_total',
      'Time of the event loop; utilisation is active / (active + idle).',
      () => [
        ...perThread('loopActiveMs', 1e-3, { state: 'active' }),
        ...perThread('loopIdleMs', 1e-3, { state: 'idle' }),
      ],
    );
    this.#gauge('heap_bytes', 'The JavaScript heap.', () => [
      ...perThread('heapUsedBytes', 1, { state: 'used' }),
      ...perThread('heapTotalBytes', 1, { state: 'allocated' }),
    ]);
    this.#counter('threads_lost_total', 'Serving threads that were lost, and replaced.', losses);
    this.#counter(
      'log_lines_dropped_total',
      'Log lines that were dropped, as nobody took them.',
      () => (log?.linesDropped?.() ?? 0) + this.#sum('logLinesDropped'),
    );
  }

  #addProcess(): void {
    const info = { version: this.#observed.version, node: process.version };
    this.#gauge('info', 'What runs; always 1.', () => [[info, 1]]);
    this.#gauge('resident_memory_bytes', 'Memory of the process.', process.memoryUsage.rss);
    this.#counter('cpu_seconds_total', 'Processor time of the process, all threads.', () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    });
    this.#gauge('uptime_seconds', 'Since the process was started.', process.uptime);
  }
}

function inSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}

function countsBy(label: string, counts: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(counts).map(([name, count]) => [{ [label]: name }, count]);
}
