/** GET /health, in development. */

import { describeHealth } from '../../answer/describe-health.js';
import type { ViewSource } from '../../answer/present.js';
import { sendText } from '../answer/respond.js';
import type { OpenRoute } from '../routes.js';

/** 200 while there is a snapshot to serve, even if the source fails; otherwise 503. */
export function healthRoute(views: ViewSource, version: string): OpenRoute {
  return {
    kind: 'open',
    label: '/health',
    path: '/health',
    handle(exchange) {
      const headers = ['Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store'];
      const isServing = views.summary !== null && views.publication !== null;
      if (!isServing) headers.push('Retry-After', '2');
      sendText(exchange, isServing ? 200 : 503, headers, JSON.stringify(describeHealth(views, version)));
    },
  };
}
