/** Answers a read route for an authenticated user from one view, after the last checks of docs/http-api.md, Errors. */
import type { ReadResult } from '../answer/answer.js';
import { type Body, keptBody, SharedSlices } from '../answer/body.js';
import { ENDPOINT_FORMATS } from '../answer/endpoint-parameters.js';
import type { LiveViews, ViewSource } from '../answer/present.js';
import type { FieldFilter } from '../answer/query.js';
import type { ParameterPairs, ParseOptions, View } from '../answer/view.js';
import type { ParameterFault } from '../base/errors.js';
import { PARAMETER_FAULTS_MAX } from '../base/limits.js';
import { CELL } from '../base/metrics/cells.js';
import type { Meter } from '../base/metrics/meter.js';
import { isDirectory } from '../base/model/fields.js';
import { FORMATS, type Format, type FormatName, LIST_FORMATS } from '../base/model/format.js';
import { parseVersion } from '../base/model/timetable-version.js';
import { AnswerCache, type KnownTarget, type Validators } from './answer/answer-cache.js';
import { AnswersUnderWay } from './answer/answers-under-way.js';
import { type Coding, CompressedAnswers } from './answer/compression.js';
import {
  CACHE_CONTROL,
  isModifiedSince,
  lastModified,
  matchedEntityTag,
  nextLink,
  VARY,
} from './answer/conditional.js';
import { contentTypeOf, dispositionOf, EVENT_STREAM_TYPE, negotiateFormat } from './answer/negotiate.js';
import { type Problem, sendProblem } from './answer/problem.js';
import { sendBody, sendEmpty, sendKnown } from './answer/respond.js';
import type { Exchange, FlatHeaders } from './exchange.js';
import { mountPathOf, parseQueryString } from './request/target.js';
import { lastSegmentOf, type ReadRoute } from './routes.js';
import { VERSION_MALFORMED, VERSION_NOT_YET, VersionWaits } from './version-waits.js';

const USER_NOT_MAPPED: Problem = {
  code: 'identity-not-mapped',
  detail: 'No study group or other value that selects events is known for this user.',
};

const TOKEN_NOT_MAPPED: Problem = {
  code: 'identity-not-mapped',
  detail:
    'The token is valid, but none of its claims selects events and its subject is not enrolled anywhere. ' +
    'Ask the issuer of the tokens for a claim that names your groups.',
};

function notAcceptable(formats: readonly { readonly mediaType: string }[]): Problem {
  const mediaTypes = formats.map((format) => format.mediaType);
  const others = mediaTypes.slice(0, -1).join(', ');
  return { code: 'not-acceptable', detail: `This is available as ${others} or ${mediaTypes.at(-1)}.` };
}

const EVENTS_NOT_ACCEPTABLE = notAcceptable(FORMATS);
const LIST_NOT_ACCEPTABLE = notAcceptable(LIST_FORMATS);
const CHANGES_NOT_ACCEPTABLE = notAcceptable([...LIST_FORMATS, { mediaType: EVENT_STREAM_TYPE }]);

/** RFC 9110 section 13.1.1 compares tags strongly, and all tags of Lectern are weak. */
const PRECONDITION_FAILED: Problem = {
  code: 'precondition-failed',
  detail:
    'Entity tags of the timetable are weak, so If-Match never matches one: send "*", or leave If-Match out.',
};

const MODIFIED: Problem = {
  code: 'precondition-failed',
  detail: 'The timetable has changed since the time in If-Unmodified-Since.',
};

const NO_SNAPSHOT: Problem = {
  code: 'snapshot-unavailable',
  detail: 'The timetable has not been loaded yet. Ask again in a few seconds.',
  headers: ['Retry-After', '2'],
};

const STALE_SNAPSHOT: Problem = {
  code: 'snapshot-stale',
  detail: 'The last good load of the timetable is older than this service allows.',
  headers: ['Retry-After', '2'],
};

/** The header field with the version of the publication that an answer comes from. */
const VERSION_FIELD = 'Lectern-Version';
const LIST_CACHING: readonly string[] = ['Cache-Control', CACHE_CONTROL, 'Vary', VARY];

export function snapshotUnavailable(views: ViewSource): Problem {
  return views.summary === null ? NO_SNAPSHOT : STALE_SNAPSHOT;
}

