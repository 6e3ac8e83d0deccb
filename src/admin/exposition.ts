import type { KeyFetches } from '../auth/key-feed.js';
import type { Logger } from '../http/logger.js';
import { missingInnerParts } from '../http/node/inner-parts.js';
import { INNER_PARTS } from '../http/node/probe.js';
import { CELL, type SingleName } from '../metrics/cells.js';
import { monotonicMs } from '../model/clock.js';
import { REJECTION_CODES } from '../model/event.js';
import type { ServingCondition, ThreadMeter } from '../serving/serving.js';
import type { ViewSource } from '../view/view-source.js';
import type { Activity } from './activity.js';
import { Families, type Sample, type Samples } from './families.js';
import { addNodeMetrics } from './node-metrics.js';
import type { Readiness } from './readiness.js';
import { bytesByRoute, durationHistogram, failuresByReason, requestsByRoute } from './request-metrics.js';

export interface ExpositionOptions {
  /** Those that count requests, one for each serving thread. */
  readonly meters: readonly ThreadMeter[];
  /** Others, of which event loop and heap are shown. */
  readonly more: readonly ThreadMeter[];
  readonly views: ViewSource;
  readonly activity: Activity;
  /** Serving threads that were lost. */
  readonly losses: () => number;
  readonly readiness: Readiness;
  readonly condition: () => ServingCondition;
  /** Null where no keys are fetched. */
  readonly keyFetches: KeyFetches | null;
  readonly log?: Logger | undefined;
  readonly version: string;
}

/**
 * The text that Prometheus reads (https://prometheus.io/docs/instrumenting/exposition_formats/). Everything is looked up when it is
 * asked for; between two scrapes this costs nothing.
 */
export class Exposition {
  readonly #families = new Families();
  readonly #options: ExpositionOptions;

  constructor(options: ExpositionOptions) {
    this.#options = options;
    this.#requests();
    this.#keySet();
    this.#overload();
    this.#timetable();
    this.#connections();
    this.#threads();
    this.#process();
    addNodeMetrics(this.#families, () => this.#all());
  }

  get contentType(): string {
    return this.#families.contentType;
  }

  async text(): Promise<string> {
    for (const { thread, meter } of this.#all()) if (thread === 'main') meter.sample();
    return this.#families.text();
  }

  #all(): readonly ThreadMeter[] {
    return [...this.#options.meters, ...this.#options.more];
  }

  #sum(name: SingleName): number {
    return this.#options.meters.reduce((sum, { meter }) => sum + meter.get(CELL[name]), 0);
  }

  #counter(name: string, help: string, labelNames: string[], samples: Samples): void {
    this.#families.counter(`lectern_${name}`, help, labelNames, samples);
  }

