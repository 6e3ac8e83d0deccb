import Router from 'find-my-way';
import { ENDPOINT_PARAMETERS, type EndpointName } from '../answer/endpoint-parameters.js';
import type { AuthenticatedUser } from '../auth/authenticator.js';
import { ROUTE_MEMO_ENTRIES_MAX } from '../base/limits.js';
import type { RouteLabel } from '../base/metrics/cells.js';
import type { Exchange } from './exchange.js';

/** A list read from a view; needs a token. */
export interface ReadRoute {
  readonly kind: 'read';
  readonly label: RouteLabel;
  readonly path: string;
  readonly endpoint: EndpointName;
  /** Whether the answer depends only on `View.contentId`, target and Accept. */
  readonly cacheable: boolean;
}

/** A development resource, without authentication. */
export interface OpenRoute {
  readonly kind: 'open';
  readonly label: RouteLabel;
  readonly path: string;
  /** Returns a promise if the answer has to wait; a rejection becomes 500. */
  handle(exchange: Exchange): void | Promise<void>;
}

/** Needs a token, and is not a list. */
export interface UserRoute {
  readonly kind: 'user';
  readonly label: RouteLabel;
  readonly path: string;
  handle(exchange: Exchange, user: AuthenticatedUser): void;
}

/** A file for people, the same for all, without authentication. */
export interface PageRoute {
  readonly kind: 'page';
  readonly label: RouteLabel;
  readonly path: string;
  handle(exchange: Exchange): void;
}

/** The path itself is the credential. */
export interface FeedRoute {
  readonly kind: 'feed';
  readonly label: RouteLabel;
  readonly path: string;
  handle(exchange: Exchange): void;
}

export type Route = ReadRoute | OpenRoute | UserRoute | PageRoute | FeedRoute;

export const ALLOW = 'GET, HEAD, OPTIONS';

export function scheduleRoutes(basePath: string): ReadRoute[] {
  const endpoints = Object.keys(ENDPOINT_PARAMETERS) as EndpointName[];
  return endpoints.map((endpoint) => {
    const label = endpoint === 'schedule' ? '/schedule' : (`/schedule/${endpoint}` as const);
    // /changes also depends on earlier snapshots.
    const cacheable = endpoint !== 'personal' && endpoint !== 'changes';
    const path = `${basePath}${label}${endpoint === 'events' ? '/:id' : ''}`;
    return { kind: 'read', label, path, endpoint, cacheable };
  });
}

/** The decoded last segment of a path that createRouter matched to a route with `:id`. */
export function lastSegmentOf(path: string): string {
  const end = path.endsWith('/') ? path.length - 1 : path.length;
  return decodeURIComponent(path.slice(path.lastIndexOf('/', end - 1) + 1, end));
}

const ROUTE_MEMO_CHARACTERS_MAX = 256;
/** An identifier has at most 64 characters, each up to 12 in percent-encoding. */
const SEGMENT_CHARACTERS_MAX = 1024;

/**
 * Maps a path to its route, or to null. Paths are case-sensitive. A trailing slash is ignored, and a
 * percent-encoded letter equals the letter (RFC 3986 section 6.2.2.2).
 */
export function createRouter(routes: readonly Route[]): (path: string) => Route | null {
  const router = Router({
    ignoreTrailingSlash: true,
    caseSensitive: true,
    querystringParser: () => ({}),
    maxParamLength: SEGMENT_CHARACTERS_MAX,
  });
  // Paths of these routes are not kept in `known`: each event has its own path, and paths of feeds are
  // secrets.
  const withParameter = new Set(routes.filter(({ path }) => /[:*]/.test(path)));
  for (const route of routes) router.on('GET', route.path, () => undefined, route);
  /**
   * The router's cache: routes by the path as the client spelled it. It keeps few paths, because clients use
   * the documented spelling.
   */
  const known = new Map<string, Route>();
  const feeds = routes.find(({ kind }) => kind === 'feed');
  const feedFolder = feeds?.path.replace(/\*$/, '');
  return (path) => {
    const remembered = known.get(path);
    if (remembered !== undefined) return remembered;
    // find-my-way would read every character of these long paths. It only gets feed paths whose prefix is
    // percent-encoded.
    if (feeds !== undefined && path.startsWith(feedFolder as string) && !path.includes('#')) return feeds;
    // find-my-way would cut the path at "#", which no request target may contain (RFC 9112 section 3.2).
    if (path.charCodeAt(0) !== 0x2f || path.includes('#')) return null;
    const route = router.find('GET', path)?.store as Route | undefined;
    if (route === undefined) return null;
    if (withParameter.has(route)) return route;
    if (known.size < ROUTE_MEMO_ENTRIES_MAX && path.length <= ROUTE_MEMO_CHARACTERS_MAX)
      known.set(path, route);
    return route;
  };
}
