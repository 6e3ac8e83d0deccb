/** A server of node:http with every limit set. */
import { createServer, type RequestListener, type Server } from 'node:http';
import {
  CONNECTIONS_CHECKING_INTERVAL_MS,
  HEADERS_BYTES_MAX,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
} from '../../limits.js';

/** Tests have shorter times. `lookMs`: time between two checks of `headersMs` and `requestMs`. */
export type ServerTimes = Readonly<Record<'headersMs' | 'requestMs' | 'keepAliveMs' | 'lookMs', number>>;

const SERVER_TIMES: ServerTimes = {
  headersMs: HEADERS_TIMEOUT_MS,
  requestMs: REQUEST_TIMEOUT_MS,
  keepAliveMs: KEEP_ALIVE_TIMEOUT_MS,
  lookMs: CONNECTIONS_CHECKING_INTERVAL_MS,
};

/** From Node 24 on, requests without a body need not be read to their end. The types do not know the option. */
const EMPTY_REQUESTS: object = { optimizeEmptyRequests: true };

export function createBareServer(listener: RequestListener, times: ServerTimes = SERVER_TIMES): Server {
  return createServer(
    {
      headersTimeout: times.headersMs,
      requestTimeout: times.requestMs,
      keepAliveTimeout: times.keepAliveMs,
      connectionsCheckingInterval: times.lookMs,
      maxHeaderSize: HEADERS_BYTES_MAX,
      // The handler answers a missing Host with a problem document.
      requireHostHeader: false,
      // Overrides NODE_OPTIONS.
      insecureHTTPParser: false,
      noDelay: true,
      ...EMPTY_REQUESTS,
    },
    listener,
  );
}
