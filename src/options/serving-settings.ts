/** The settings of the server: listening, threads, overload, CORS, admin listener, logs. */
import { originFault } from '../http/answer/answer-fields.js';
import { TOKEN_CHARACTERS, tokenFault } from '../http/request/credential.js';
import {
  ADMIN_TOKEN_CHARACTERS_MIN,
  CONNECTIONS_MAX_DEFAULT,
  EVENT_STREAMS_MAX_DEFAULT,
  OVERLOAD_MS_DEFAULT,
  SERVING_THREADS_MAX,
} from '../limits.js';
import {
  amount,
  count,
  either,
  given,
  HOST,
  inGroup,
  isObject,
  type Kind,
  oneOf,
  PATH,
  PORT,
  SERVE_AND_PUBLISH,
  type Setting,
  text,
} from './setting.js';

/** The most descriptors that Linux gives one process. */
const CONNECTIONS_MAX_MAX = 1_048_576;

const BASE_PATH_RANGE = 'a path that begins with "/" and has only letters, digits and "-._~" in its segments';

const BASE_PATH: Kind = {
  ...text('path', (path) => {
    // The router treats ":" and "*" as patterns, and clients remove "." and "..".
    const isGood = /^(?:\/[A-Za-z0-9._~-]+)+\/?$/.test(path) && !/\/\.{1,2}(?:\/|$)/.test(path);
    return path === '/' || isGood ? null : `it must be ${BASE_PATH_RANGE}`;
  }),
  range: BASE_PATH_RANGE,
};

const ADMIN_TOKEN: Kind = {
  ...text('token', (token) => tokenFault(token, ADMIN_TOKEN_CHARACTERS_MIN)),
  range: `at least ${ADMIN_TOKEN_CHARACTERS_MIN} characters: ${TOKEN_CHARACTERS}`,
};

export const LISTENING_SETTINGS: readonly Setting[] = inGroup('Listening', 'serve', {
  port: {
    short: '-p',
    kind: PORT,
    default: 3000,
    help: 'TCP port; 0 takes any free one',
  },
  host: {
    kind: HOST,
    default: '127.0.0.1',
    help: 'address to listen on; 0.0.0.0 is reachable from other machines',
  },
  workers: {
    kind: count('number', 1, SERVING_THREADS_MAX, ['auto']),
    default: 1,
    help: 'serving threads, which share one snapshot; auto starts one per core',
  },
  connectionsMax: {
    kind: count('number', 1, CONNECTIONS_MAX_MAX),
    default: CONNECTIONS_MAX_DEFAULT,
    help: 'open connections per serving thread; further connections are closed at once',
  },
  streamsMax: {
    places: ['serve', 'handler'],
    kind: count('number', 0, CONNECTIONS_MAX_MAX),
    default: EVENT_STREAMS_MAX_DEFAULT,
    help: 'event streams of /schedule/changes at a time, divided among the serving threads and rounded up; further streams get 503',
  },
  overloadMs: {
    kind: amount('milliseconds', 0, 10_000),
    default: OVERLOAD_MS_DEFAULT,
    help: 'how long requests may wait for the CPU, in milliseconds, before excess requests get 503; 0 disables',
  },
  drainSeconds: {
    places: [],
    kind: amount('seconds', 0, 3600),
    default: 0,
    help: 'time after SIGTERM or SIGINT before the port closes; meanwhile requests are answered with Connection: close',
  },
  basePath: {
    places: ['serve', 'handler'],
    kind: BASE_PATH,
    default: '/api/v1',
    help: 'path before every endpoint except /health',
  },
  compression: {
    places: ['serve', 'handler'],
    kind: either('how', 'on', 'off'),
    default: true,
    help: 'compress answers to repeated requests, as Accept-Encoding allows; off leaves compression to a proxy',
  },
  dev: {
    isSwitch: true,
    kind: either('how', 'on', 'off'),
    default: false,
    help: 'development: adds /login, /docs and /health, and needs no key',
  },
});

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Defaults that depend on other settings, so the table does not have them. */
export const LOG_LEVEL_DEFAULT: (typeof LOG_LEVELS)[number] = 'info';
export const LOG_LEVEL_OF_DEVELOPMENT: (typeof LOG_LEVELS)[number] = 'warn';

