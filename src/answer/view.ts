/**
 * Folder answer/. From the parameters of a request to the bytes of its answer: plan, event numbers, bytes. A view is one
 * snapshot, opened for reading by HTTP and the library. This folder knows neither status codes
 * nor sockets.
 */

import { hash } from 'node:crypto';
import { CACHE_BYTES_DEFAULT, CARRIED_CHANGES_MAX } from '../base/limits.js';
import { type ConflictBy, type DirectoryName, isDirectory } from '../base/model/fields.js';
import type { AnyFormatName } from '../base/model/format.js';
import { parseIdentifier } from '../base/model/identifier.js';
import type { Room, RoomTable } from '../base/model/room.js';
import { formatVersion, type TimetableVersion } from '../base/model/timetable-version.js';
import { NO_CODE } from '../base/structures/dictionary.js';
import { DIGEST_CHARACTERS, Digest } from '../base/structures/digest.js';
import { lowerBound } from '../base/structures/search.js';
import type { ChangeCounts } from '../change/change.js';
import {
  countsOfDifference,
  type Differences,
  differenceSince,
  NO_DIFFERENCES,
  snapshotServedAt,
} from '../change/history.js';
import { fieldChanges } from '../snapshot/field-changes.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import type { Answer, Encode, Read, ReadResult } from './answer.js';
import { type Body, keptBody } from './body.js';
import { calendarForm } from './calendar-rows.js';
import { earlierRows, jsonChanges, messagePackChanges } from './changes.js';
import { findConflicts, jsonConflicts, messagePackConflicts } from './conflicts.js';
import { encodeConflictCursor, encodeDirectoryCursor, encodeEventCursor, placeAfter } from './cursor.js';
import { Directory } from './directory.js';
import type { EndpointName } from './endpoint-parameters.js';
import { executePlan } from './execute.js';
import { type Explanation, explainFree, explainPlan } from './explain.js';
import { FreeKeys, type FreeQuery, findFree } from './free.js';
import { jsonRow, jsonRows } from './json.js';
import { csvForm, NDJSON } from './line-rows.js';
import { messagePackRow, messagePackRows, packPlain } from './msgpack.js';
import { directoryBody, type Further, freeBody } from './named-entries.js';
import { PAGE_REVISION, pageForm } from './page-rows.js';
import {
  type DataSetFacts,
  type FeedQuery,
  type ParameterPairs,
  type Parameters,
  type ParseOptions,
  parseFeedQuery,
  parseParameters,
  type ReadFaults,
} from './parameters.js';
import { type Plan, planQuery } from './plan.js';
import type { FieldFilter, Query, Window } from './query.js';
import { RowCache } from './row-cache.js';
import { type FeedHead, type RowListForm, rowList } from './row-lists.js';
import type { Selection } from './selection.js';

export type { ParameterPairs, ParseOptions } from './parameters.js';

