/**
 * Answers a read route for an authenticated user from one view: 403, 503, 406, 400, 304 or 200, in this order.
 */
import type { AuthenticatedUser } from '../auth/authenticator.js';
import type { ParameterFault } from '../errors.js';
import type { FormatName } from '../model/format.js';
import { FORMATS } from '../model/format.js';
import type { ParameterPairs, ParseOptions, View } from '../view/view.js';
import type { ViewSource } from '../view/view-source.js';
import { CACHE_CONTROL, matchesEntityTag, nextLink, VARY } from './conditional.js';
import { type Exchange, mountPathOf } from './exchange.js';
import { contentTypeOf, isFormatName, negotiateFormat } from './negotiate.js';
import { type Problem, sendProblem } from './problem.js';
import { parseQueryString } from './query-string.js';
import { type FlatHeaders, sendBody, sendEmpty } from './respond.js';
import type { ReadRoute } from './routes.js';

/** When to ask again while the first snapshot is being built. */
const RETRY_AFTER_SECONDS = '2';

const NOT_MAPPED: Problem = {
  code: 'identity-not-mapped',
  detail:
    'The token is valid, but none of its claims selects events and its subject is not enrolled anywhere. ' +
    'Ask whoever issues the tokens for a claim that names your groups.',
};

const NOT_ACCEPTABLE: Problem = {
  code: 'not-acceptable',
  detail: `This can be had as ${FORMATS.map((format) => format.mediaType).join(' or ')}.`,
};

const NO_SNAPSHOT: Problem = {
  code: 'snapshot-unavailable',
  detail: 'The timetable has not been loaded yet. Ask again in a few seconds.',
  headers: ['Retry-After', RETRY_AFTER_SECONDS],
};

const STALE_SNAPSHOT: Problem = {
  code: 'snapshot-stale',
  detail:
    'The timetable could not be refreshed for longer than this service is set to answer from an old one.',
  headers: ['Retry-After', RETRY_AFTER_SECONDS],
};

/** Sends the answer for a missing view; also of use to others that need one. */
export function sendSnapshotUnavailable(exchange: Exchange, views: ViewSource): void {
  sendProblem(exchange, views.summary === null ? NO_SNAPSHOT : STALE_SNAPSHOT);
}

/** Synchronous from beginning to end. Takes the view once, so that the whole answer is of one snapshot. */
export function answerRead(
  exchange: Exchange,
  route: ReadRoute,
  views: ViewSource,
  user: Pick<AuthenticatedUser, 'identities'>,
  options: ParseOptions,
): void {
  if (route.personal && user.identities === null) {
    sendProblem(exchange, NOT_MAPPED);
    return;
  }
  const view: View | null = views.view;
  if (view === null) {
    sendSnapshotUnavailable(exchange, views);
    return;
  }
  const { pairs, faults: encodingFaults } = parseQueryString(exchange.query);
  const result = route.read(view, pairs, options, user.identities ?? []);
  if ('faults' in result || encodingFaults.length > 0) {
    const faults = 'faults' in result ? [...encodingFaults, ...result.faults] : encodingFaults;
    sendFaults(exchange, pairs, faults);
    return;
  }
  if ('gone' in result) {
    sendProblem(exchange, { code: 'snapshot-gone', detail: result.gone });
    return;
  }
  const { read } = result;
  const format = read.format ?? negotiateFormat(exchange.headers.accept);
  if (format === null) {
    sendProblem(exchange, NOT_ACCEPTABLE);
    return;
  }
  const entityTag = read.entityTag(format);
  const { ifNoneMatch } = exchange.headers;
  if (ifNoneMatch !== undefined && matchesEntityTag(ifNoneMatch, entityTag)) {
    sendEmpty(exchange, 304, ['ETag', entityTag, 'Cache-Control', CACHE_CONTROL, 'Vary', VARY]);
    return;
  }
  const answer = read.execute(format);
  const headers: FlatHeaders = [
    'Content-Type',
    contentTypeOf(format),
    'ETag',
    entityTag,
    'Cache-Control',
    CACHE_CONTROL,
    'Vary',
    VARY,
    'X-Total-Count',
    answer.total,
  ];
  if (answer.nextCursor !== null)
    headers.push('Link', nextLink(mountPathOf(exchange.req) + route.path, pairs, answer.nextCursor));
  sendBody(exchange, 200, headers, answer.body);
}

/** 406 comes before 400, so the format has to be known even where the parameters are at fault. */
function sendFaults(exchange: Exchange, pairs: ParameterPairs, faults: readonly ParameterFault[]): void {
  if ((givenFormat(pairs) ?? negotiateFormat(exchange.headers.accept)) === null) {
    sendProblem(exchange, NOT_ACCEPTABLE);
    return;
  }
  sendProblem(exchange, {
    code: 'parameters-invalid',
    detail:
      faults.length === 1
        ? 'One query parameter is not valid; see "errors".'
        : `${faults.length} query parameters are not valid; see "errors".`,
    errors: faults,
  });
}

/** The format that the parameter `format` names; null where it is missing, repeated or not known. */
function givenFormat(pairs: ParameterPairs): FormatName | null {
  const given = pairs.filter(([name]) => name === 'format');
  const value = given[0]?.[1];
  return given.length === 1 && value !== undefined && isFormatName(value) ? value : null;
}
