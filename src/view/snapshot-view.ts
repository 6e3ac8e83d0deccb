import { jsonChanges, messagePackChanges } from '../encode/changes.js';
import { jsonConflicts, messagePackConflicts } from '../encode/conflict-entries.js';
import { jsonRows } from '../encode/json.js';
import { messagePackRows, packPlain } from '../encode/msgpack.js';
import { RowCache } from '../encode/row-cache.js';
import { CACHE_BYTES_DEFAULT } from '../limits.js';
import type { FormatName } from '../model/format.js';
import { parseIdentifier } from '../model/identifier.js';
import { findConflicts } from '../query/conflicts.js';
import { clusterAfter, encodeConflictCursor, encodeEventCursor } from '../query/cursor.js';
import { executePlan } from '../query/execute.js';
import { explainPlan } from '../query/explain.js';
import { pageRange } from '../query/page.js';
import {
  type DataSetFacts,
  type EndpointName,
  type Parameters,
  parseParameters,
} from '../query/parameters.js';
import { planQuery } from '../query/plan.js';
import { ALWAYS, type FieldFilter, type Query } from '../query/query.js';
import type { Selection } from '../query/selection.js';
import { type Differences, differenceSince, NO_DIFFERENCES } from '../snapshot/differences.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import { NO_CODE } from '../structures/dictionary.js';
import { lowerBound } from '../structures/search.js';
import type { Answer, Body, Read, ReadResult } from './answer.js';
import { EntityTags } from './entity-tag.js';
import type { ParameterPairs, ParseOptions, View } from './view.js';

/**
 * Opens a snapshot for reading.
 *
 * @param differences what has changed since past snapshots
 * @param cacheBytesMax for rows that are laid side by side; 0 for none
 */
export function viewOf(
  snapshot: Snapshot,
  differences: Differences = NO_DIFFERENCES,
  cacheBytesMax: number = CACHE_BYTES_DEFAULT,
): View {
  return new SnapshotView(snapshot, differences, cacheBytesMax);
}

class SnapshotView implements View {
  readonly summary: View['summary'];
  readonly #snapshot: Snapshot;
  readonly #differences: Differences;
  readonly #facts: DataSetFacts;
  readonly #cache: RowCache;
  readonly #tags: EntityTags;

  constructor(snapshot: Snapshot, differences: Differences, cacheBytesMax: number) {
    this.#cache = new RowCache(snapshot.rows, cacheBytesMax);
    this.summary = snapshot.summary;
    this.#snapshot = snapshot;
    this.#differences = differences;
    this.#facts = factsOf(snapshot);
    this.#tags = new EntityTags(snapshot.summary.id);
  }

  schedule(pairs: ParameterPairs, options: ParseOptions): ReadResult {
    return this.#read('schedule', pairs, options, null, eventsAnswer);
  }

  personal(pairs: ParameterPairs, options: ParseOptions, identities: readonly FieldFilter[]): ReadResult {
    return this.#read('personal', pairs, options, identities, eventsAnswer);
  }

  all(pairs: ParameterPairs, options: ParseOptions): ReadResult {
    return this.#read('all', pairs, options, null, eventsAnswer);
  }

  types(pairs: ParameterPairs, options: ParseOptions): ReadResult {
    return this.#read('types', pairs, options, null, typesAnswer);
  }

  conflicts(pairs: ParameterPairs, options: ParseOptions): ReadResult {
    return this.#read('conflicts', pairs, options, null, conflictsAnswer);
  }