/** What programs see of a snapshot. A request takes one view, and so sees one snapshot. */
export interface View {
  /** Facts about the snapshot. */
  readonly summary: SnapshotSummary;
  /** `<sequence>.<snapshot id>`. The sequence grows with each publication. */
  readonly version: string;
  /** Views with equal ids give equal answers and header fields. The id covers the version and the table of rooms. */
  readonly contentId: string;
  /** Counts of this view's row cache. */
  readonly rowCache: {
    /** Memory of the row cache. */
    readonly bytes: number;
    /** Results made from the cache. */
    readonly hits: number;
    /** Results made without it. */
    readonly misses: number;
  };
  /** GET /schedule. */
  schedule(pairs: ParameterPairs, options: ParseOptions): ReadResult;
  /** GET /schedule/personal: the filters of /schedule, narrowed to the user's identities. */
  personal(pairs: ParameterPairs, options: ParseOptions, identities: readonly FieldFilter[]): ReadResult;
  /** GET /schedule/all. */
  all(pairs: ParameterPairs, options: ParseOptions): ReadResult;
  /** GET /schedule/types. */
  types(pairs: ParameterPairs, options: ParseOptions): ReadResult;
  /** GET /schedule/conflicts. */
  conflicts(pairs: ParameterPairs, options: ParseOptions): ReadResult;
  /** GET /schedule/free: rooms, lecturers or groups with nothing scheduled in a window. */
  free(pairs: ParameterPairs, options: ParseOptions): ReadResult;
  /** GET /schedule/changes: the difference from a past snapshot. */
  changes(pairs: ParameterPairs, options: ParseOptions): ReadResult;
  /** Numbers of events that changed since a snapshot; null for an unknown or forgotten one. */
  countChanges(since: string): ChangeCounts | null;
  /** Whether this view is at least as new as a version that a client has seen. */
  hasReached(version: TimetableVersion): boolean;
  /**
   * GET /schedule/rooms and the other directories: the rooms, courses, groups or lecturers of matching
   * events, with numbers of events.
   */
  directory(name: DirectoryName, pairs: ParameterPairs, options: ParseOptions): ReadResult;
  /** GET /schedule/events/{id}. */
  event(id: string, pairs: ParameterPairs, options: ParseOptions): ReadResult;
  /** GET /schedule/feed: the filters and window of a feed with these parameters, in canonical form. */
  feedQuery(pairs: ParameterPairs, options: ParseOptions): FeedQuery | ReadFaults;
  /** The JSON of one event by its id, or null. The bytes are shared memory: only read them. */
  eventOf(id: string): Uint8Array | null;
  /** How GET /schedule, a directory or /schedule/free answers: the plan as text, with counts and timings. Executes the query. */
  explain(
    pairs: ParameterPairs,
    options: ParseOptions,
    endpoint?: ExplainedEndpoint,
  ): Explanation | ReadFaults;
  /** A value of the field in this data set, for examples and test tokens; null if no event has one. */
  sampleValue(field: FieldFilter['field']): string | null;
}

/** Endpoints that plan a query. */
export type ExplainedEndpoint = 'schedule' | 'free' | DirectoryName;

type Identities = readonly FieldFilter[] | null;

export class SnapshotView implements View {
  readonly summary: SnapshotSummary;
  readonly version: string;
  readonly contentId: string;
  /** The next publication clears the cache, which stays usable. */
  readonly rowCache: RowCache;
  readonly snapshot: Snapshot;
  readonly #sequence: number;
  readonly #hasSharedSequence: boolean;
  readonly #differences: Differences;
  readonly #facts: DataSetFacts;
  readonly #tags: EntityTags;
  readonly #free: FreeReader;
  readonly #events: EventLists;
  readonly #directories: Directories;

