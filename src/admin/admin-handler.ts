import { readCredential } from '../auth/credential.js';
import { LecternError } from '../errors.js';
import { OriginFields } from '../http/answer/answer-fields.js';
import { bearerChallenge, INTERNAL_ERROR, type Problem, sendProblem } from '../http/answer/problem.js';
import { sendText } from '../http/answer/respond.js';
import { Exchange, type ExchangeSettings } from '../http/exchange.js';
import type { RequestHandler } from '../http/handler.js';
import type { Logger } from '../http/logger.js';
import { messageFault } from '../http/message-fault.js';
import { parseQueryString } from '../http/request/query-string.js';
import { REQUEST_TARGET_BYTES_MAX } from '../limits.js';
import type { LoadResult } from '../refresh/keeper.js';
import type { AdminToken } from './admin-token.js';
import type { AllowedHosts } from './allowed-hosts.js';
import type { Readiness } from './readiness.js';

const REALM = 'lectern admin';

/** How POST /refresh ended. */
export interface RefreshOutcome {
  readonly outcome: LoadResult;
  /** Of what is served now; null where there is nothing. */
  readonly snapshot: string | null;
  readonly events: number | null;
  /** Why it failed or was refused; null where it went well. */
  readonly reason: string | null;
}

export interface AdminHandlerOptions {
  readonly hosts: AllowedHosts;
  readonly readiness: Readiness;
  /** All metrics as text. */
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  /** Loads now. */
  readonly refresh: (force: boolean) => Promise<RefreshOutcome>;
  /** What lets somebody load; null where nobody may, and there is no such resource. */
  readonly token: AdminToken | null;
  readonly log?: Logger | undefined;
}

interface Resource {
  readonly methods: readonly string[];
  handle(exchange: Exchange): void | Promise<void>;
}

const HOST_NOT_ALLOWED: Problem = {
  code: 'host-not-allowed',
  detail:
    'The Host is a name that the admin listener does not know. Ask it by an IP address, as localhost, or by a name that --admin-allowed-host allows.',
};

/** What is asked a few times a minute need not be quick. */
const SETTINGS: ExchangeSettings = {
  ownsSocket: false,
  origins: new OriginFields([]),
  meter: null,
  logShare: 0,
  log: undefined,
};

