import type { Registry } from 'prom-client';
import type { KeptFiles } from '../files/kept-files.js';
import type { Logger } from '../http/logger.js';
import { INNER_PARTS, missingInnerParts } from '../http/node/inner-parts.js';
import { BYTES_AT, CELL, FAILURES_AT, ROUTE_LABELS, TOKEN_FAILURES } from '../metrics/cells.js';
import { monotonicMs } from '../model/clock.js';
import { REJECTION_CODES } from '../model/event.js';
import type { SourcePart } from '../model/source-parts.js';
import type { SourceState } from '../model/source-state.js';
import type { FeedState } from '../refresh/feed-state.js';
import type { Serving, ThreadMeter } from '../serving/serving.js';
import { followLagMs, overdueSources } from '../view/describe-health.js';
import type { ViewSource } from '../view/view-source.js';
import type { Activity } from './activity.js';
import {
  counter,
  durationsByRoute,
  type Family,
  gauge,
  perThread,
  registryOf,
  requestsByRoute,
  type Sample,
  sum,
} from './families.js';
import { nodeFamilies } from './node-metrics.js';

type ObservedServing = Pick<Serving, 'condition' | 'keys' | 'meters'>;

export interface Observed {
  readonly timetable: ViewSource;
  readonly activity: Activity;
  /** Null for a publisher, which answers no requests. */
  readonly serving: ObservedServing | null;
  /** The state of a replica or publisher; null for other services. */
  readonly feed: () => FeedState | null;
  readonly files: Pick<KeptFiles, 'counts' | 'refused'>;
  readonly losses: () => number;
  readonly version: string;
  readonly log?: Logger | undefined;
}

/** All metrics, looked up only at a scrape. */
export class Exposition {
  readonly #threads: readonly ThreadMeter[];
  readonly #registry: Registry;

  /** @param more further threads, which do not serve; only their event loop and heap are shown */
  constructor(observed: Observed, more: readonly ThreadMeter[], isReady: () => boolean) {
    const { serving } = observed;
    this.#threads = [...(serving?.meters ?? []), ...more];
    this.#registry = registryOf([
      ...(serving === null ? [] : ofServing(serving)),
      ...ofTimetable(observed, isReady),
      ...(observed.feed() === null ? [] : ofFeed(observed)),
      ...ofFiles(observed),
      ...ofProcess(observed, this.#threads),
      ...nodeFamilies(this.#threads),
    ]);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  async text(): Promise<string> {
    for (const { thread, meter } of this.#threads) if (thread === 'main') meter.sample();
    return this.#registry.metrics();
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
      'Time of the last commit seen that changed the followed table, by the clock of the database.',
      () => inSeconds(timetable.source.followed?.lastCommitMs ?? null),
    ),
    gauge(
      'lectern_followed_lag_seconds',
      'How long the oldest commit of the followed table waits that is not served; 0 if all are served.',
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

function ofFeed({ feed }: Observed): Family[] {
  const sequence = gauge(
    'lectern_feed_sequence',
    'Sequence of the announcement that a replica serves, or that a publisher made or found.',
    () => oneOrNone(feed()?.sequence),
  );
  if (feed()?.replica === null) {
    const leader = gauge('lectern_feed_leader', '1 if this publisher leads, 0 if it stands by.', () =>
      Number(feed()?.isLeader ?? false),
    );
    return [sequence, leader];
  }
  return [
    sequence,
    gauge(
      'lectern_feed_lag_seconds',
      'Time since this replica learnt of the announcement that it should serve; 0 while it serves this announcement.',
      () => inSeconds(feed()?.replica?.lagMs ?? null),
    ),
    gauge(
      'lectern_feed_quarantined_images',
      'Images that this replica refuses to serve.',
      () => feed()?.replica?.quarantined ?? null,
    ),
    gauge('lectern_feed_pinned', '1 if this replica serves a pinned image, 0 otherwise.', () =>
      Number(feed()?.replica?.isPinned ?? false),
    ),
    gauge(
      'lectern_feed_format_unreadable',
      '1 if this replica cannot read the format of the announced image, 0 otherwise.',
      () => Number((feed()?.replica?.unreadableFormat ?? null) !== null),
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
      'lectern_http_inner_parts_missing',
      '1 for a part of Node that does not work as expected and is not used; answers are slower then.',
      () => INNER_PARTS.map((part) => [{ part }, missingInnerParts().includes(part) ? 1 : 0]),
    ),
  ];
}

function ofProcess(observed: Observed, threads: readonly ThreadMeter[]): Family[] {
  const { serving, losses, log, version } = observed;
  const info = { version, node: process.version };
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