export function sendSnapshotUnavailable(exchange: Exchange, views: ViewSource): void {
  sendProblem(exchange, snapshotUnavailable(views));
}

export interface ReaderSettings extends ParseOptions {
  /** Bytes of memory for whole answers to repeated requests; 0 for none. */
  readonly cacheBytesMax: number;
  /** Whether answers to repeated requests are compressed. */
  readonly compression: boolean;
}

export class Reader {
  readonly notMapped: Problem;
  readonly #views: ViewSource;
  readonly #options: ParseOptions;
  readonly #cache: AnswerCache;
  readonly #compressed: CompressedAnswers;
  readonly #meter: Meter | null;
  readonly #slices = new WeakMap<View, SharedSlices>();
  readonly #underWay: AnswersUnderWay;
  readonly #waits: VersionWaits;
  /** Header fields of answers without a body. */
  #caching = LIST_CACHING;
  #lastModified = '';

  /** @param hasTokens whether tokens identify users */
  constructor(views: LiveViews, settings: ReaderSettings, meter: Meter | null, hasTokens: boolean) {
    this.notMapped = hasTokens ? TOKEN_NOT_MAPPED : USER_NOT_MAPPED;
    this.#views = views;
    this.#waits = new VersionWaits(views);
    this.#options = settings;
    this.#cache = new AnswerCache(settings.cacheBytesMax);
    this.#compressed = new CompressedAnswers(this.#cache, settings.compression);
    this.#meter = meter;
    this.#underWay = new AnswersUnderWay(() => meter?.add(CELL.slowReaders));
    meter?.onSample(() => meter.set(CELL.answerBytes, this.#cache.bytes));
  }

  /**
   * Answers synchronously, unless the request waits for a version. The view is taken once, so the whole
   * answer comes from one snapshot.
   */
  answer(
    exchange: Exchange,
    route: ReadRoute,
    identities: readonly FieldFilter[] | null,
    mayWait = true,
  ): Promise<void> | undefined {
    if (route.endpoint === 'personal' && identities === null) {
      sendProblem(exchange, this.notMapped);
      return undefined;
    }
    const view: View | null = this.#views.view;
    if (view === null) {
      sendSnapshotUnavailable(exchange, this.#views);
      return undefined;
    }
    const { minVersion } = exchange.headers;
    if (minVersion !== undefined) {
      const version = parseVersion(minVersion);
      if (version === null) {
        sendProblem(exchange, VERSION_MALFORMED);
        return undefined;
      }
      if (!view.hasReached(version)) {
        const wait = mayWait ? this.#waits.until(version) : null;
        if (wait !== null) {
          exchange.awaitAnswer();
          return wait.then(() => this.answer(exchange, route, identities, false));
        }
        sendProblem(exchange, VERSION_NOT_YET);
        return undefined;
      }
    }
    if (this.#cache.contentId !== view.contentId) {
      this.#cache.keepOnly(view.contentId);
      this.#caching = [...LIST_CACHING, VERSION_FIELD, view.version];
      this.#lastModified = lastModified(view.summary.modifiedMs);
    }
    const coding = route.cacheable ? this.#compressed.codingFor(exchange.headers.acceptEncoding) : null;
    if (route.cacheable) {
      const isHit = this.#answerKnown(exchange, view, coding, ENDPOINT_FORMATS[route.endpoint]);
      this.#meter?.add(isHit ? CELL.answerHits : CELL.answerMisses);
      if (isHit) return undefined;
    }
    this.#answerFrom(view, exchange, route, identities ?? [], coding);
    return undefined;
  }

  /** Sends a body that no cache keeps. */
  sendRead(exchange: Exchange, view: View, headers: FlatHeaders, body: Body): void {
    sendBody(exchange, 200, headers, body);
    // A body that was written for this answer is a copy, so it does not keep the snapshot.
    if (body.write === undefined && !exchange.isHead) this.#underWay.add(exchange, view);
  }

  #answerKnown(exchange: Exchange, view: View, coding: Coding | null, formats: readonly Format[]): boolean {
    const target = keyOf(exchange);
    if (coding !== null) {
      const compressed = this.#compressed.find(target, coding);
      if (compressed !== undefined && answerKnown(exchange, view, compressed, formats, this.#caching))
        return true;
    }
    const known = this.#cache.find(target);
    if (known === undefined || !answerKnown(exchange, view, known, formats, this.#caching)) return false;
    if (coding !== null) this.#compressKnown(exchange, target, known, coding, formats);
    return true;
  }

  #compressKnown(
    { headers }: Exchange,
    target: string,
    known: KnownTarget,
    coding: Coding,
    formats: readonly Format[],
  ): void {
    const format = known.format ?? negotiateFormat(headers.accept, formats);
    const answer = format === null ? undefined : known.answers[format];
    if (format === null || answer === undefined || answer.body === null) return;
    const { body } = answer;
    this.#compressed.offer({ ...answer, target, named: known.format, format, ...keptBody(body) }, coding);
  }

  #answerFrom(
    view: View,
    exchange: Exchange,
    route: ReadRoute,
    identities: readonly FieldFilter[],
    coding: Coding | null,
  ): void {
    const { pairs, faults: malformed } = parseQueryString(exchange.query);
    const formats = ENDPOINT_FORMATS[route.endpoint];
    const result = this.#read(view, exchange, route.endpoint, pairs, identities);
    if ('faults' in result || malformed.length > 0) {
      sendFaults(exchange, pairs, formats, 'faults' in result ? [...malformed, ...result.faults] : malformed);
      return;
    }
    if ('gone' in result) {
      sendInsteadOf(exchange, pairs, formats, { code: 'snapshot-gone', detail: result.gone });
      return;
    }
    if ('missing' in result) {
      sendInsteadOf(exchange, pairs, formats, { code: 'event-not-found', detail: result.missing });
      return;
    }
    const { read } = result;
    const isKept = route.cacheable && !read.isRelative;
    const format = formatFor(exchange, read.format, formats);
    if (format === null) return;
    const entityTag = read.entityTag(format);
    const isPersonal = route.endpoint === 'personal';
    const modifiedMs = isPersonal ? null : read.modifiedMs;
    const key = keyOf(exchange);
    if (answerCondition(exchange, view, { entityTag, modifiedMs }, this.#caching)) {
      if (isKept)
        this.#cache.offer(key, read.format, format, { entityTag, modifiedMs, headers: [], body: null });
      return;
    }
    const { total, nextCursor, body } = read.execute(format);
    const headers: FlatHeaders = [
      'Content-Type',
      contentTypeOf(format),
      'ETag',
      entityTag,
      'Cache-Control',
      CACHE_CONTROL,
      'Vary',
      VARY,
      VERSION_FIELD,
      view.version,
    ];
    if (read.modifiedMs !== null) headers.push('Last-Modified', this.#lastModified);
    if (route.endpoint !== 'events') headers.push('X-Total-Count', String(total));
    const disposition = dispositionOf(format);
    if (disposition !== null) headers.push('Content-Disposition', disposition);
    if (nextCursor !== null) {
      headers.push('Link', nextLink(mountPathOf(exchange.req) + route.path, pairs, nextCursor));
    }
    if (body.byteLength !== null) headers.push('Content-Length', String(body.byteLength));
    // Answers with a next link are not cached, because the link depends on the mount path.
    if (isKept && nextCursor === null)
      this.#cache.offer(key, read.format, format, { entityTag, modifiedMs, headers, body });
    const { byteLength } = body;
    if (coding !== null && isKept && nextCursor === null) {
      const makeChunks = (): Iterable<Uint8Array> => read.execute(format).body.makeChunks();
      const validators = { entityTag, modifiedMs };
      const plain = { target: key, named: read.format, format, headers, byteLength, makeChunks };
      this.#compressed.offer({ ...plain, ...validators }, coding);
    }
    this.sendRead(exchange, view, headers, isPersonal ? body : this.#shared(body, view, exchange, format));
  }

  #read(
    view: View,
    { path }: Exchange,
    endpoint: ReadRoute['endpoint'],
    pairs: ParameterPairs,
    identities: readonly FieldFilter[],
  ): ReadResult {
    if (endpoint === 'events') return view.event(lastSegmentOf(path), pairs, this.#options);
    if (isDirectory(endpoint)) return view.directory(endpoint, pairs, this.#options);
    return view[endpoint](pairs, this.#options, identities);
  }

  #shared(body: Body, view: View, { target }: Exchange, format: FormatName): Body {
    if (body.chunksFrom === undefined) return body;
    let shared = this.#slices.get(view);
    if (shared === undefined) {
      shared = new SharedSlices();
      this.#slices.set(view, shared);
    }
    const chunks = body.chunksFrom(shared, `${format} ${target}`);
    return { byteLength: body.byteLength, makeChunks: () => chunks };
  }
}

/** The format of the answer. If no format is acceptable, 406 is sent. */
function formatFor(
  exchange: Exchange,
  named: FormatName | null,
  formats: readonly Format[],
): FormatName | null {
  const format = named ?? negotiateFormat(exchange.headers.accept, formats);
  if (format !== null) return format;
  const ofList = exchange.label === '/schedule/changes' ? CHANGES_NOT_ACCEPTABLE : LIST_NOT_ACCEPTABLE;
  sendProblem(exchange, formats === FORMATS ? EVENTS_NOT_ACCEPTABLE : ofList);
  return null;
}

/** The key of an answer in the cache, which includes the origin, because header fields depend on it. */
function keyOf({ target, fields }: Exchange): string {
  return fields.keyPrefix + target;
}

/** @returns false if the answer in this format is not known */
function answerKnown(
  exchange: Exchange,
  view: View,
  { format: named, answers }: KnownTarget,
  formats: readonly Format[],
  caching: readonly string[],
): boolean {
  const format = formatFor(exchange, named, formats);
  if (format === null) return true;
  const answer = answers[format];
  if (answer === undefined) return false;
  if (answerCondition(exchange, view, answer, caching)) return true;
  if (answer.body === null) return false;
  sendKnown(exchange, answer, answer.body);
  return true;
}

/**
 * Answers 412 or 304 if a condition requires it. If-Match takes precedence over If-Unmodified-Since, and If-None-Match
 * over If-Modified-Since (RFC 9110 section 13.2.2).
 */
export function answerCondition(
  exchange: Exchange,
  { summary }: View,
  { entityTag, modifiedMs }: Validators,
  caching: readonly string[],
): boolean {
  const { ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince } = exchange.headers;
  if (ifMatch !== undefined && ifMatch.trim() !== '*') {
    sendProblem(exchange, PRECONDITION_FAILED);
    return true;
  }
  const isUnmodifiedAsked = ifMatch === undefined && ifUnmodifiedSince !== undefined;
  if (isUnmodifiedAsked && isModifiedSince(ifUnmodifiedSince, summary.modifiedMs) === true) {
    sendProblem(exchange, MODIFIED);
    return true;
  }
  let matched = ifNoneMatch === undefined ? null : matchedEntityTag(ifNoneMatch, entityTag);
  if (ifNoneMatch === undefined && ifModifiedSince !== undefined && modifiedMs !== null)
    matched = isModifiedSince(ifModifiedSince, modifiedMs) === false ? entityTag : null;
  if (matched === null) return false;
  sendEmpty(exchange, 304, ['ETag', matched, ...caching]);
  return true;
}

/** Sends 400, 404 or 410. 406 comes before them, so the format must be known first. */
function sendInsteadOf(
  exchange: Exchange,
  pairs: ParameterPairs,
  formats: readonly Format[],
  problem: Problem,
): void {
  if (formatFor(exchange, givenFormat(pairs, formats), formats) !== null) sendProblem(exchange, problem);
}

function sendFaults(
  exchange: Exchange,
  pairs: ParameterPairs,
  formats: readonly Format[],
  faults: readonly ParameterFault[],
): void {
  sendInsteadOf(exchange, pairs, formats, parametersInvalid(faults));
}

export function parametersInvalid(faults: readonly ParameterFault[]): Problem {
  let detail = `${faults.length} query parameters are not valid; see "errors".`;
  if (faults.length === 1) detail = 'One query parameter is not valid; see "errors".';
  if (faults.length >= PARAMETER_FAULTS_MAX)
    detail = `${PARAMETER_FAULTS_MAX} query parameters or more are not valid; see "errors" for the first ${PARAMETER_FAULTS_MAX}.`;
  return { code: 'parameters-invalid', detail, errors: faults };
}

/** Null if the parameter `format` is missing, repeated or not one of `formats`. */
function givenFormat(pairs: ParameterPairs, formats: readonly Format[]): FormatName | null {
  const [given, ...more] = pairs.filter(([name]) => name === 'format');
  return (more.length === 0 && formats.find(({ name }) => name === given?.[1])?.name) || null;
}
