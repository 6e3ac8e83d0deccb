import type { Schema } from 'fast-json-stringify';
import build from 'fast-json-stringify';
import type { ConflictEntry } from '../base/model/event.js';
import { CONFLICT_DIMENSIONS } from '../base/model/fields.js';
import { CONFLICT_ENTRY_SCHEMA } from '../base/model/schemas.js';
import { formatInstant } from '../base/model/time.js';
import { sortUnique } from '../base/structures/ordinal-set.js';
import { results } from '../base/structures/slabs.js';
import type { Clusters } from '../snapshot/cluster-reader.js';
import { packedArrayHeaderLength, type Rows } from '../snapshot/rows.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import type { MeasuredBody } from './body.js';
import { checkerOf, executePlan } from './execute.js';
import { jsonRowPieces } from './json.js';
import { arrayHeader, packedRowPieces, packPlain } from './msgpack.js';
import type { Parameters } from './parameters.js';
import { clausesOf, planQuery } from './plan.js';
import type { Query } from './query.js';
import { Selection } from './selection.js';
import { bodyOfPieces, type Piece } from './slices.js';

/**
 * Ascending numbers of the clusters with a matching event. Without filters the window alone decides: the
 * events of a cluster leave no gap, so a cluster that overlaps the window has an event in it.
 */
export function findConflicts(
  snapshot: Snapshot,
  query: Query,
  { by, merge }: Pick<Parameters, 'by' | 'merge'>,
): Uint32Array {
  const clusters = merge ? snapshot.merged : snapshot.unmerged;
  const wanted = CONFLICT_DIMENSIONS.map((dimension) => by.includes(dimension.by));
  return query.filters.length === 0 && query.identities === null
    ? clustersInWindow(clusters, query, wanted)
    : clustersWithMatches(snapshot, clusters, query, wanted);
}

function clustersInWindow(clusters: Clusters, query: Query, wanted: readonly boolean[]): Uint32Array {
  const { startMs, endMs } = query.window;
  const running = clusters.index.runningAt(startMs);
  const within = clusters.index.startingWithin(startMs, endMs);
  const found = results.uint32(running.length + within.end - within.first);
  let count = 0;
  const take = (cluster: number): void => {
    if (wanted[clusters.image.by[cluster]!] === true) found[count++] = cluster;
  };
  // Running clusters started earlier, so their numbers are smaller.
  for (const cluster of running) take(cluster);
  for (let cluster = within.first; cluster < within.end; cluster++) take(cluster);
  return found.subarray(0, count);
}

/** The cost of checking a cluster's event, as a multiple of the cost of checking a candidate of a query. */
const LOOK_COST = 1 / 4;

/** The cost of searching each cluster for a matching event, measured in candidates. */
function looksMax(snapshot: Snapshot, clusters: Clusters, candidates: number, hasNoWindow: boolean): number {
  // In a long cluster, perhaps only the last event is in the window.
  if (!hasNoWindow) return clusters.image.events.length;
  // In a long cluster an event usually matches early, which ends the search.
  const perCluster = snapshot.eventCount / Math.max(1, candidates);
  return LOOK_COST * Math.min(clusters.image.events.length, clusters.count * perCluster);
}

/**
 * Searches each cluster in the window for an event that passes. This search suits filters that most events
 * pass, because clusters are far fewer than events.
 */
function clustersThatPass(
  snapshot: Snapshot,
  clusters: Clusters,
  query: Query,
  wanted: readonly boolean[],
  hasNoWindow: boolean,
): Uint32Array {
  const { startMs, endMs } = query.window;
  const passes = checkerOf(snapshot, clausesOf(snapshot, query));
  const isInScope = (ordinal: number): boolean => {
    if (!passes(ordinal)) return false;
    if (hasNoWindow) return true;
    // Events of a cluster have positive length.
    const { timeMs, endTimeMs } = snapshot.timesOf(ordinal);
    return timeMs < endMs && endTimeMs > startMs;
  };
  const found = clustersInWindow(clusters, query, wanted);
  let count = 0;
  for (const cluster of found) if (clusters.hasEvent(cluster, isInScope)) found[count++] = cluster;
  return found.subarray(0, count);
}

function clustersWithMatches(
  snapshot: Snapshot,
  clusters: Clusters,
  query: Query,
  wanted: readonly boolean[],
): Uint32Array {
  const plan = planQuery(snapshot, query);
  const { lead, window } = plan;
  if (lead.kind === 'nothing') return new Uint32Array(0);
  const hasNoWindow = window.window === null;
  const candidates = lead.kind === 'runs' ? window.all.count : lead.clause.postings;
  const looks = looksMax(snapshot, clusters, candidates, hasNoWindow);
  if (candidates > looks) return clustersThatPass(snapshot, clusters, query, wanted, hasNoWindow);
  const events = executePlan(snapshot, plan);
  let memberships = 0;
  events.forEachRun((first, end) => {
    memberships += clusters.membershipCount(first, end);
  });
  const found = results.uint32(memberships);
  let count = 0;
  const take = (cluster: number): void => {
    if (wanted[clusters.image.by[cluster]!] === true) found[count++] = cluster;
  };
  events.forEachRun((first, end) => clusters.forEachMembership(first, end, take));
  return found.subarray(0, sortUnique(found, count, clusters.count));
}

const serialiseEntry: (entry: ConflictEntry) => string = build(CONFLICT_ENTRY_SCHEMA as unknown as Schema);

function emptyEntry(clusters: Clusters, cluster: number): ConflictEntry {
  const { by, key, startMs, endMs } = clusters.keyOf(cluster);
  const peak = clusters.image.peak[cluster]!;
  return { by, key, startTime: formatInstant(startMs), endTime: formatInstant(endMs), peak, events: [] };
}

export function jsonConflicts(rows: Rows, clusters: Clusters, wanted: Uint32Array): MeasuredBody {
  let byteLength = 1 + Math.max(1, wanted.length);
  for (const cluster of wanted) byteLength += clusters.image.jsonBytes[cluster]!;
  return bodyOfPieces(byteLength, () => jsonEntryPieces(rows, clusters, wanted));
}

function* jsonEntryPieces(rows: Rows, clusters: Clusters, wanted: Uint32Array): Generator<Piece> {
  let opening = '[';
  for (const cluster of wanted) {
    // Rows go before the closing bracket and brace.
    const head = serialiseEntry(emptyEntry(clusters, cluster)).slice(0, -2);
    yield Buffer.from(opening + head, 'utf8');
    yield* jsonRowPieces(rows, Selection.ofList(clusters.eventsOf(cluster)));
    opening = ']},';
  }
  yield Buffer.from(wanted.length === 0 ? '[]' : ']}]');
}

export function messagePackConflicts(rows: Rows, clusters: Clusters, wanted: Uint32Array): MeasuredBody {
  let byteLength = packedArrayHeaderLength(wanted.length);
  for (const cluster of wanted) byteLength += clusters.image.packedBytes[cluster]!;
  return bodyOfPieces(byteLength, () => packedEntryPieces(rows, clusters, wanted));
}

function* packedEntryPieces(rows: Rows, clusters: Clusters, wanted: Uint32Array): Generator<Piece> {
  yield arrayHeader(wanted.length);
  for (const cluster of wanted) {
    const events = Selection.ofList(clusters.eventsOf(cluster));
    // The header of the empty array is replaced.
    yield packPlain(emptyEntry(clusters, cluster)).subarray(0, -1);
    yield arrayHeader(events.count);
    yield* packedRowPieces(rows, events);
  }
}