/** The handler of the admin listener. Without a token it changes nothing and tells nothing of the timetable but counts. */
export function createAdminHandler(options: AdminHandlerOptions): RequestHandler {
  const { hosts, readiness, metrics, token, log } = options;
  const read = (handle: Resource['handle']): Resource => ({ methods: ['GET', 'HEAD'], handle });
  const resources = new Map<string, Resource>([
    // Whoever answers is alive: what cannot go on ends the process.
    ['/live', read((exchange) => sendJson(exchange, 200, { live: true }))],
    [
      '/ready',
      read((exchange) => {
        const { reasons } = readiness;
        sendJson(exchange, reasons.length === 0 ? 200 : 503, { ready: reasons.length === 0, reasons });
      }),
    ],
    [
      '/metrics',
      read(async (exchange) => {
        const text = await metrics.text();
        sendText(exchange, 200, ['Content-Type', metrics.contentType, 'Cache-Control', 'no-store'], text);
      }),
    ],
  ]);
  if (token !== null) {
    resources.set('/refresh', {
      methods: ['POST'],
      handle: (exchange) => refresh(exchange, token),
    });
  }
  const paths = [...resources.keys()].join(', ');

  async function refresh(exchange: Exchange, expected: AdminToken): Promise<void> {
    const fault = credentialFault(exchange, expected);
    if (fault !== null) {
      // Which of several was meant may have been understood otherwise on its way here.
      if (exchange.headers.authorizations > 1) exchange.closeAfterAnswer();
      sendProblem(exchange, fault);
      return;
    }
    if (exchange.headers.hasContent) {
      sendProblem(exchange, {
        code: 'content-too-large',
        detail:
          'POST /refresh takes no content: leave the body out. What is loaded is the source that the service was started with.',
      });
      return;
    }
    const { pairs, faults } = parseQueryString(exchange.query);
    const given = pairs.filter(([name]) => name === 'force').map(([, value]) => value);
    const isKnown = faults.length === 0 && pairs.length === given.length && given.length <= 1;
    if (!isKnown || (given[0] ?? 'true') !== 'true') {
      sendProblem(exchange, {
        code: 'parameters-invalid',
        detail: 'The only parameter is force=true, which publishes whatever comes.',
      });
      return;
    }
    const force = given.length === 1;
    log?.info({ force }, 'loading on request');
    sendJson(exchange, 200, await options.refresh(force));
  }

  function fail(exchange: Exchange, error: unknown): void {
    if (error instanceof LecternError && error.code === 'closed') {
      sendProblem(exchange, { code: 'snapshot-unavailable', detail: 'The service is being shut down.' });
      return;
    }
    log?.error({ err: error, path: exchange.path }, 'an admin request failed');
    if (!exchange.cutOffIfBegun()) sendProblem(exchange, INTERNAL_ERROR);
  }

  function dispatch(exchange: Exchange): void | Promise<void> {
    const { req, target, path, headers } = exchange;
    // No body is read, so what follows on the connection cannot be told from it.
    if (headers.hasContent) exchange.closeAfterAnswer();
    const fault = messageFault(req, path, headers);
    if (fault !== null) {
      exchange.closeAfterAnswer();
      return sendProblem(exchange, fault);
    }
    if (!hosts.allow(target, headers.hosts === 0 ? null : headers.host)) {
      return sendProblem(exchange, HOST_NOT_ALLOWED);
    }
    // Whoever put them there does not agree on who asks, also where nobody has to say so.
    const { authorization, authorizations } = headers;
    const credential = authorizations > 1 ? readCredential(authorization, authorizations) : null;
    if (credential?.kind === 'malformed') {
      exchange.closeAfterAnswer();
      return sendProblem(exchange, malformedCredential(credential.detail));
    }
    if (target.length > REQUEST_TARGET_BYTES_MAX) {
      return sendProblem(exchange, {
        code: 'request-target-too-long',
        detail: `The request target has ${target.length} bytes; at most ${REQUEST_TARGET_BYTES_MAX} are read.`,
      });
    }
    const resource = resources.get(path);
    if (resource === undefined) {
      const detail = `There is nothing at this path of the admin listener. It has ${paths}.`;
      return sendProblem(exchange, { code: 'not-found', detail });
    }
    if (!resource.methods.includes(req.method ?? '')) {
      const allow = resource.methods.join(', ');
      return sendProblem(exchange, {
        code: 'method-not-allowed',
        detail: `The methods of ${path} are: ${allow}.`,
        headers: ['Allow', allow],
      });
    }
    return resource.handle(exchange);
  }

  return (req, res) => {
    const exchange = new Exchange(req, res, SETTINGS);
    try {
      dispatch(exchange)?.catch((error: unknown) => fail(exchange, error));
    } catch (error) {
      fail(exchange, error);
    }
  };
}

/** Why somebody may not load; null where they may. */
function credentialFault({ headers }: Exchange, expected: AdminToken): Problem | null {
  const credential = readCredential(headers.authorization, headers.authorizations);
  switch (credential.kind) {
    case 'missing':
      return {
        code: 'credentials-missing',
        detail: 'Send the admin token in the header "Authorization: Bearer <token>".',
        headers: ['WWW-Authenticate', bearerChallenge(REALM)],
      };
    case 'malformed':
      return malformedCredential(credential.detail);
    case 'token':
      if (expected.equals(credential.token)) return null;
      return {
        code: 'token-invalid',
        detail: 'This is not the token of the admin listener.',
        headers: ['WWW-Authenticate', bearerChallenge(REALM, 'invalid_token')],
      };
  }
}

function malformedCredential(detail: string): Problem {
  const challenge = bearerChallenge(REALM, 'invalid_request');
  return { code: 'invalid-request', detail, headers: ['WWW-Authenticate', challenge] };
}

function sendJson(exchange: Exchange, status: number, value: object): void {
  const headers = ['Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store'];
  sendText(exchange, status, headers, JSON.stringify(value));
}
