/** GET /health, in development. */
import { monotonicMs } from '../../model/clock.js';
import type { ViewSource } from '../../view/view-source.js';
import { sendText } from '../answer/respond.js';
import type { OpenRoute } from '../routes.js';

/** 200 as long as there is something to serve, even if the source has failed since; 503 otherwise. */
export function healthRoute(views: ViewSource, version: string): OpenRoute {
  return {
    kind: 'open',
    label: '/health',
    path: '/health',
    handle(exchange) {
      const headers = ['Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store'];
      const { summary, status, source, publication } = views;
      const snapshot =
        summary === null || publication === null
          ? null
          : {
              id: summary.id,
              events: summary.events,
              rejected: summary.rejected,
              builtAt: new Date(summary.builtAtMs).toISOString(),
              ageSeconds: (monotonicMs() - publication.builtMonotonicMs) / 1000,
              origin: publication.origin,
            };
      if (snapshot === null) headers.push('Retry-After', '2');
      const health = {
        status,
        version,
        snapshot,
        source: {
          state: source.state,
          lastSuccess: source.lastSuccessMs === null ? null : new Date(source.lastSuccessMs).toISOString(),
          lastError: source.lastError,
        },
      };
      sendText(exchange, snapshot === null ? 503 : 200, headers, JSON.stringify(health));
    },
  };
}
