/**
 * Folder options/. The one table of settings, with the range of their values. This folder serves
 * nothing, and opens no file except a field map.
 *
 * The settings of bearer tokens: keys, required claims, and the events of their users; of the data: sources, bounds of
 * a load, refreshing, gate and snapshot file; of the server: listening, threads, overload, CORS, admin listener, logs;
 * of feeds: secrets, lifetime, revocations, public address.
 */
import { claimsFault } from '../auth/identity.js';
import { SECRET_BYTES_MIN, type SecretUse, secretsIn } from '../auth/key-set.js';
import { keySourceFault } from '../auth/remote-keys.js';
import { TOKEN_TYPES } from '../auth/verifier.js';
import { originFault } from '../http/answer/answer-fields.js';
import { publicUrlFault } from '../http/public-address.js';
import { TOKEN_CHARACTERS, tokenFault } from '../http/request/credential.js';
import {
  ADMIN_TOKEN_CHARACTERS_MIN,
  CACHE_MB_DEFAULT,
  CONNECTIONS_MAX_DEFAULT,
  EVENT_STREAMS_MAX_DEFAULT,
  FEED_DAYS_MAX,
  LOAD_MEMORY_MB_MIN,
  OVERLOAD_MS_DEFAULT,
  SERVING_THREADS_MAX,
} from '../limits.js';
import { IDENTITY_FIELDS } from '../model/fields.js';
import {
  ADDRESS_SETTINGS,
  DATABASE_REFRESHING_SETTINGS,
  DATABASE_SETTINGS,
  READING_SETTINGS,
} from './reading-settings.js';
import {
  amount,
  anyOf,
  type CommandName,
  count,
  either,
  given,
  HOST,
  inGroup,
  isFunction,
  isObject,
  type Kind,
  LOG_LEVELS,
  oneOf,
  PATH,
  type Place,
  PORT,
  SERVE_AND_PUBLISH,
  SERVE_ONLY,
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

const LISTENING_SETTINGS: readonly Setting[] = inGroup('Listening', 'serve', {
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
    help: 'development: adds /view, /login, /docs and /health, and needs no key',
  },
  pages: {
    isSwitch: true,
    kind: either('how', 'on', 'off'),
    default: false,
    help: 'serve the pages for people at /view; always on in development',
  },
});

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

