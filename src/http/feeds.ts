/** Feeds: GET {base}/schedule/feed gives an address that shows one timetable without a token. */

import { STRICT } from '../answer/parameters.js';
import type { ViewSource } from '../answer/present.js';
import type { FieldFilter } from '../answer/query.js';
import type { ParameterPairs, ParseOptions } from '../answer/view.js';
import type { AccessSource } from '../auth/access.js';
import type { AuthenticatedUser } from '../auth/authenticator.js';
import type { FeedGrant } from '../auth/feed-address.js';
import { FeedAddresses } from '../auth/feed-address.js';
import { type Enrolments, feedIdentities } from '../auth/identity.js';
import { REQUEST_TARGET_BYTES_MAX } from '../base/limits.js';
import type { IdentifierMode } from '../base/model/event.js';
import { PARAMETER_FIELDS } from '../base/model/fields.js';
import { FEED_EXTENSIONS, FEED_FORMATS, FEED_PAGE, type FeedFormat } from '../base/model/format.js';
import type { Validators } from './answer/answer-cache.js';
import { lastModified } from './answer/conditional.js';
import { type Problem, sendProblem } from './answer/problem.js';
import { sendText } from './answer/respond.js';
import type { Exchange } from './exchange.js';
import { publicAddress } from './public-address.js';
import { answerCondition, parametersInvalid, type Reader, snapshotUnavailable } from './read.js';
import { mountPathOf, parseQueryString } from './request/target.js';
import type { FeedRoute, UserRoute } from './routes.js';

/** Plain data, checked by the table of settings. */
export interface FeedSettings {
  readonly days: number;
  /** The address under which clients reach the service; see {@link publicAddress}. */
  readonly publicUrl?: string | undefined;
}

export interface FeedOptions extends FeedSettings {
  /** The feed secrets, which may be added and removed at any time. */
  readonly access: AccessSource;
  readonly identifiers: IdentifierMode;
  /** Epoch milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

/** The only answer to bad addresses. */
const NO_FEED: Problem = {
  code: 'not-found',
  detail:
    'There is no feed at this address. It may have expired; ask for a new address where you got this one.',
};

const NO_FEEDS: Problem = { code: 'not-found', detail: 'This service has no feeds.' };

const HOST_UNKNOWN: Problem = {
  code: 'host-not-allowed',
  detail: 'The service does not know its public address, which calendar programs need: set --public-url.',
};

/** Space kept free in a request target, so that an address can get any of FEED_EXTENSIONS. */
const EXTENSION_CHARACTERS_MAX = 5;
const TEXT_FIELDS: readonly string[] = PARAMETER_FIELDS.filter(({ kind }) => kind === 'text').map(
  ({ name }) => name,
);
const DAY_MS = 86_400_000;

/**
 * Calendar programs fetch at their own interval. A web page that shows a feed need not fetch it at each
 * visit.
 */
const CACHING: readonly string[] = ['Cache-Control', 'private, max-age=300'];

interface Feed {
  readonly pairs: ParameterPairs;
  /** Null if the feed is not personal. */
  readonly identities: readonly FieldFilter[] | null;
  /** The enrolments that the identities of the feed come from. */
  readonly enrolments: Enrolments | null;
  /** The entity tag and the time of change of the last answer of the feed; null before the first answer. */
  tag: (Validators & { readonly contentId: string; readonly format: FeedFormat }) | null;
}

export class Feeds {
  readonly issueRoute: UserRoute;
  readonly answerRoute: FeedRoute;
  readonly #options: FeedOptions;
  readonly #views: ViewSource;
  readonly #reader: Reader;
  readonly #parsing: ParseOptions;
  readonly #folder: string;
  /**
   * Number of slashes in the path prefix of feeds. Counting slashes skips the prefix, whose letters may be
   * percent-encoded.
   */
  readonly #depth: number;
  readonly #now: () => number;
  #secrets: AccessSource['access']['feedSecrets'] = null;
  #addresses: FeedAddresses | null = null;
  readonly #feeds = new WeakMap<FeedGrant, Feed>();

