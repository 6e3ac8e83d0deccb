import { originFault } from '../http/answer/answer-fields.js';
import { ADMIN_TOKEN_CHARACTERS_MIN } from '../limits.js';
import {
  amount,
  given,
  HOST,
  inGroup,
  isObject,
  type Kind,
  oneOf,
  PATH,
  PORT,
  type Setting,
  text,
} from './setting.js';

export const LOG_FORMATS = ['json', 'pretty'] as const;
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Each has 1 KB of header fields. */
const CORS_ORIGINS_MAX = 100;
const ADMIN_ALLOWED_HOSTS_MAX = 100;

const ORIGINS: Kind = {
  unit: 'origin',
  range: `up to ${CORS_ORIGINS_MAX} origins`,
  parse: list,
  fault(value) {
    if (!Array.isArray(value)) return 'it must be a list of origins';
    if (value.length > CORS_ORIGINS_MAX) return `it must be at most ${CORS_ORIGINS_MAX} origins`;
    for (const each of value as unknown[]) {
      const fault = typeof each === 'string' ? originFault(each) : 'it must be a list of origins';
      if (fault !== null) return fault;
    }
    return null;
  },
};

/** Letters, digits, hyphens and underscores between dots. */
const HOST_NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i;

const HOST_NAMES: Kind = {
  unit: 'name',
  range: `up to ${ADMIN_ALLOWED_HOSTS_MAX} host names without a port, such as lectern.monitoring.svc`,
  parse: list,
  fault(value) {
    const names: readonly unknown[] = Array.isArray(value) ? value : [];
    const isGood =
      names.length > 0 &&
      names.length <= ADMIN_ALLOWED_HOSTS_MAX &&
      names.every((name) => typeof name === 'string' && HOST_NAME.test(name));
    return isGood ? null : `it must be a list of ${HOST_NAMES.range}`;
  },
};

/** The values of an option that is given several times, or with commas. */
function list(argument: string, previous: unknown): readonly string[] {
  return [
    ...((previous as readonly string[] | undefined) ?? []),
    ...argument.split(',').map((each) => each.trim()),
  ];
}

/** What operators see and do, and which web pages may read. */
export const OPERATING_SETTINGS: readonly Setting[] = inGroup('Operating', [
  {
    name: 'corsOrigins',
    places: ['serve'],
    flag: '--cors-origin',
    kind: ORIGINS,
    help: 'origin of web pages that may read the timetable, such as https://app.example.org; repeatable, or with commas',
  },
  {
    name: 'admin',
    places: ['serve'],
    flag: null,
    kind: given('an object of options', isObject),
    help: 'a second port for operators, with /live, /ready and /metrics; without it there is none',
  },
  {
    name: 'adminPort',
    places: ['admin'],
    option: 'port',
    kind: PORT,
    help: 'port of the admin listener, with /live, /ready, /metrics and /refresh; off unless set',
  },
  {
    name: 'adminHost',
    places: ['admin'],
    option: 'host',
    kind: HOST,
    default: '127.0.0.1',
    help: 'address of the admin listener',
  },
  {
    name: 'adminAllowedHosts',
    places: ['admin'],
    option: 'allowedHosts',
    flag: '--admin-allowed-host',
    kind: HOST_NAMES,
    help: 'host name that requests to the admin listener may have, besides IP addresses, localhost and --admin-host; repeatable, or with commas',
  },
  {
    name: 'adminTokenFile',
    places: [],
    kind: PATH,
    help: `file with the token of POST /refresh, at least ${ADMIN_TOKEN_CHARACTERS_MIN} characters; without it there is no /refresh`,
  },
  {
    name: 'adminToken',
    places: ['admin'],
    option: 'token',
    flag: null,
    isSecret: true,
    kind: text('token'),
    help: `token of POST /refresh, at least ${ADMIN_TOKEN_CHARACTERS_MIN} characters; without it there is no /refresh`,
  },
  {
    name: 'accessLog',
    places: ['serve'],
    kind: amount('share', 0, 1),
    default: 0,
    help: 'share of the requests that are logged, at level info',
  },
  {
    name: 'logLevel',
    places: [],
    group: 'Logging',
    kind: oneOf('level', LOG_LEVELS),
    help: 'how much is logged to standard error; by default info, in development warn',
  },
  {
    name: 'logFormat',
    places: [],
    group: 'Logging',
    kind: oneOf('format', LOG_FORMATS),
    help: 'one JSON object per line, or pretty lines for people; without it json, and pretty in development on a terminal',
  },
  {
    name: 'log',
    places: ['serve', 'handler'],
    flag: null,
    group: 'Logging',
    kind: given('a logger', isObject),
    help: 'takes log records; a pino logger is one. Without it nothing is logged',
  },
]);
