/**
 * The table of routes. Every resource is read with GET: the router only tells paths apart, and the methods are checked in one
 * place.
 */
import Router from 'find-my-way';
import { ROUTE_MEMO_ENTRIES_MAX } from '../limits.js';
import type { RouteLabel } from '../metrics/cells.js';
import type { FieldFilter } from '../query/query.js';
import type { ReadResult } from '../view/answer.js';
import type { ParameterPairs, ParseOptions, View } from '../view/view.js';
import type { Exchange } from './exchange.js';

/** A list read from a view; needs a token. */
export interface ReadRoute {
  readonly kind: 'read';
  readonly label: RouteLabel;
  /** The full path, for links. */
  readonly path: string;
  /** Needs to know who asks: without identities it is 403. */
  readonly personal: boolean;
  /** Whether the answer is decided by snapshot, target and Accept alone. */
  readonly cacheable: boolean;
  read(
    view: View,
    parameters: ParameterPairs,
    options: ParseOptions,
    identities: readonly FieldFilter[],
  ): ReadResult;
}

/** A resource without authentication, in development only. */
export interface OpenRoute {
  readonly kind: 'open';
  readonly label: RouteLabel;
  readonly path: string;
  /** A promise where it has to wait; its rejection becomes 500. */
  handle(exchange: Exchange): void | Promise<void>;
}

export type Route = ReadRoute | OpenRoute;

/** What every resource allows. */
export const ALLOW = 'GET, HEAD, OPTIONS';

/** The six resources of the timetable, under a base path. */
export function scheduleRoutes(basePath: string): ReadRoute[] {
  const route = (label: RouteLabel, read: ReadRoute['read'], traits: Partial<ReadRoute> = {}): ReadRoute => ({
    kind: 'read',
    label,
    path: `${basePath}${label}`,
    personal: false,
    cacheable: true,
    ...traits,
    read,
  });
  return [
    route('/schedule', (view, parameters, options) => view.schedule(parameters, options)),
    route(
      '/schedule/personal',
      (view, parameters, options, identities) => view.personal(parameters, options, identities),
      { personal: true, cacheable: false },
    ),
    route('/schedule/all', (view, parameters, options) => view.all(parameters, options)),
    route('/schedule/types', (view, parameters, options) => view.types(parameters, options)),
    route('/schedule/conflicts', (view, parameters, options) => view.conflicts(parameters, options)),
    // What is known of the past is not part of the snapshot.
    route('/schedule/changes', (view, parameters, options) => view.changes(parameters, options), {
      cacheable: false,
    }),
  ];
}

const NO_SEARCH_PARAMETERS = {};
const ROUTE_MEMO_CHARACTERS_MAX = 256;

/**
 * A function from path to route: a trailing slash is ignored, letters' case is not, percent-encoded letters are the
 * letters (RFC 3986 section 6.2.2.2).
 *
 * @returns null where there is no such path, or its percent-encoding is broken
 */
export function createRouter(routes: readonly Route[]): (path: string) => Route | null {
  const router = Router({
    ignoreTrailingSlash: true,
    caseSensitive: true,
    querystringParser: () => NO_SEARCH_PARAMETERS,
  });
  for (const route of routes) router.on('GET', route.path, () => undefined, route);
  /** By path as it was spelled: a handful, since clients spell paths as they are documented. */
  const known = new Map<string, Route>();
  return (path) => {
    const remembered = known.get(path);
    if (remembered !== undefined) return remembered;
    // find-my-way would cut the path at these; in a path without query they are malformed (RFC 9112 section 3.2).
    if (path.charCodeAt(0) !== 0x2f || path.includes('#')) return null;
    const route = router.find('GET', path)?.store as Route | undefined;
    if (route === undefined) return null;
    if (known.size < ROUTE_MEMO_ENTRIES_MAX && path.length <= ROUTE_MEMO_CHARACTERS_MAX)
      known.set(path, route);
    return route;
  };
}