  changes(pairs: ParameterPairs, options: ParseOptions): ReadResult {
    const snapshot = this.#snapshot;
    const parsed = parseParameters('changes', pairs, options, this.#facts);
    if ('faults' in parsed) return parsed;
    const { parameters } = parsed;
    const { id } = snapshot.summary;
    const difference = differenceSince(this.#differences, parameters.since ?? '', id);
    if (difference === null) {
      return {
        gone: `the snapshot to compare with is not known, or not any more; read everything, which is now ${id}`,
      };
    }
    const { added, changed, removed } = difference;
    const count = added.entries.length + changed.entries.length + removed.entries.length;
    const read: Read = {
      format: parameters.format,
      entityTag: (format) => this.#tags.of('changes', parameters, null, format),
      execute: (format) => ({
        total: count,
        count,
        nextCursor: null,
        body: (format === 'json' ? jsonChanges : messagePackChanges)(
          snapshot,
          difference,
          this.#differences.goneIds,
        ),
      }),
    };
    return { read };
  }

  get rowCache(): View['rowCache'] {
    return this.#cache;
  }

  dropCaches(): void {
    this.#cache.clear();
  }

  eventOf(id: string): Uint8Array | null {
    const canonical = parseIdentifier(id, this.#snapshot.summary.identifiers);
    const ordinal = canonical === null ? -1 : this.#snapshot.ordinalOf(canonical);
    return ordinal === -1 ? null : this.#snapshot.rows.rowOf(ordinal);
  }

  explain(pairs: ParameterPairs, options: ParseOptions): ReturnType<View['explain']> {
    const snapshot = this.#snapshot;
    const began = performance.now();
    const parsed = parseParameters('schedule', pairs, options, this.#facts);
    if ('faults' in parsed) return parsed;
    const planning = performance.now();
    const plan = planQuery(snapshot, queryOf(parsed.parameters, null));
    const executing = performance.now();
    const selection = executePlan(snapshot, plan);
    const encoding = performance.now();
    const { page } = eventPage(snapshot, selection, parsed.parameters);
    const body = jsonRows(snapshot.rows, page, this.#cache);
    const ended = performance.now();
    return {
      plan: explainPlan(plan),
      total: selection.count,
      count: page.count,
      bodyBytes: body.byteLength,
      timings: {
        parseMs: planning - began,
        planMs: executing - planning,
        executeMs: encoding - executing,
        encodeMs: ended - encoding,
      },
    };
  }

  sampleValue(field: FieldFilter['field']): string | null {
    const { dictionary } = this.#snapshot.field(field);
    return dictionary.size === 0 ? null : dictionary.valueOf(0);
  }

  #read(
    endpoint: EndpointName,
    pairs: ParameterPairs,
    options: ParseOptions,
    identities: readonly FieldFilter[] | null,
    answer: (source: AnswerSource, query: Query, parameters: Parameters, format: FormatName) => Answer,
  ): ReadResult {
    const snapshot = this.#snapshot;
    const parsed = parseParameters(endpoint, pairs, options, this.#facts);
    if ('faults' in parsed) return parsed;
    const { parameters } = parsed;
    const query = queryOf(parameters, identities);
    const read: Read = {
      format: parameters.format,
      entityTag: (format) => this.#tags.of(endpoint, parameters, identities, format),
      execute: (format) => answer({ snapshot, cache: this.#cache }, query, parameters, format),
    };
    return { read };
  }
}

/** What answers are made from. */
interface AnswerSource {
  readonly snapshot: Snapshot;
  readonly cache: RowCache;
}

function factsOf(snapshot: Snapshot): DataSetFacts {
  return {
    identifiers: snapshot.summary.identifiers,
    hasValue: (name, value) => snapshot.field(name).dictionary.codeOf(value) !== NO_CODE,
  };
}

/** The selecting part of parsed parameters. */
function queryOf(parameters: Parameters, identities: readonly FieldFilter[] | null): Query {
  const { filters, startMs, endMs } = parameters;
  const window = startMs === ALWAYS.startMs && endMs === ALWAYS.endMs ? ALWAYS : { startMs, endMs };
  return { filters, identities, window };
}

/** The part of a result that was asked for. */
function eventPage(
  snapshot: Snapshot,
  selection: Selection,
  { eventCursor, limit }: Parameters,
): { page: Selection; nextCursor: string | null } {
  const begin = eventCursor === null ? 0 : selection.positionOf(snapshot.ordinalAfter(eventCursor));
  const { from, to, more } = pageRange(selection.count, begin, limit);
  const page = selection.slice(from, to);
  return { page, nextCursor: more ? encodeEventCursor(snapshot.keyOf(page.last())) : null };
}

function eventsAnswer(
  { snapshot, cache }: AnswerSource,
  query: Query,
  parameters: Parameters,
  format: FormatName,
): Answer {
  const selection = executePlan(snapshot, planQuery(snapshot, query));
  const { page, nextCursor } = eventPage(snapshot, selection, parameters);
  return {
    total: selection.count,
    count: page.count,
    nextCursor,
    body: (format === 'json' ? jsonRows : messagePackRows)(snapshot.rows, page, cache),
  };
}

function conflictsAnswer(
  { snapshot }: AnswerSource,
  query: Query,
  { conflictCursor, limit, by, merge }: Parameters,
  format: FormatName,
): Answer {
  const clusters = merge ? snapshot.merged : snapshot.unmerged;
  const found = findConflicts(snapshot, query, { by, merge });
  const begin = conflictCursor === null ? 0 : lowerBound(found, clusterAfter(clusters, conflictCursor));
  const { from, to, more } = pageRange(found.length, begin, limit);
  const page = found.subarray(from, to);
  const encode = format === 'json' ? jsonConflicts : messagePackConflicts;
  return {
    total: found.length,
    count: page.length,
    nextCursor: more ? encodeConflictCursor(clusters.keyOf(page.at(-1) ?? 0)) : null,
    body: encode(snapshot.rows, clusters, page),
  };
}

function typesAnswer(
  { snapshot }: AnswerSource,
  _query: Query,
  _parameters: Parameters,
  format: FormatName,
): Answer {
  const types = snapshot.valuesOf('type');
  const bytes = format === 'json' ? Buffer.from(JSON.stringify(types), 'utf8') : packPlain(types);
  const body: Body = { byteLength: bytes.length, chunks: [bytes] };
  return { total: types.length, count: types.length, nextCursor: null, body };
}