  /**
   * @param differences from past snapshots
   * @param cacheBytesMax memory for the row cache; 0 for no cache
   * @param rooms of the rooms file
   * @param sequence of the publication
   * @param hasSharedSequence whether one publisher gives the sequence to all services that clients read
   */
  constructor(
    snapshot: Snapshot,
    differences: Differences = NO_DIFFERENCES,
    cacheBytesMax: number = CACHE_BYTES_DEFAULT,
    rooms: RoomTable | null = null,
    sequence = 1,
    hasSharedSequence = false,
  ) {
    this.summary = snapshot.summary;
    this.version = formatVersion({ sequence, snapshotId: snapshot.summary.id });
    this.contentId = `${this.version}${rooms?.digest ?? ''}`;
    this.rowCache = new RowCache(snapshot.rows, cacheBytesMax);
    this.snapshot = snapshot;
    this.#sequence = sequence;
    this.#hasSharedSequence = hasSharedSequence;
    this.#differences = differences;
    this.#facts = {
      identifiers: snapshot.summary.identifiers,
      hasValue: (name, value) => snapshot.field(name).dictionary.codeOf(value) !== NO_CODE,
    };
    this.#tags = new EntityTags(snapshot);
    this.#events = new EventLists(snapshot, this.rowCache);
    this.#directories = new Directories(snapshot, rooms);
    this.#free = new FreeReader(snapshot, this.#directories, rooms, this.#tags);
  }

  /**
   * Takes over cached rows of the previous view, which differs at most in the events of `ids`. The previous
   * view then has no cached rows.
   */
  takeOver(before: SnapshotView, ids: readonly string[]): void {
    if (ids.length > CARRIED_CHANGES_MAX) return;
    this.rowCache.takeOver(before.rowCache, fieldChanges(before.snapshot, this.snapshot, ids));
  }

  schedule(pairs: ParameterPairs, options: ParseOptions): ReadResult {
    return this.#read('schedule', pairs, options, null);
  }

  personal(pairs: ParameterPairs, options: ParseOptions, identities: readonly FieldFilter[]): ReadResult {
    return this.#read('personal', pairs, options, identities);
  }

  all(pairs: ParameterPairs, options: ParseOptions): ReadResult {
    return this.#read('all', pairs, options, null);
  }

  types(pairs: ParameterPairs, options: ParseOptions): ReadResult {
    return this.#read('types', pairs, options, null);
  }

  conflicts(pairs: ParameterPairs, options: ParseOptions): ReadResult {
    return this.#read('conflicts', pairs, options, null);
  }

  free(pairs: ParameterPairs, options: ParseOptions): ReadResult {
    const parsed = parseParameters('free', pairs, options, this.#facts);
    return 'faults' in parsed ? parsed : { read: this.#free.read(parsed.parameters) };
  }

  directory(name: DirectoryName, pairs: ParameterPairs, options: ParseOptions): ReadResult {
    return this.#read(name, pairs, options, null);
  }

  event(id: string, pairs: ParameterPairs, options: ParseOptions): ReadResult {
    const parsed = parseParameters('events', pairs, options, this.#facts);
    if ('faults' in parsed) return parsed;
    const { parameters } = parsed;
    const ordinal = this.#ordinalOf(id);
    if (ordinal === -1) return { missing: 'No event of the timetable has this id.' };
    const { rows } = this.snapshot;
    const read: Read = {
      format: parameters.format,
      isRelative: false,
      modifiedMs: this.summary.modifiedMs,
      entityTag: (format) => this.#tags.ofEvent(ordinal, format),
      execute: (format) => {
        const body = format === 'json' ? jsonRow(rows, ordinal) : messagePackRow(rows, ordinal);
        return { total: 1, count: 1, nextCursor: null, body };
      },
    };
    return { read };
  }

  changes(pairs: ParameterPairs, options: ParseOptions): ReadResult {
    const parsed = parseParameters('changes', pairs, options, this.#facts);
    if ('faults' in parsed) return parsed;
    const { id } = this.summary;
    const { since, sinceMs } = parsed.parameters;
    // The entity tag follows the snapshot, also if an instant was given.
    const from =
      sinceMs === null ? since : (snapshotServedAt(this.#differences, sinceMs, this.#sequence) ?? id);
    const parameters = { ...parsed.parameters, since: from };
    const difference = differenceSince(this.#differences, from ?? '', id);
    if (difference === null) {
      return {
        gone: `the snapshot to compare with is unknown or no longer kept; read everything again (the present snapshot is ${id})`,
      };
    }
    const { added, changed, removed } = countsOfDifference(difference);
    const count = added + changed + removed;
    const { removedIds } = this.#differences;
    const read: Read = {
      format: parameters.format,
      isRelative: false,
      modifiedMs: this.summary.modifiedMs,
      entityTag: (format) => this.#tags.of('changes', parameters, null, format),
      execute: (format) => {
        const encode = format === 'json' ? jsonChanges : messagePackChanges;
        const before = parameters.earlier ? earlierRows(difference, this.#differences) : null;
        const body = encode(this.snapshot, difference, removedIds, before);
        return { total: count, count, nextCursor: null, body };
      },
    };
    return { read };
  }

  countChanges(since: string): ChangeCounts | null {
    const difference = differenceSince(this.#differences, since, this.summary.id);
    return difference && countsOfDifference(difference);
  }

  hasReached({ sequence, snapshotId }: TimetableVersion): boolean {
    if (sequence < this.#sequence) return true;
    // An equal id is not enough: content that returns has a larger sequence than before.
    if (this.#hasSharedSequence) return sequence === this.#sequence && snapshotId === this.summary.id;
    // When each service loads the source itself, each numbers its publications separately. So a snapshot in the
    // history counts as reached, whatever its sequence.
    return differenceSince(this.#differences, snapshotId, this.summary.id) !== null;
  }

  feedQuery(pairs: ParameterPairs, options: ParseOptions): FeedQuery | ReadFaults {
    return parseFeedQuery(pairs, options, this.#facts);
  }

  eventOf(id: string): Uint8Array | null {
    const ordinal = this.#ordinalOf(id);
    return ordinal === -1 ? null : this.snapshot.rows.rowOf(ordinal);
  }

  /** Returns -1 for an unknown id. */
  #ordinalOf(id: string): number {
    const canonical = parseIdentifier(id, this.summary.identifiers, 'id');
    return canonical === null ? -1 : this.snapshot.ordinalOf(canonical);
  }

  explain(
    pairs: ParameterPairs,
    options: ParseOptions,
    endpoint: ExplainedEndpoint = 'schedule',
  ): Explanation | ReadFaults {
    const began = performance.now();
    const parsed = parseParameters(endpoint, pairs, options, this.#facts);
    if ('faults' in parsed) return parsed;
    const planning = performance.now();
    if (endpoint === 'free') return this.#free.explain(parsed.parameters, planning - began);
    const plan = planQuery(this.snapshot, queryOf(parsed.parameters, null));
    const executing = performance.now();
    const find =
      endpoint === 'schedule'
        ? this.#events.find(plan, parsed.parameters)
        : this.#directories.find(endpoint, plan, parsed.parameters);
    const encoding = performance.now();
    const { total, count, body } = find('json');
    // Large bodies are made while they are sent.
    if (body.write !== undefined) body.makeChunks();
    const ended = performance.now();
    return {
      plan: isDirectory(endpoint)
        ? `${explainPlan(plan)}\n${this.#directories.explain(endpoint, plan)}`
        : explainPlan(plan),
      total,
      count,
      // The length of a JSON body is known.
      bodyBytes: body.byteLength ?? 0,
      timings: {
        parseMs: planning - began,
        planMs: executing - planning,
        executeMs: encoding - executing,
        encodeMs: ended - encoding,
      },
    };
  }

  sampleValue(field: FieldFilter['field']): string | null {
    const { dictionary } = this.snapshot.field(field);
    return dictionary.size === 0 ? null : dictionary.valueOf(0);
  }

  #read(
    endpoint: EndpointName,
    pairs: ParameterPairs,
    options: ParseOptions,
    identities: Identities,
  ): ReadResult {
    const parsed = parseParameters(endpoint, pairs, options, this.#facts);
    if ('faults' in parsed) return parsed;
    const { parameters } = parsed;
    const query = queryOf(parameters, identities);
    const rooms = endpoint === 'rooms' ? this.#directories.roomsDigest : '';
    const read: Read = {
      format: parameters.format,
      isRelative: parameters.isRelative,
      modifiedMs: parameters.isRelative || rooms !== '' ? null : this.summary.modifiedMs,
      entityTag: (format) => this.#tags.of(endpoint, parameters, identities, format, rooms),
      execute: (format, feed) => {
        if (endpoint === 'types') return this.#typesAnswer(format);
        if (endpoint === 'conflicts') return this.#conflictsAnswer(query, parameters, format);
        const plan = planQuery(this.snapshot, query);
        const encode = isDirectory(endpoint)
          ? this.#directories.find(endpoint, plan, parameters)
          : this.#events.find(plan, parameters, feed);
        return encode(format);
      },
    };
    return { read };
  }

  #conflictsAnswer(query: Query, parameters: Parameters, format: AnyFormatName): Answer {
    const { conflictCursor, limit, merge } = parameters;
    const clusters = merge ? this.snapshot.merged : this.snapshot.unmerged;
    const found = findConflicts(this.snapshot, query, parameters);
    const from = conflictCursor === null ? 0 : lowerBound(found, clusters.clusterAfter(conflictCursor));
    const { page, total, nextCursor } = pageOf(found, from, limit, (last) =>
      encodeConflictCursor(clusters.keyOf(last)),
    );
    const encode = format === 'json' ? jsonConflicts : messagePackConflicts;
    const body = encode(this.snapshot.rows, clusters, page);
    return { total, count: page.length, nextCursor, body };
  }

  #typesAnswer(format: AnyFormatName): Answer {
    const types = this.snapshot.valuesOf('type');
    const bytes = format === 'json' ? Buffer.from(JSON.stringify(types), 'utf8') : packPlain(types);
    return { total: types.length, count: types.length, nextCursor: null, body: keptBody(bytes) };
  }
}

/** At most `limit` of the entries found, from place `from` on. @param cursorOf the cursor after an entry */
function pageOf(
  found: Uint32Array,
  from: number,
  limit: number,
  cursorOf: (last: number) => string,
): { readonly page: Uint32Array } & Pick<Answer, 'total' | 'nextCursor'> {
  const page = found.subarray(from, from + limit);
  const last = page.at(-1);
  const isLast = last === undefined || from + page.length === found.length;
  return { page, total: found.length, nextCursor: isLast ? null : cursorOf(last) };
}

function queryOf({ filters, startMs, endMs }: Parameters, identities: Identities): Query {
  return { filters, identities, window: { startMs, endMs } };
}

/**
 * For each representation with an opening, rows and a closing: a function that makes its form. EventLists
 * keeps the forms.
 */
const FORMS: Readonly<
  Record<
    Exclude<AnyFormatName, 'json' | 'msgpack'>,
    (snapshot: Snapshot, marksClashes: boolean) => RowListForm
  >
> = { ndjson: () => NDJSON, csv: csvForm, ics: calendarForm, html: pageForm };

/** Lists of the events of one snapshot, in each representation. */
class EventLists {
  readonly #snapshot: Snapshot;
  readonly #rowCache: RowCache;
  /** Forms by format name: first the forms without marked clashes, then the forms with them. */
  readonly #forms = [new Map<string, RowListForm>(), new Map<string, RowListForm>()] as const;

  constructor(snapshot: Snapshot, rowCache: RowCache) {
    this.#snapshot = snapshot;
    this.#rowCache = rowCache;
  }

  /** @param feed the head of the feed, if the list is a feed */
  find(plan: Plan, parameters: Parameters, feed?: FeedHead): Encode {
    const selection = executePlan(this.#snapshot, plan);
    const { page, nextCursor } = this.#page(selection, parameters);
    // All rows of one posting list in a window: those of one lesson and time are all here, or none.
    const lists = selection.origin?.lists.length ?? 1;
    const isOfList = page === selection && plan.checks.length === 0 && lists === 1;
    return (format) => {
      const body = this.#body(page, format, parameters.clashes, isOfList, feed);
      return { total: selection.count, count: page.count, nextCursor, body };
    };
  }

  /** The requested part of a result. */
  #page(
    selection: Selection,
    { eventCursor, limit }: Parameters,
  ): { page: Selection; nextCursor: string | null } {
    const from = eventCursor === null ? 0 : selection.positionOf(this.#snapshot.ordinalAfter(eventCursor));
    const to = Math.min(selection.count, from + limit);
    const page = selection.slice(from, to);
    const isLast = to === selection.count;
    return { page, nextCursor: isLast ? null : encodeEventCursor(this.#snapshot.keyOf(page.last())) };
  }

  #body(
    page: Selection,
    format: AnyFormatName,
    marksClashes: boolean,
    isOfList: boolean,
    feed?: FeedHead,
  ): Body {
    const { rows } = this.#snapshot;
    if (format === 'json') return jsonRows(rows, page, this.#rowCache);
    if (format === 'msgpack') return messagePackRows(rows, page, this.#rowCache);
    const form = this.#formOf(format, marksClashes);
    const opening = feed === undefined ? undefined : form.openingOf?.(feed);
    const whole = opening === undefined ? form : { ...form, opening };
    return rowList(rows, page, whole, form.layout.among === undefined || isOfList ? this.#rowCache : null);
  }

  #formOf(format: keyof typeof FORMS, marksClashes: boolean): RowListForm {
    const forms = this.#forms[marksClashes ? 1 : 0];
    let form = forms.get(format);
    if (form === undefined) {
      form = FORMS[format](this.#snapshot, marksClashes);
      forms.set(format, form);
    }
    return form;
  }
}

/** GET /schedule/free from one snapshot and one table of rooms. */
class FreeReader {
  readonly #snapshot: Snapshot;
  readonly #rooms: RoomTable | null;
  readonly #tags: EntityTags;
  readonly #directories: Directories;
  /** Made on first use. */
  readonly #keys = new Map<ConflictBy, FreeKeys>();

  constructor(snapshot: Snapshot, directories: Directories, rooms: RoomTable | null, tags: EntityTags) {
    this.#directories = directories;
    this.#snapshot = snapshot;
    this.#rooms = rooms;
    this.#tags = tags;
  }

  read(parameters: Parameters): Read {
    const digest = this.#rooms?.digest ?? '';
    return {
      format: parameters.format,
      isRelative: parameters.isRelative,
      modifiedMs: parameters.isRelative || this.#rooms ? null : this.#snapshot.summary.modifiedMs,
      entityTag: (format) => this.#tags.of('free', parameters, null, format, digest),
      execute: (format) => this.#answer(parameters, format),
    };
  }

  /** @param parseMs time taken to read the parameters */
  explain(parameters: Parameters, parseMs: number): Explanation {
    const query = parameters.free as FreeQuery;
    const planning = performance.now();
    const keys = this.#keysOf(query.by);
    const executing = performance.now();
    const { keys: found, marks } = findFree(keys, query);
    const encoding = performance.now();
    const { total, count, body } = this.#answer(parameters, 'json');
    const ended = performance.now();
    return {
      plan: explainFree(keys, query, found.length, marks),
      total,
      count,
      bodyBytes: body.byteLength ?? 0,
      timings: {
        parseMs,
        planMs: executing - planning,
        executeMs: encoding - executing,
        encodeMs: ended - encoding,
      },
    };
  }

  #keysOf(by: ConflictBy): FreeKeys {
    let keys = this.#keys.get(by);
    if (keys === undefined) {
      keys = new FreeKeys(this.#snapshot, this.#directories.of(`${by}s`), by, this.#rooms);
      this.#keys.set(by, keys);
    }
    return keys;
  }

  #answer({ free, directoryCursor, limit }: Parameters, format: AnyFormatName): Answer {
    const query = free as FreeQuery;
    const keys = this.#keysOf(query.by);
    const found = findFree(keys, query).keys;
    const from = directoryCursor === null ? 0 : placeAfter(keys, found, directoryCursor);
    const { page, total, nextCursor } = pageOf(found, from, limit, (last) =>
      encodeDirectoryCursor('free', keys.keyOf(last)),
    );
    const gaps = keys.gapsOf(page, query.windows[0] as Window);
    const further =
      query.by === 'room' && this.#rooms !== null ? (key: number) => roomMembers(keys.roomOf(key)) : null;
    const body = freeBody(format, keys.named, page, gaps, further);
    return { total, count: page.length, nextCursor, body };
  }
}

/** Revisions of representations whose content is not only the timetable. */
const REVISIONS: { readonly [Name in AnyFormatName]?: string } = { html: PAGE_REVISION };

/**
 * Weak entity tags of one snapshot's answers, computed from everything that decides an answer. 64 bits of
 * digest suffice: tags are compared only among answers of one URL, and a client that finds two queries with
 * one digest harms only itself.
 */
class EntityTags {
  /** `W/"<snapshot id>-<digest>"`; only the digest changes. */
  readonly #bytes: Buffer;
  readonly #digestOffset: number;
  readonly #modified: Uint32Array;
  /** Only calendars show the times of change, which the id of the content does not cover. */
  #modifiedDigest: string | null = null;

  constructor({ summary, modified }: Snapshot) {
    this.#modified = modified;
    const before = `W/"${summary.id}-`;
    this.#bytes = Buffer.from(`${before}${'x'.repeat(DIGEST_CHARACTERS)}"`, 'latin1');
    this.#digestOffset = before.length;
  }

  of(
    endpoint: EndpointName,
    parameters: Parameters,
    identities: readonly FieldFilter[] | null,
    format: AnyFormatName,
    rooms = '',
  ): string {
    const { startMs, endMs, limit, eventCursor, conflictCursor, directoryCursor, q } = parameters;
    const { by, merge, since, clashes } = parameters;
    const digest = new Digest();
    digest.text(endpoint);
    digest.text(format);
    digest.number(startMs);
    digest.number(endMs);
    digest.number(limit);
    addFilters(digest, parameters.filters);
    // Filters of equal fields and values differ in this alone.
    for (const { isExcluding } of parameters.filters) digest.word(isExcluding ? 1 : 0);
    if (identities !== null) {
      digest.text('identities');
      addFilters(digest, identities);
    }
    if (eventCursor !== null) {
      digest.text('after');
      digest.number(eventCursor.timeMs);
      digest.number(eventCursor.endTimeMs);
      digest.text(eventCursor.id);
    }
    if (conflictCursor !== null) digest.text(JSON.stringify(conflictCursor));
    if (directoryCursor !== null) digest.text(JSON.stringify(directoryCursor));
    if (q !== null) {
      digest.text('q');
      digest.text(q);
    }
    if (endpoint === 'conflicts') {
      digest.text(by.join());
      digest.word(merge ? 1 : 0);
    }
    if (since !== null) digest.text(since);
    if (parameters.earlier) digest.text('earlier');
    if (parameters.free !== null) digest.text(JSON.stringify(parameters.free));
    if (rooms !== '') digest.text(rooms);
    if (clashes && format === 'ics') digest.text('clashes');
    if (format === 'ics') {
      this.#modifiedDigest ??= hash('sha1', this.#modified);
      digest.text(this.#modifiedDigest);
    }
    const revision = REVISIONS[format];
    if (revision !== undefined) digest.text(revision);
    return this.#tag(digest);
  }

  ofEvent(ordinal: number, format: AnyFormatName): string {
    const digest = new Digest();
    digest.text('events');
    digest.text(format);
    digest.number(ordinal);
    return this.#tag(digest);
  }

  #tag(digest: Digest): string {
    digest.writeTo(this.#bytes, this.#digestOffset);
    return this.#bytes.toString('latin1');
  }
}

function addFilters(digest: Digest, filters: readonly FieldFilter[]): void {
  digest.word(filters.length);
  for (const { field, values } of filters) {
    digest.text(field);
    digest.word(values.length);
    for (const value of values) digest.text(value);
  }
}

/** The directories of one snapshot. Each directory is sorted on first use. */
class Directories {
  readonly #snapshot: Snapshot;
  readonly #directories = new Map<DirectoryName, Directory>();
  /** Empty without a rooms file. */
  readonly roomsDigest: string;
  /** By id; null without a rooms file. */
  readonly #rooms: ReadonlyMap<string, Room> | null;

  constructor(snapshot: Snapshot, table: RoomTable | null) {
    this.#snapshot = snapshot;
    this.roomsDigest = table?.digest ?? '';
    this.#rooms = table && new Map(table.rooms.map((room) => [room.id, room]));
  }

  find(name: DirectoryName, plan: Plan, { q, directoryCursor, limit }: Parameters): Encode {
    const directory = this.of(name);
    const counted = directory.count(isWhole(plan) ? null : executePlan(this.#snapshot, plan));
    const found = directory.find(counted, q);
    const from = directoryCursor === null ? 0 : placeAfter(directory, found, directoryCursor);
    const { page, total, nextCursor } = pageOf(found, from, limit, (last) =>
      encodeDirectoryCursor(name, directory.keyOf(last)),
    );
    const further = this.#furtherOf(name, directory);
    return (format) => ({
      total,
      count: page.length,
      nextCursor,
      body: directoryBody(format, directory, page, counted.counts, further),
    });
  }

  #furtherOf(name: DirectoryName, directory: Directory): Further | null {
    const rooms = this.#rooms;
    if (name === 'rooms' && rooms !== null)
      return (entry) => roomMembers(rooms.get(directory.ids.valueOf(entry)));
    const { studyGroups } = directory;
    return studyGroups && ((entry) => ({ studyGroup: studyGroups(entry) }));
  }

  /** One line for the plan of a query: how the events of each entry are counted. */
  explain(name: DirectoryName, plan: Plan): string {
    const { size } = this.of(name);
    const way = isWhole(plan) ? 'the lengths of posting lists' : 'the codes of the events found';
    return `COUNT ${size} ${name} by ${way}`;
  }

  of(name: DirectoryName): Directory {
    let directory = this.#directories.get(name);
    if (directory === undefined) {
      directory = new Directory(this.#snapshot, name);
      this.#directories.set(name, directory);
    }
    return directory;
  }
}

function roomMembers(room: Room | null | undefined): Pick<Room, 'building' | 'capacity'> {
  return { building: room?.building ?? null, capacity: room?.capacity ?? null };
}

function isWhole({ lead, window, checks }: Plan): boolean {
  return lead.kind === 'runs' && window.window === null && checks.length === 0;
}