/** Each origin has 1 KB of header fields. */
const CORS_ORIGINS_MAX = 100;
const ADMIN_ALLOWED_HOSTS_MAX = 100;

const ORIGINS: Kind = {
  unit: 'origin',
  range: `up to ${CORS_ORIGINS_MAX} origins`,
  parse: list,
  fault(value) {
    if (!isTextList(value)) return 'it must be a list of origins';
    if (value.length > CORS_ORIGINS_MAX) return `it must be at most ${CORS_ORIGINS_MAX} origins`;
    return value.map(originFault).find((fault) => fault !== null) ?? null;
  },
};

const HOST_NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i;

const HOST_NAMES: Kind = {
  unit: 'name',
  range: `up to ${ADMIN_ALLOWED_HOSTS_MAX} host names without a port, such as lectern.monitoring.svc`,
  parse: list,
  fault(value) {
    const names = isTextList(value) ? value : [];
    const isCount = names.length > 0 && names.length <= ADMIN_ALLOWED_HOSTS_MAX;
    const isGood = isCount && names.every((name) => HOST_NAME.test(name));
    return isGood ? null : `it must be a list of ${HOST_NAMES.range}`;
  },
};

/** The values of an option that is repeated or separated by commas. */
function list(argument: string, previous: unknown): readonly string[] {
  const given = argument.split(',').map((each) => each.trim());
  return isTextList(previous) ? [...previous, ...given] : given;
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

export const OPERATING_SETTINGS: readonly Setting[] = inGroup('Operating', 'serve', {
  corsOrigins: {
    flag: '--cors-origin',
    kind: ORIGINS,
    help: 'origin of web pages that may read the timetable, such as https://app.example.org; repeatable or comma-separated',
  },
  admin: {
    places: ['serve', 'publish'],
    flag: null,
    kind: given('an object of options', isObject),
    help: 'second port for operators, with /live, /ready and /metrics; default: none',
  },
  adminPort: {
    commands: SERVE_AND_PUBLISH,
    places: ['admin'],
    option: 'port',
    kind: PORT,
    help: 'port of the admin listener, with /live, /ready, /metrics and /refresh; default: none',
  },
  adminHost: {
    commands: SERVE_AND_PUBLISH,
    places: ['admin'],
    option: 'host',
    kind: HOST,
    default: '127.0.0.1',
    help: 'address of the admin listener',
  },
  adminAllowedHosts: {
    commands: SERVE_AND_PUBLISH,
    places: ['admin'],
    option: 'allowedHosts',
    flag: '--admin-allowed-host',
    kind: HOST_NAMES,
    help: 'further host name that the admin listener accepts, besides IP addresses, localhost and --admin-host; repeatable or comma-separated',
  },
  adminTokenFile: {
    commands: SERVE_AND_PUBLISH,
    places: ['admin'],
    option: 'tokenFile',
    kind: PATH,
    help: `file with the token of POST /refresh, at least ${ADMIN_TOKEN_CHARACTERS_MIN} characters, read again when it changes; without it there is no /refresh`,
  },
  adminToken: {
    places: ['admin'],
    option: 'token',
    flag: null,
    isSecret: true,
    kind: ADMIN_TOKEN,
    help: `token of POST /refresh, at least ${ADMIN_TOKEN_CHARACTERS_MIN} characters; without it there is no /refresh`,
  },
  accessLog: {
    kind: amount('share', 0, 1),
    default: 0,
    help: 'share of requests in the access log, at level info',
  },
  logLevel: {
    commands: SERVE_AND_PUBLISH,
    places: [],
    group: 'Logging',
    kind: oneOf('level', LOG_LEVELS),
    help: `lowest level of records logged to standard error; default: ${LOG_LEVEL_DEFAULT}, in development ${LOG_LEVEL_OF_DEVELOPMENT}`,
  },
  log: {
    places: ['serve', 'handler', 'publish'],
    flag: null,
    group: 'Logging',
    kind: given('a logger', isObject),
    help: 'receives log records, as a pino logger does; without it nothing is logged',
  },
});
