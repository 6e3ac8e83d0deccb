import { AdminToken } from './admin/admin-token.js';
import type { AuthPlan } from './auth/auth-plan.js';
import { checkNames, type EmbeddedAuthOptions, planAuth } from './embedded-handler.js';
import { LecternError } from './errors.js';
import { originFault } from './http/answer-fields.js';
import type { ListenAddress } from './http/listen-address.js';
import type { Logger } from './http/logger.js';
import { CONNECTIONS_MAX_MAX, OVERLOAD_MS_MAX } from './limits.js';
import type { IdentifierMode } from './model/event.js';
import type { ServingCondition } from './serving/condition.js';
import type { HandlerPlan } from './serving/handler-plan.js';
import { type WorkerCount, workersFault } from './serving/worker-count.js';
import { hostNames } from './setting.js';
import { VERSION } from './version.js';
import type { ParseOptions } from './view/view.js';

/** How a timetable is served by {@link Timetable.serve}. Without a key that verifies tokens nothing is. */
export interface ServeOptions {
  /** How bearer tokens are verified: at least one kind of key. */
  readonly auth: EmbeddedAuthOptions;
  /** TCP port, 0 to 65535; 0 takes any free one. Default 3000. */
  readonly port?: number | undefined;
  /** Address or name to listen on. Default 127.0.0.1: reachable from this machine only. */
  readonly host?: string | undefined;
  /** Where the resources are. Default `/api/v1`. */
  readonly basePath?: string | undefined;
  /**
   * Threads that serve, 1 to 128, all from the one snapshot in shared memory; `auto` for as many as there are cores. 1, the
   * default: the program's own thread serves.
   */
  readonly workers?: WorkerCount | undefined;
  /** Connections at a time, of each thread that serves: 1 to 1,048,576. More are closed as they come. Default 16,384. */
  readonly connectionsMax?: number | undefined;
  /**
   * Milliseconds that requests may wait for the processor of their thread, 0 to 10,000. While they wait longer, those that are
   * too many are answered with 503 at once. 0: none ever is. Default 100.
   */
  readonly overloadMs?: number | undefined;
  /** Origins of web pages that may read answers, such as `https://timetable.example.org`. Default none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Share of the requests that are logged, 0 to 1. Default 0. */
  readonly accessLog?: number | undefined;
  /** A second port for those who operate the service, with /live, /ready and /metrics. Default: there is none. */
  readonly admin?: AdminListenerOptions | undefined;
  readonly log?: Logger | undefined;
}

/** The admin listener of {@link Timetable.serve}. */
export interface AdminListenerOptions {
  /** TCP port, 0 to 65535; 0 takes any free one. */
  readonly port: number;
  /** Address or name to listen on. Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Host names by which it may be asked, besides IP addresses, localhost and `host`. Default none. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Of POST /refresh, at least 22 characters of a bearer token. Default: there is no /refresh. */
  readonly token?: string | undefined;
}

/** A port on which a timetable is served. It keeps the process alive. */
export interface TimetableServer extends AsyncDisposable {
  readonly address: ListenAddress;
  /** Of the admin listener; null where there is none. */
  readonly adminAddress: ListenAddress | null;
  /** Threads that serve. */
  readonly workers: number;
  /** At the moment: whether a balancer should send more requests. */
  readonly condition: ServingCondition;
  /** From now on every answer is the last of its connection; new ones are accepted until `close`. */
  drain(): void;
  /**
   * Stops accepting and lets answers in flight finish; resolves when every connection is closed, and the threads have ended.
   *
   * @param options.deadlineMs after it, what is left is cut. Default 10,000
   */
  close(options?: { readonly deadlineMs?: number }): Promise<void>;
}

const NAMES = [
  'auth',
  'port',
  'host',
  'basePath',
  'workers',
  'connectionsMax',
  'overloadMs',
  'corsOrigins',
  'accessLog',
  'admin',
  'log',
] as const satisfies (keyof ServeOptions)[];

const ADMIN_NAMES = [
  'port',
  'host',
  'allowedHosts',
  'token',
] as const satisfies (keyof AdminListenerOptions)[];