  #gauge(name: string, help: string, labelNames: string[], samples: Samples): void {
    this.#families.gauge(`lectern_${name}`, help, labelNames, samples);
  }

  #requests(): void {
    const { meters } = this.#options;
    this.#counter('http_requests_total', 'Requests that were answered.', ['route', 'status'], () =>
      requestsByRoute(meters),
    );
    this.#families.add(
      durationHistogram(
        'lectern_http_request_duration_seconds',
        'From the head of a request to its answer being handed to the connection.',
        meters,
      ),
    );
    this.#counter('http_response_bytes_total', 'Bytes of the bodies of answers.', ['route'], () =>
      bytesByRoute(meters),
    );
    this.#counter(
      'token_cache_lookups_total',
      'Tokens that were looked for among those verified before.',
      ['result'],
      () => [
        [{ result: 'hit' }, this.#sum('tokenHits')],
        [{ result: 'miss' }, this.#sum('tokenMisses')],
      ],
    );
    this.#counter('token_failures_total', 'Requests that were not let in.', ['reason'], () =>
      failuresByReason(meters),
    );
    this.#counter('cache_lookups_total', 'What was looked for in the caches.', ['cache', 'result'], () => [
      [{ cache: 'answers', result: 'hit' }, this.#sum('answerHits')],
      [{ cache: 'answers', result: 'miss' }, this.#sum('answerMisses')],
      [{ cache: 'rows', result: 'hit' }, this.#sum('rowHits')],
      [{ cache: 'rows', result: 'miss' }, this.#sum('rowMisses')],
    ]);
    this.#gauge('cache_bytes', 'Memory of the caches.', ['cache'], () => [
      [{ cache: 'answers' }, this.#sum('answerBytes')],
      [{ cache: 'rows' }, this.#sum('rowBytes')],
    ]);
  }

  #keySet(): void {
    const { keyFetches } = this.#options;
    if (keyFetches === null) return;
    this.#gauge('key_set_age_seconds', 'Since the key set was last fetched.', [], () =>
      keyFetches.ageMs === null ? [] : [[{}, keyFetches.ageMs / 1000]],
    );
    this.#counter('key_set_fetches_total', 'Fetches of the key set that have ended.', ['result'], () =>
      Object.entries(keyFetches.results).map(([result, count]) => [{ result }, count]),
    );
  }

  #overload(): void {
    const { condition } = this.#options;
    this.#counter(
      'overload_refusals_total',
      'Requests refused as there were too many; not among those answered.',
      [],
      () => [[{}, condition().refused]],
    );
    this.#counter(
      'overloads_total',
      'Times that a serving thread came to have too many requests.',
      [],
      () => [[{}, condition().overloads]],
    );
    this.#gauge('overloaded_threads', 'Serving threads that have too many requests.', [], () => [
      [{}, condition().threadsOverloaded],
    ]);
  }

  #timetable(): void {
    const { views, activity, readiness } = this.#options;
    const ofSummary = (value: (summary: NonNullable<ViewSource['summary']>) => number) => (): Sample[] =>
      views.summary === null ? [] : [[{}, value(views.summary)]];
    this.#gauge('ready', '1 where the service wants requests, 0 otherwise.', [], () => [
      [{}, readiness.reasons.length === 0 ? 1 : 0],
    ]);
    this.#gauge('snapshot_info', 'The snapshot that is served; always 1.', ['id', 'origin'], () =>
      views.summary === null
        ? []
        : [[{ id: views.summary.id, origin: views.publication?.origin ?? 'source' }, 1]],
    );
    this.#gauge('snapshot_age_seconds', 'Since the snapshot was built.', [], () =>
      views.publication === null ? [] : [[{}, (monotonicMs() - views.publication.builtMonotonicMs) / 1000]],
    );
    this.#gauge(
      'snapshot_events',
      'Events of the snapshot.',
      [],
      ofSummary(({ events }) => events),
    );
    this.#gauge(
      'snapshot_rejected_records',
      'Records that were left out of it; `overridden` is no fault.',
      ['code'],
      () => {
        const { summary } = views;
        if (summary === null) return [];
        return REJECTION_CODES.map((code) => [{ code }, summary.rejectedByCode[code] ?? 0]);
      },
    );
    this.#gauge(
      'snapshot_bytes',
      'Memory of the snapshot.',
      [],
      ofSummary(({ bytes }) => bytes),
    );
    this.#gauge(
      'source_last_success_timestamp_seconds',
      'When the source last gave, or confirmed, what is served.',
      [],
      () => (views.source.lastSuccessMs === null ? [] : [[{}, views.source.lastSuccessMs / 1000]]),
    );
    this.#counter('reloads_total', 'Loads that have ended.', ['result'], () =>
      Object.entries(activity.loads).map(([result, count]) => [{ result }, count]),
    );
    this.#counter('gate_refusals_total', 'Snapshots that were built and not published.', ['reason'], () =>
      Object.entries(activity.refusals).map(([reason, count]) => [{ reason }, count]),
    );
  }

  #connections(): void {
    this.#gauge('connections_open', 'Connections at present.', [], () => [
      [{}, this.#sum('connectionsOpen')],
    ]);
    this.#counter(
      'connections_cut_total',
      'Connections that were closed for what their clients did.',
      ['reason'],
      () => [
        [{ reason: 'too-many' }, this.#sum('connectionsDropped')],
        [{ reason: 'slow-reader' }, this.#sum('slowReaders')],
        [{ reason: 'silent' }, this.#sum('silent')],
        [{ reason: 'flooded' }, this.#sum('flooded')],
      ],
    );
    this.#gauge(
      'http_inner_parts_missing',
      'Parts inside Node that are not as expected and not used: answers are slower.',
      ['part'],
      () => INNER_PARTS.map((part) => [{ part }, missingInnerParts().includes(part) ? 1 : 0]),
    );
  }

  #threads(): void {
    const { losses, log } = this.#options;
    const perThread = (name: SingleName, scale: number, labels: Record<string, string> = {}) =>
      this.#all().map(({ thread, meter }): Sample => [{ thread, ...labels }, meter.get(CELL[name]) * scale]);
    const DELAYS = [
      ['0.5', 'loopDelayP50Ms'],
      ['0.99', 'loopDelayP99Ms'],
      ['1', 'loopDelayMaxMs'],
    ] as const;
    this.#gauge(
      'event_loop_delay_seconds',
      'How late timers were in the last 10 to 20 seconds.',
      ['thread', 'quantile'],
      () => DELAYS.flatMap(([quantile, name]) => perThread(name, 1e-3, { quantile })),
    );
    this.#counter(
      'event_loop_seconds_total',
      'Time of the event loop; utilisation is active / (active + idle).',
      ['thread', 'state'],
      () => [
        ...perThread('loopActiveMs', 1e-3, { state: 'active' }),
        ...perThread('loopIdleMs', 1e-3, { state: 'idle' }),
      ],
    );
    this.#gauge('heap_bytes', 'The JavaScript heap.', ['thread', 'state'], () => [
      ...perThread('heapUsedBytes', 1, { state: 'used' }),
      ...perThread('heapTotalBytes', 1, { state: 'allocated' }),
    ]);
    this.#counter('threads_lost_total', 'Serving threads that were lost, and replaced.', [], () => [
      [{}, losses()],
    ]);
    this.#counter('log_lines_dropped_total', 'Log lines that were dropped, as nobody took them.', [], () => [
      [{}, (log?.linesDropped?.() ?? 0) + this.#sum('logLinesDropped')],
    ]);
  }

  #process(): void {
    const { version } = this.#options;
    const info = { version, node: process.version };
    this.#gauge('info', 'What runs; always 1.', ['version', 'node'], () => [[info, 1]]);
    this.#gauge('resident_memory_bytes', 'Memory of the process.', [], () => [
      [{}, process.memoryUsage.rss()],
    ]);
    this.#counter('cpu_seconds_total', 'Processor time of the process, all threads.', [], () => {
      const { user, system } = process.cpuUsage();
      return [[{}, (user + system) / 1e6]];
    });
    this.#gauge('uptime_seconds', 'Since the process was started.', [], () => [[{}, process.uptime()]]);
  }
}
