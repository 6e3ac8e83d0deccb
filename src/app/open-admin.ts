/**
 * The second port for operators: probes, metrics, readiness. It reads counts, never
 * events.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describeHealth } from '../answer/describe-health.js';
import type { ViewSource } from '../answer/present.js';
import { LecternError } from '../base/errors.js';
import { ADMIN_CONNECTIONS_MAX, REQUEST_TARGET_BYTES_MAX } from '../base/limits.js';
import { Meter } from '../base/metrics/meter.js';
import { startSampling } from '../base/metrics/sampling.js';
import { VERSION } from '../base/version.js';
import { AllowedHosts } from '../http/allowed-hosts.js';
import { OriginFields } from '../http/answer/answer-fields.js';
import { bearerChallenge, INTERNAL_ERROR, type Problem, sendProblem } from '../http/answer/problem.js';
import { sendText } from '../http/answer/respond.js';
import { Exchange, type ExchangeSettings } from '../http/exchange.js';
import { messageFault } from '../http/message-fault.js';
import { readCredential } from '../http/request/credential.js';
import { parseQueryString } from '../http/request/target.js';
import type { ListenAddress } from '../http/server/listen-address.js';
import { HttpServer } from '../http/server/server.js';
import type { LoadOutcome } from '../refresh/keeper.js';
import { Exposition, type Observed } from './exposition.js';
import type { AdminPlan, AdminToken } from './plan-admin.js';

export interface AdminTimetable extends ViewSource, Pick<Observed, 'activity'> {
  refresh(options: { readonly force: boolean }): Promise<LoadOutcome>;
}

type Listener = AdminPlan['listener'];

export interface AdminOptions extends Observed, Listener {
  readonly timetable: AdminTimetable;
  /** The reasons, except overload, why /ready answers 503; empty if ready. */
  readonly unreadyReasons: () => readonly string[];
}

export interface Admin {
  readonly address: ListenAddress;
  /** Call this last, because /ready answers until then. */
  close(): Promise<void>;
}

/** Listens on this thread, with few connections. Throws LecternError `address-unavailable`. */
export async function openAdmin(options: AdminOptions): Promise<Admin> {
  const { host, port, serving, unreadyReasons } = options;
  const here = serving?.meters.some(({ thread }) => thread === 'main') ? null : new Meter();
  const more = here === null ? [] : [{ thread: 'main', meter: here }];
  const exposition = new Exposition(options, more, () => unreadyReasons().length === 0);
  const handler = new AdminHandler(options, exposition);
  const server = new HttpServer((req, res) => handler.answer(req, res), {
    connectionsMax: ADMIN_CONNECTIONS_MAX,
    // Idle connections must not keep probes out.
    whenFull: 'close-idle',
    // Probes are answered during an overload, too.
    overloadMs: 0,
  });
  const address = await server.listen({ host, port, portSetting: '--admin-port (option admin.port)' });
  const stopSampling = here === null ? () => {} : startSampling(here);
  return {
    address,
    async close() {
      stopSampling();
      await server.close({ deadlineMs: 1000 });
    },
  };
}

const REALM = 'lectern admin';

interface Resource {
  readonly methods: readonly string[];
  handle(exchange: Exchange): void | Promise<void>;
}

const SETTINGS: ExchangeSettings = {
  ownsSocket: false,
  origins: new OriginFields([]),
  meter: null,
  logShare: 0,
  log: undefined,
};

/** Without the admin token, requests change nothing, and read only counts and names of sources. */
class AdminHandler {
  readonly #options: AdminOptions;
  readonly #exposition: Exposition;
  readonly #hosts: AllowedHosts;
  readonly #resources: ReadonlyMap<string, Resource>;