/** A key set is JSON, whatever object it comes as: only that crosses threads. */
function withPlainKeys(plan: AuthPlan): AuthPlan {
  const keys = plan.keys.map((key) =>
    key.kind === 'secret' ? key : { ...key, jwks: JSON.parse(JSON.stringify(key.jwks)) as unknown },
  );
  return { ...plan, keys };
}

/** @throws LecternError `option-invalid`, `key-missing` */
export function planServer(
  options: ServeOptions,
  reading: {
    readonly unknownParameters: ParseOptions['unknownParameters'];
    readonly identifiers: IdentifierMode;
  },
): {
  readonly plan: HandlerPlan;
  readonly host: string;
  readonly port: number;
  readonly workers: WorkerCount;
  readonly connectionsMax: number | undefined;
  readonly overloadMs: number | undefined;
  readonly admin: {
    readonly port: number;
    readonly host: string;
    readonly allowedHosts: readonly string[];
    readonly token: AdminToken | null;
  } | null;
} {
  checkNames('serve()', options, NAMES);
  const {
    auth,
    host = '127.0.0.1',
    port = 3000,
    workers = 1,
    connectionsMax,
    overloadMs,
    basePath,
  } = options;
  const fault = workersFault(workers);
  if (fault !== null) throw new LecternError('option-invalid', `workers is invalid: ${fault}`);
  const isCount =
    connectionsMax === undefined ||
    (Number.isInteger(connectionsMax) && connectionsMax >= 1 && connectionsMax <= CONNECTIONS_MAX_MAX);
  if (!isCount) {
    const expected = `it must be a whole number from 1 to ${CONNECTIONS_MAX_MAX}`;
    throw new LecternError('option-invalid', `connectionsMax is invalid: ${expected}`);
  }
  if (overloadMs !== undefined && !(overloadMs >= 0 && overloadMs <= OVERLOAD_MS_MAX)) {
    const expected = `it must be a number of milliseconds from 0 to ${OVERLOAD_MS_MAX}`;
    throw new LecternError('option-invalid', `overloadMs is invalid: ${expected}`);
  }
  const { corsOrigins = [], accessLog = 0 } = options;
  if (!Array.isArray(corsOrigins)) throw new LecternError('option-invalid', 'corsOrigins must be a list');
  for (const origin of corsOrigins as readonly unknown[]) {
    const wrong = originFault(String(origin));
    if (wrong !== null) throw new LecternError('option-invalid', `corsOrigins is invalid: ${wrong}`);
  }
  if (typeof accessLog !== 'number' || !(accessLog >= 0 && accessLog <= 1)) {
    throw new LecternError('option-invalid', 'accessLog is invalid: it must be a number from 0 to 1');
  }
  if (auth === undefined) {
    throw new LecternError('key-missing', 'serve() needs auth, with a key: hs256Secret or jwks');
  }
  const { unknownParameters, identifiers } = reading;
  const plan = {
    auth: withPlainKeys(planAuth('serve', auth, identifiers)),
    basePath,
    unknownParameters,
    version: VERSION,
    corsOrigins,
    accessLogShare: accessLog,
    development: null,
  };
  return { plan, host, port, workers, connectionsMax, overloadMs, admin: planAdmin(options.admin) };
}

/** @throws LecternError `option-invalid`, `key-invalid` */
function planAdmin(admin: AdminListenerOptions | undefined): ReturnType<typeof planServer>['admin'] {
  if (admin === undefined) return null;
  checkNames('serve({ admin })', admin, ADMIN_NAMES);
  const { port, host = '127.0.0.1', allowedHosts, token } = admin;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new LecternError('option-invalid', 'admin.port must be a whole number from 0 to 65535');
  }
  const hostsFault = allowedHosts === undefined ? null : hostNames(allowedHosts);
  if (hostsFault !== null) {
    throw new LecternError('option-invalid', `admin.allowedHosts is invalid: ${hostsFault}`);
  }
  if (token !== undefined && typeof token !== 'string') {
    throw new LecternError('option-invalid', 'admin.token must be a text');
  }
  return {
    port,
    host,
    allowedHosts: allowedHosts ?? [],
    token: token === undefined ? null : new AdminToken(token, 'admin.token'),
  };
}