const OPERATING_SETTINGS: readonly Setting[] = inGroup('Operating', 'serve', {
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

/** The value of a secret: text or, in a program, bytes. */
function secretKind(use: SecretUse): Kind {
  return {
    unit: 'secret',
    range: `at least ${SECRET_BYTES_MIN} bytes, as text or as base64:… or base64url:…; one secret a line, the present one first`,
    fault(value) {
      if (!(value instanceof Uint8Array) && (typeof value !== 'string' || value === ''))
        return 'it must not be empty';
      const secrets = secretsIn(value, use);
      return typeof secrets === 'string' ? secrets : null;
    },
  };
}

const KEY_SET: Kind = {
  unit: 'file-or-address',
  range: 'a path or an http(s) address; in a program also a parsed key set',
  fault(value) {
    if (isObject(value)) return null;
    if (typeof value !== 'string') return 'it must be a JSON Web Key Set, or its address';
    return value === '' ? 'it must not be empty' : keySourceFault(value);
  },
};

/** Adds `studyGroup=groups,groupId=gid` to the earlier claims. */
const CLAIMS: Kind = {
  unit: 'field=claim',
  range: `field=claim, with one of the fields ${anyOf(IDENTITY_FIELDS.map(({ name }) => name))}`,
  parse(argument, previous) {
    const claims: Record<string, readonly string[]> = {
      ...(previous as Record<string, readonly string[]> | undefined),
    };
    for (const part of argument.split(',')) {
      const equals = part.indexOf('=');
      const field = part.slice(0, Math.max(0, equals)).trim();
      const claim = part.slice(equals + 1).trim();
      if (claim === '' || !IDENTITY_FIELDS.some(({ name }) => name === field)) return argument;
      claims[field] = [...(claims[field] ?? []), claim];
    }
    return claims;
  },
  fault: (value) => (isObject(value) ? claimsFault(value) : `it must be ${CLAIMS.range}`),
};

const TOKEN_SETTINGS: readonly Setting[] = inGroup('Tokens', 'auth', {
  hs256Secret: {
    isEnvironmentOnly: true,
    isSecret: true,
    kind: secretKind('HS256'),
    help: 'secret of HS256 tokens; further lines are earlier secrets, whose tokens stay valid',
  },
  hs256SecretFile: {
    kind: PATH,
    help: `file with the secret of HS256 tokens in its first line, at least ${SECRET_BYTES_MIN} bytes, as text or as base64:… or base64url:…; further lines are earlier secrets, whose tokens stay valid; read again when it changes`,
  },
  jwks: {
    isSecret: true,
    kind: KEY_SET,
    help: 'JSON Web Key Set with the public keys of tokens; a file is read again when it changes, an address is fetched regularly',
  },
  jwksRefreshSeconds: {
    kind: amount('seconds', 1, 86_400),
    default: 300,
    help: 'time between two regular fetches of the key set; a withdrawn key is accepted at most this long. While fetching fails, the last keys are used for a day',
  },
  tokenType: {
    kind: oneOf('type', TOKEN_TYPES),
    default: 'any',
    help: 'accept any JWT, or only access tokens of RFC 9068, which need --issuer and --audience',
  },
  issuer: {
    kind: text('iss'),
    help: 'accept only tokens of this issuer',
  },
  audience: {
    kind: text('aud'),
    help: 'accept only tokens for this audience',
  },
  claims: {
    flag: '--claim',
    group: 'Users',
    kind: CLAIMS,
    help: "token claim that selects a user's events, such as studyGroup=groups; repeatable or comma-separated",
  },
  enrolmentsFile: {
    flag: '--enrolments',
    group: 'Users',
    kind: PATH,
    help: 'JSON file of enrolments, read again when it changes: {"sub": {"studyGroup": ["…"]}}',
  },
  enrolments: {
    flag: null,
    group: 'Users',
    kind: given('an object of users', isObject),
    help: 'enrolments: for each user, values by field',
  },
  identify: {
    places: ['handler'],
    flag: null,
    group: 'Users',
    kind: given('a function', isFunction),
    help: 'function that identifies the user of a request, if the embedding program checks tokens itself',
  },
  auth: {
    places: ['serve', 'handler'],
    flag: null,
    kind: given('an object of options', isObject),
    help: 'how bearer tokens are verified: at least one kind of key',
  },
});

const SECRET = secretKind('feed');

const FEED_SETTINGS: readonly Setting[] = inGroup('Feeds', 'feed', {
  feed: {
    places: ['serve', 'handler'],
    flag: null,
    kind: given('an object of options', isObject),
    help: 'feed addresses for calendar programs that send no token; without it there are no feeds',
  },
  feedSecret: {
    option: 'secret',
    isEnvironmentOnly: true,
    isSecret: true,
    kind: SECRET,
    help: 'secret that signs feed addresses; further lines are earlier secrets, whose addresses stay valid; without it there are no feeds',
  },
  feedSecretFile: {
    option: 'secretFile',
    kind: PATH,
    help: 'file with the secret that signs feed addresses in its first line; further lines are earlier secrets, whose addresses stay valid; read again when it changes',
  },
  feedDays: {
    option: 'days',
    kind: count('number', 1, FEED_DAYS_MAX),
    default: 400,
    help: 'days for which a new feed address is valid',
  },
  feedRevocationsFile: {
    option: 'revocationsFile',
    flag: '--feed-revocations',
    kind: PATH,
    help: 'JSON file of revoked feeds, such as {"alice": "2026-11-23T08:00:00Z"}: addresses that this user (the sub of the token) got before this time are refused; read again when it changes',
  },
  feedRevocations: {
    option: 'revocations',
    flag: null,
    kind: given('an object of times', isObject),
    help: 'revoked feeds: for each user, the time of revocation',
  },
  publicUrl: {
    places: ['serve', 'handler'],
    kind: { ...text('address', publicUrlFault), range: 'an http(s) address' },
    help: 'address at which clients reach the service, such as https://timetable.example.org; feed addresses begin with it; default: the Host field of the request, but only if it names the local address and port of the connection',
  },
});

const MIB_PER_TIB = 1_048_576;

const ROOMS: Kind = {
  ...PATH,
  range: 'a path; in a program also a list of rooms',
  fault: (value) => (Array.isArray(value) ? null : PATH.fault(value)),
};

const ADDRESS: Kind = {
  ...text('address', (value) =>
    URL.canParse(value) && /^https?:/i.test(value) ? null : `it must be ${ADDRESS.range}`,
  ),
  range: 'an address, such as https://login.example.org/token',
};

const DATA_SETTINGS: readonly Setting[] = inGroup(
  'Data',
  'openTimetable',
  {
    source: {
      flag: null,
      kind: given('a path, an address, a source or records', () => true),
      help: 'where events come from: a path, an http(s) address or a custom source; on the command line, the arguments',
    },
    rooms: {
      commands: SERVE_ONLY,
      kind: ROOMS,
      help: 'JSON or CSV file of rooms (id, name, building, capacity) for free-time queries; adds rooms that no event uses',
    },
    unknownParameters: {
      commands: SERVE_ONLY,
      kind: oneOf('how', ['reject', 'ignore']),
      default: 'reject',
      help: 'answer an unknown query parameter with 400, or ignore it',
    },
    cacheMb: {
      commands: SERVE_ONLY,
      kind: amount('megabytes', 0, MIB_PER_TIB),
      default: CACHE_MB_DEFAULT,
      help: 'MiB of memory for caches, besides the timetable itself; 0 for none',
    },
    memoryMbMax: {
      kind: amount('megabytes', LOAD_MEMORY_MB_MIN, MIB_PER_TIB),
      help: 'MiB of memory that one load may take; default: three quarters of the memory that the machine and the container have left',
    },
    upstreamTokenUrl: {
      places: [],
      // A source may hold a password.
      isSecret: true,
      kind: ADDRESS,
      help: 'token endpoint (https://…) of an OAuth issuer, from which Lectern fetches tokens for its http(s) sources with client credentials',
    },
    upstreamClientId: {
      places: [],
      kind: text('id'),
      help: 'id of the client at the OAuth issuer',
    },
    upstreamClientSecret: {
      places: [],
      isEnvironmentOnly: true,
      isSecret: true,
      kind: text('secret'),
      help: 'secret of the client',
    },
    upstreamClientSecretFile: {
      places: [],
      kind: PATH,
      help: 'file with the secret of the client, read again when it changes',
    },
    upstreamScope: {
      places: [],
      kind: text('scope'),
      help: 'scope of the tokens; default: the default scope of the issuer',
    },
    upstreamTokenOrigin: {
      places: [],
      isSecret: true,
      kind: { ...ADDRESS, unit: 'origin', range: 'an http(s) address' },
      help: 'origin that gets the tokens, such as https://host; needed if the http(s) sources have several origins',
    },
    lecturerIdsFile: {
      places: [],
      flag: '--lecturer-ids',
      kind: PATH,
      help: 'JSON file of lecturer identifiers, {"name": "identifier"}, for sources that give only names of lecturers',
    },
    onProgress: {
      flag: null,
      kind: given('a function', isFunction),
      help: 'function that is called several times during the first load',
    },
  },
  SERVE_AND_PUBLISH,
);

const SECONDS_PER_YEAR = 31_536_000;

const REFRESHING_SETTINGS: readonly Setting[] = inGroup(
  'Refreshing',
  'openTimetable',
  {
    refreshSeconds: {
      kind: amount('seconds', 0, SECONDS_PER_YEAR),
      default: 0,
      help: 'time between two loads, varied by up to 10 %; 0 for none. SIGHUP loads at once',
    },
    watch: {
      kind: either('how', 'on', 'off'),
      default: true,
      help: 'load a file again when it changes',
    },
    gate: {
      flag: null,
      kind: given('an object or false', (value) => value === false || isObject(value)),
      help: 'checks that a new timetable must pass before it replaces the served one; false disables them',
    },
    shrinkPercentMax: {
      places: ['gate'],
      kind: amount('percent', 0, 100),
      default: 30,
      help: 'refuse a timetable that is smaller than the served one by more than this percentage; 100 also accepts a timetable without events; to load without the checks of size and of rejections, send SIGUSR2',
    },
    rejectPercentMax: {
      places: ['gate'],
      kind: amount('percent', 0, 100),
      default: 10,
      help: 'refuse a timetable if more than this percentage of its records was rejected; the first timetable is published even then, with a warning',
    },
    staleSecondsMax: {
      commands: SERVE_ONLY,
      kind: amount('seconds', 0, SECONDS_PER_YEAR),
      help: 'answer 503 once the last good load is older than this; default: never',
    },
    snapshotFile: {
      kind: PATH,
      help: 'write each timetable to this file, and serve it at once at the next start with the same source',
    },
    publisherPublicKey: {
      commands: SERVE_ONLY,
      kind: PATH,
      help: 'file with one or more public keys of the publishers of a store: PEM, JWK or JWKS; read again when it changes',
    },
    unsigned: {
      places: ['openTimetable', 'publish'],
      isSwitch: true,
      kind: either('how', 'on', 'off'),
      default: false,
      help: 'announce and serve without signatures, in a store that is a folder of the own account',
    },
    pin: {
      commands: SERVE_ONLY,
      kind: PATH,
      help: 'serve exactly this snapshot file and ask no source',
    },
  },
  SERVE_AND_PUBLISH,
);

/** The settings of a publisher alone. */
const PUBLISHING_SETTINGS: readonly Setting[] = inGroup(
  'Publishing',
  'publish',
  {
    publishTo: {
      option: 'to',
      flag: '--to',
      variable: 'LECTERN_PUBLISH_TO',
      isRequired: true,
      kind: { ...text('store'), range: 'a store: nats://host:4222/name, tls://host:4222/name, or a folder' },
      help: 'store of the announcements: nats://host:4222/name, tls://host:4222/name, or a folder that all machines share',
    },
    publisherKey: {
      kind: PATH,
      help: 'file with the private key that signs announcements: Ed25519 or P-256, as PEM or JWK; read again when it changes',
    },
    once: {
      places: [],
      isSwitch: true,
      kind: either('how', 'on', 'off'),
      default: false,
      help: 'end after one announcement',
    },
  },
  ['publish'],
);

/** Sorted in the order of `--help`. */
export const SETTINGS: readonly Setting[] = [
  ...LISTENING_SETTINGS,
  ...DATA_SETTINGS,
  ...ADDRESS_SETTINGS,
  ...READING_SETTINGS,
  ...DATABASE_SETTINGS,
  ...DATABASE_REFRESHING_SETTINGS,
  ...REFRESHING_SETTINGS,
  ...PUBLISHING_SETTINGS,
  ...TOKEN_SETTINGS,
  ...FEED_SETTINGS,
  ...OPERATING_SETTINGS,
];

/** The settings of one place, by their option names. */
export function settingsOf(place: Place): ReadonlyMap<string, Setting> {
  const settings = SETTINGS.filter(({ places }) => places.includes(place));
  return new Map(settings.map((setting) => [setting.option ?? setting.name, setting]));
}

export const COMMANDS: readonly CommandName[] = ['serve', 'publish'];

/** The settings of a command, by their names. Settings of programs are included. */
export function settingsOfCommand(command: CommandName): ReadonlyMap<string, Setting> {
  const settings = SETTINGS.filter(({ flag, commands }) => flag === null || commands.includes(command));
  return new Map(settings.map((setting) => [setting.name, setting]));
}
