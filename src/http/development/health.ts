/** GET /health, in development. */
import build, { type Schema } from 'fast-json-stringify';
import { monotonicMs } from '../../model/clock.js';
import { HEALTH_SCHEMA } from '../../openapi/component-schemas.js';
import type { ViewSource } from '../../view/view-source.js';
import { sendText } from '../answer/respond.js';
import type { OpenRoute } from '../routes.js';

/** The body of /health. Times are RFC 3339 in UTC. */
export interface Health {
  readonly status: ViewSource['status'];
  readonly version: string;
  readonly snapshot: {
    readonly id: string;
    readonly events: number;
    readonly rejected: number;
    readonly builtAt: string;
    readonly ageSeconds: number;
    readonly origin: string;
  } | null;
  readonly source: {
    readonly state: ViewSource['source']['state'];
    readonly lastSuccess: string | null;
    readonly lastError: string | null;
  };
}

const serialise: (health: Health) => string = build(HEALTH_SCHEMA as unknown as Schema);

/** The present state of a timetable. */
export function describeHealth(views: ViewSource, version: string): Health {
  const { summary, status, source, publication } = views;
  return {
    status,
    version,
    snapshot:
      summary === null || publication === null
        ? null
        : {
            id: summary.id,
            events: summary.events,
            rejected: summary.rejected,
            builtAt: new Date(summary.builtAtMs).toISOString(),
            ageSeconds: (monotonicMs() - publication.builtMonotonicMs) / 1000,
            origin: publication.origin,
          },
    source: {
      state: source.state,
      lastSuccess: source.lastSuccessMs === null ? null : new Date(source.lastSuccessMs).toISOString(),
      lastError: source.lastError,
    },
  };
}

/** 200 as long as there is something to serve, even where the source has failed since; 503 otherwise. */
export function healthRoute(
  views: ViewSource,
  options: { readonly path: string; readonly version: string },
): OpenRoute {
  return {
    kind: 'open',
    label: '/health',
    path: options.path,
    handle(exchange) {
      const health = describeHealth(views, options.version);
      const headers = ['Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store'];
      if (health.snapshot === null) headers.push('Retry-After', '2');
      sendText(exchange, health.snapshot === null ? 503 : 200, headers, serialise(health));
    },
  };
}