  constructor(
    views: ViewSource,
    reader: Reader,
    basePath: string,
    parsing: ParseOptions,
    options: FeedOptions,
  ) {
    this.#views = views;
    this.#reader = reader;
    this.#parsing = parsing;
    this.#options = options;
    this.#folder = `${basePath}/feeds/`;
    this.#depth = this.#folder.split('/').length - 1;
    this.#now = options.now ?? Date.now;
    this.issueRoute = {
      kind: 'user',
      label: '/schedule/feed',
      path: `${basePath}/schedule/feed`,
      handle: (exchange, user) => send(exchange, this.#issue(exchange, user)),
    };
    this.answerRoute = {
      kind: 'feed',
      label: '/feeds',
      // Every path with this prefix is treated as a secret, even a path that cannot be a feed.
      path: `${this.#folder}*`,
      handle: (exchange) => send(exchange, this.#answer(exchange)),
    };
    options.access.listen(() => this.#takeSecrets());
    this.#takeSecrets();
  }

  #takeSecrets(): void {
    const { access } = this.#options;
    const { feedSecrets: secrets } = access.access;
    if (secrets === this.#secrets) return;
    const revocations = () => access.access.feedRevocations;
    this.#secrets = secrets;
    this.#addresses = secrets === null ? null : new FeedAddresses({ secrets, revocations, now: this.#now });
  }

  /** @returns the problem to send; null if an answer was sent */
  #issue(exchange: Exchange, { subject, identities, claimed }: AuthenticatedUser): Problem | null {
    if (this.#addresses === null) return NO_FEEDS;
    const { pairs: given, faults: malformed } = parseQueryString(exchange.query);
    const asksPersonal = given.some(([name, value]) => name === 'for' && value === 'personal');
    if (asksPersonal && identities === null) return this.#reader.notMapped;
    const { view } = this.#views;
    if (view === null) return snapshotUnavailable(this.#views);
    const result = view.feedQuery(given, this.#parsing);
    if ('faults' in result || malformed.length > 0) {
      return parametersInvalid('faults' in result ? [...malformed, ...result.faults] : malformed);
    }
    const before = publicAddress(exchange, this.#options.publicUrl);
    if (before === null) return HOST_UNKNOWN;
    const { isPersonal, pairs } = result;
    const issuedMs = this.#now();
    const expiresMs = issuedMs + this.#options.days * DAY_MS;
    const claims = isPersonal ? (claimed ?? []) : null;
    const address = this.#addresses.sign({ subject, claimed: claims, pairs, issuedMs, expiresMs });
    const place = `${before}${mountPathOf(exchange.req)}${this.#folder}${address}`;
    const bytes = new URL(place).pathname.length + EXTENSION_CHARACTERS_MAX;
    if (bytes > REQUEST_TARGET_BYTES_MAX) {
      const detail = `The address would have ${bytes} bytes; at most ${REQUEST_TARGET_BYTES_MAX} are read. Use fewer values.`;
      return { code: 'feed-too-long', detail };
    }
    const url = `${place}.${FEED_EXTENSIONS[0]}`;
    const page = `${place}.${FEED_PAGE.name}`;
    const webcal = url.replace(/^https?:/, 'webcal:');
    const headers = ['Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store'];
    const expiresAt = new Date(expiresMs).toISOString();
    sendText(exchange, 200, headers, JSON.stringify({ url, webcal, page, expiresAt }));
    return null;
  }

  /** @returns the problem to send; null if an answer was sent */
  #answer(exchange: Exchange): Problem | null {
    if (this.#addresses === null) return NO_FEEDS;
    // The exact spelling is used, because another spelling is another address.
    const { path } = exchange;
    const end = path.endsWith('/') ? path.length - 1 : path.length;
    let begin = 0;
    for (let depth = 0; depth < this.#depth; depth++) begin = path.indexOf('/', begin) + 1;
    const dot = Math.max(path.lastIndexOf('.', end), begin);
    const grant = this.#addresses.grantOf(path.slice(begin, dot));
    const format = FEED_FORMATS.find(({ name }) => name === path.slice(dot + 1, end));
    if (grant === null || format === undefined) return NO_FEED;
    // With a slash at the end, relative links would start below the address.
    const file = `${end === path.length ? '' : '../'}${path.slice(begin, dot)}`;
    return this.#read(exchange, this.#feedOf(grant), format, file);
  }

  /** @returns the problem to send; null if an answer was sent */
  #read(exchange: Exchange, feed: Feed, format: FeedFormat, file: string): Problem | null {
    const { view } = this.#views;
    if (view === null) return snapshotUnavailable(this.#views);
    const { pairs, identities, tag } = feed;
    if (format === FEED_PAGE) exchange.fields = exchange.fields.ofPage ?? exchange.fields;
    // Most requests repeat an earlier one and find the same snapshot, so they get 304 here.
    const isKnown = tag !== null && tag.contentId === view.contentId && tag.format === format;
    if (isKnown && answerCondition(exchange, view, tag, CACHING)) return null;
    // The query was checked when the address was created.
    const result =
      identities === null ? view.schedule(pairs, STRICT) : view.personal(pairs, STRICT, identities);
    // The setting `identifiers` was different when the address was created.
    if (!('read' in result)) return NO_FEED;
    const { read } = result;
    const entityTag = read.entityTag(format.name);
    // Enrolments decide a personal feed, too, and each version of Lectern its page.
    const isTimed = (identities === null || feed.enrolments === null) && format !== FEED_PAGE;
    const validators = { entityTag, modifiedMs: isTimed ? read.modifiedMs : null };
    feed.tag = { ...validators, contentId: view.contentId, format };
    if (!isKnown && answerCondition(exchange, view, validators, CACHING)) return null;
    const { body } = read.execute(format.name, { name: nameOf(pairs), file });
    const headers = ['Content-Type', format.contentType, 'ETag', entityTag, ...CACHING];
    headers.push('Lectern-Version', view.version);
    if (validators.modifiedMs !== null) headers.push('Last-Modified', lastModified(validators.modifiedMs));
    // Without this field a browser would name the saved file after the address.
    headers.push('Content-Disposition', `inline; filename="timetable.${format.name}"`);
    if (body.byteLength !== null) headers.push('Content-Length', String(body.byteLength));
    this.#reader.sendRead(exchange, view, headers, body);
    return null;
  }

  /** A feed is remembered with its grant until the enrolments change. */
  #feedOf(grant: FeedGrant): Feed {
    const { enrolments } = this.#options.access.access;
    const known = this.#feeds.get(grant);
    if (known?.enrolments === enrolments) return known;
    const { subject, claimed, pairs } = grant;
    const mode = this.#options.identifiers;
    const identities = claimed === null ? null : feedIdentities(claimed, subject, { enrolments, mode });
    const feed: Feed = { pairs, identities, enrolments, tag: null };
    this.#feeds.set(grant, feed);
    return feed;
  }
}

/** Name of the calendar: the texts of its filters. Identifiers mean nothing to people. */
function nameOf(pairs: ParameterPairs): string {
  const texts = pairs.filter(([name]) => TEXT_FIELDS.includes(name)).map(([, value]) => value);
  return texts.length === 0 ? 'Timetable' : `Timetable: ${texts.join(', ')}`;
}

function send(exchange: Exchange, problem: Problem | null): void {
  if (problem !== null) sendProblem(exchange, problem);
}
