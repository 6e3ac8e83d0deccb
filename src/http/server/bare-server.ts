/** A server of node:http with every limit set, and nothing else. */
import { createServer, type RequestListener, type Server } from 'node:http';
import {
  CONNECTIONS_CHECKING_INTERVAL_MS,
  HEADERS_BYTES_MAX,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
} from '../../limits.js';

/** How long node waits; tests have shorter times. `lookMs` lie between two looks at the first two. */
export type ServerTimes = Readonly<Record<'headersMs' | 'requestMs' | 'keepAliveMs' | 'lookMs', number>>;

const SERVER_TIMES: ServerTimes = {
  headersMs: HEADERS_TIMEOUT_MS,
  requestMs: REQUEST_TIMEOUT_MS,
  keepAliveMs: KEEP_ALIVE_TIMEOUT_MS,
  lookMs: CONNECTIONS_CHECKING_INTERVAL_MS,
};

/**
 * From Node 24 on, a request that announces no body is not made a stream that would have to be read to its end. Older
 * versions, and the types, do not know the option.
 */
const EMPTY_REQUESTS: object = { optimizeEmptyRequests: true };

export function createBareServer(listener: RequestListener, times: ServerTimes = SERVER_TIMES): Server {
  return createServer(
    {
      headersTimeout: times.headersMs,
      requestTimeout: times.requestMs,
      keepAliveTimeout: times.keepAliveMs,
      connectionsCheckingInterval: times.lookMs,
      maxHeaderSize: HEADERS_BYTES_MAX,
      // The handler answers a missing Host itself, with a problem document.
      requireHostHeader: false,
      // Whatever NODE_OPTIONS says.
      insecureHTTPParser: false,
      noDelay: true,
      ...EMPTY_REQUESTS,
    },
    listener,
  );
}