  constructor(options: AdminOptions, exposition: Exposition) {
    const { host, allowedHosts, timetable, token } = options;
    this.#options = options;
    this.#exposition = exposition;
    this.#hosts = new AllowedHosts([host, ...allowedHosts]);
    const methods = ['GET', 'HEAD'];
    const resources: Record<string, Resource> = {
      '/live': { methods, handle: (exchange) => sendJson(exchange, 200, { live: true }) },
      '/ready': { methods, handle: (exchange) => this.#sendReady(exchange) },
      '/status': {
        methods,
        handle: (exchange) => sendJson(exchange, 200, describeHealth(timetable, VERSION)),
      },
      '/metrics': { methods, handle: (exchange) => this.#sendMetrics(exchange) },
    };
    if (token !== null) {
      resources['/refresh'] = { methods: ['POST'], handle: (exchange) => this.#refresh(exchange, token) };
    }
    this.#resources = new Map(Object.entries(resources));
  }

  answer(req: IncomingMessage, res: ServerResponse): void {
    const exchange = new Exchange(req, res, SETTINGS);
    try {
      this.#dispatch(exchange)?.catch((error: unknown) => this.#fail(exchange, error));
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  #dispatch(exchange: Exchange): void | Promise<void> {
    const { req, target, path, headers } = exchange;
    // Bodies are not read, so the start of the next request is unknown.
    if (headers.hasContent) exchange.closeAfterAnswer();
    const fault = messageFault(req, path, headers);
    if (fault !== null) {
      exchange.closeAfterAnswer();
      return sendProblem(exchange, fault);
    }
    if (!this.#hosts.allow(target, headers.hosts === 0 ? null : headers.host)) {
      return sendProblem(exchange, {
        code: 'host-not-allowed',
        detail:
          'The admin listener does not accept this Host. Use an IP address, localhost, or a name given with --admin-host or --admin-allowed-host.',
      });
    }
    // Several credentials are refused, as on all resources, because they may name different users.
    const credential = readCredential(headers.authorization, headers.authorizations);
    if (credential.kind === 'malformed' && headers.authorizations > 1) {
      exchange.closeAfterAnswer();
      return sendProblem(exchange, malformedCredential(credential.detail));
    }
    if (target.length > REQUEST_TARGET_BYTES_MAX) {
      return sendProblem(exchange, {
        code: 'request-target-too-long',
        detail: `The request target has ${target.length} bytes; at most ${REQUEST_TARGET_BYTES_MAX} are read.`,
      });
    }
    const resource = this.#resources.get(path);
    if (resource === undefined) {
      const paths = [...this.#resources.keys()].join(', ');
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

  #sendReady(exchange: Exchange): void {
    const refuses = isAsked(exchange, 'overload=true');
    if (refuses === null) {
      const detail = 'The only parameter is overload=true: the answer is 503 during an overload, too.';
      sendProblem(exchange, { code: 'parameters-invalid', detail });
      return;
    }
    const overloaded = this.#options.serving?.condition.isOverloaded ?? false;
    const reasons = [...this.#options.unreadyReasons(), ...(refuses && overloaded ? ['overloaded'] : [])];
    const ready = reasons.length === 0;
    const unreadableFormat = this.#options.channel()?.replica?.unreadableFormat ?? null;
    const more = unreadableFormat === null ? {} : { unreadableFormat };
    sendJson(exchange, ready ? 200 : 503, { ready, reasons, overloaded, ...more });
  }

  async #sendMetrics(exchange: Exchange): Promise<void> {
    const text = await this.#exposition.text();
    const headers = ['Content-Type', this.#exposition.contentType, 'Cache-Control', 'no-store'];
    sendText(exchange, 200, headers, text);
  }

  async #refresh(exchange: Exchange, expected: AdminToken): Promise<void> {
    const { timetable, log } = this.#options;
    const fault = credentialFault(exchange, expected);
    if (fault !== null) return sendProblem(exchange, fault);
    if (exchange.headers.hasContent) {
      return sendProblem(exchange, {
        code: 'content-too-large',
        detail: 'POST /refresh takes no body. It loads the source that the service was started with.',
      });
    }
    const force = isAsked(exchange, 'force=true');
    if (force === null) {
      return sendProblem(exchange, {
        code: 'parameters-invalid',
        detail:
          'The only parameter is force=true, which skips the checks for empty, shrunken and faulty timetables.',
      });
    }
    log?.info({ force }, 'loading on request');
    const { result, reason } = await timetable.refresh({ force });
    const { summary } = timetable;
    const [snapshot, events] = summary === null ? [null, null] : [summary.id, summary.events];
    sendJson(exchange, 200, { outcome: result, snapshot, events, reason });
  }

  #fail(exchange: Exchange, error: unknown): void {
    if (error instanceof LecternError && error.code === 'closed') {
      sendProblem(exchange, { code: 'snapshot-unavailable', detail: 'The service is being shut down.' });
      return;
    }
    this.#options.log?.error({ err: error, path: exchange.path }, 'an admin request failed');
    if (!exchange.cutOffIfBegun()) sendProblem(exchange, INTERNAL_ERROR);
  }
}

/** Whether a request has this parameter; null if it has any other, because its resource has no others. */
function isAsked({ query }: Exchange, parameter: string): boolean | null {
  const { pairs, faults } = parseQueryString(query);
  if (faults.length > 0) return null;
  return pairs.length === 0 ? false : (pairs.length === 1 && pairs[0]?.join('=') === parameter) || null;
}

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
