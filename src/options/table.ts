/**
 * Folder options/. The one table of settings. Types, flags, variables, checks, help and docs are made from it. This
 * folder serves nothing, and opens no file except a field map.
 *
 * To add a setting, add its entry, run `npm run docs`, and declare it where it is used: CONTRIBUTING.md has the steps. A kind
 * with a type of its own also needs an import in `scripts/settings-pages.mjs`.
 */
import { SECRET_BYTES_MIN } from '../auth/key-set.js';
import { TOKEN_TYPES } from '../auth/verifier.js';
import {
  ADMIN_TOKEN_CHARACTERS_MIN,
  CACHE_MB_DEFAULT,
  EVENT_STREAMS_MAX_DEFAULT,
  FEED_DAYS_MAX,
  LOAD_MEMORY_MB_MIN,
  OVERLOAD_MS_DEFAULT,
  SERVING_THREADS_MAX,
} from '../base/limits.js';
import { IDENTIFIER_MODES } from '../base/model/event.js';
import { DATE_ORDERS } from '../base/model/read-rules.js';
import { originFault } from '../http/answer/answer-fields.js';
import { publicUrlFault } from '../http/public-address.js';
import { isPostgresAddress } from '../source/postgres/postgres-address.js';
import { isStoreAddress } from '../store/store-address.js';
import {
  A_STORE,
  FEEDS,
  FETCHED_KEYS,
  FROM_STORE,
  givenTwice,
  isTimetableFile,
  isUnsignedReplica,
  MAKE_KEYS,
  OF_THE_FILE,
  PIN,
  POSTGRES,
  POSTGRES_FAULTS,
  STORE,
  textsOf,
} from './conditions.js';
import {
  amount,
  BASE_PATH,
  CLAIMS,
  count,
  DATE,
  FIELD_MAP,
  given,
  HEADER,
  HOST,
  isFunction,
  isObject,
  KEY_SET,
  LOG_LEVELS,
  list,
  ON_OFF,
  oneOf,
  PATH,
  PORT,
  pathOr,
  secretKind,
  TIME_ZONE,
  text,
} from './kinds.js';
import {
  type CommandName,
  type Common,
  inGroup,
  type Place,
  SERVE_AND_PUBLISH,
  SERVE_ONLY,
  type Setting,
} from './setting.js';

/** The most descriptors that Linux gives one process. */
const STREAMS_MAX_MAX = 1_048_576;

/** Defaults that depend on other settings, so the table does not have them. */
export const LOG_LEVEL_DEFAULT: (typeof LOG_LEVELS)[number] = 'info';
export const LOG_LEVEL_OF_DEVELOPMENT: (typeof LOG_LEVELS)[number] = 'warn';

const MIB_PER_TIB = 1_048_576;
/** Each origin has 1 KB of header fields. */
const CORS_ORIGINS_MAX = 100;
const ADMIN_ALLOWED_HOSTS_MAX = 100;
const HOST_NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i;

/** What the entries of a group have in common. Without `commands`, a setting is for `lectern serve`. */
const SERVE: Common = { places: ['serve'] };
const OPEN: Common = { places: ['openTimetable'], commands: SERVE_AND_PUBLISH };
const COMMAND_LINE: Common = { commands: SERVE_AND_PUBLISH };
const PUBLISH: Common = { places: ['publish'], commands: ['publish'] };
const AUTH: Common = { places: ['auth'] };
const FEED: Common = { places: ['feed'] };
const ADMIN: Common = { places: ['admin'], commands: SERVE_AND_PUBLISH };

/** A flag without a value. */
const SWITCH = { isSwitch: true, kind: ON_OFF, default: false } as const;

const LISTENING_SETTINGS: readonly Setting[] = inGroup('Listening', SERVE, {
  port: { short: '-p', kind: PORT, default: 3000, help: 'TCP port; 0 takes any free one' },
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
  streamsMax: {
    places: ['serve', 'handler'],
    kind: count('number', 0, STREAMS_MAX_MAX),
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
    kind: ON_OFF,
    default: true,
    help: 'compress answers to repeated requests, as Accept-Encoding allows; off leaves compression to a proxy',
  },
  dev: {
    ...SWITCH,
    help: 'development: adds /view, /login, /docs and /health, and needs no key',
  },
  pages: {
    ...SWITCH,
    help: 'serve the pages for people at /view; always on in development',
  },
});

const OPERATING_SETTINGS: readonly Setting[] = inGroup('Operating', SERVE, {
  corsOrigins: {
    flag: '--cors-origin',
    kind: list('origin', CORS_ORIGINS_MAX, 'origins', (origin) => originFault(origin) ?? true),
    help: 'origin of web pages that may read the timetable, such as https://app.example.org; repeatable or comma-separated',
  },
  admin: {
    places: ['serve', 'publish'],
    flag: null,
    kind: given('an object of options', 'AdminListenerOptions', isObject),
    help: 'second port for operators, with /live, /ready and /metrics; default: none',
  },
});

const ADMIN_SETTINGS: readonly Setting[] = inGroup('Operating', ADMIN, {
  adminPort: {
    option: 'port',
    isRequiredInProgram: true,
    kind: PORT,
    faults: {
      '{adminPort} and {port} are the same; expected two ports': ({ adminPort, port }) =>
        adminPort === port && port !== 0,
    },
    help: 'port of the admin listener, with /live, /ready, /metrics and /refresh; default: none',
  },
  adminHost: {
    option: 'host',
    kind: HOST,
    default: '127.0.0.1',
    needs: ['adminPort'],
    help: 'address of the admin listener',
  },
  adminAllowedHosts: {
    option: 'allowedHosts',
    flag: '--admin-allowed-host',
    kind: list(
      'name',
      ADMIN_ALLOWED_HOSTS_MAX,
      'host names without a port, such as lectern.monitoring.svc',
      (name) => HOST_NAME.test(name),
    ),
    needs: ['adminPort'],
    help: 'further host name that the admin listener accepts, besides IP addresses, localhost and --admin-host; repeatable or comma-separated',
  },
  adminTokenFile: {
    option: 'tokenFile',
    kind: PATH,
    needs: ['adminPort'],
    help: `file with the token of POST /refresh, at least ${ADMIN_TOKEN_CHARACTERS_MIN} characters, read again when it changes; without it there is no /refresh`,
  },
});

const LOG_SETTINGS: readonly Setting[] = inGroup('Operating', SERVE, {
  accessLog: {
    kind: amount('share', 0, 1),
    default: 0,
    faults: {
      // Without a level, the command chooses one at which requests are logged.
      '{accessLog} has no effect with {logLevel} above info: requests are logged at info': (values) =>
        Number(values.accessLog) > 0 &&
        !['info', 'debug', 'trace', undefined].includes(values.logLevel as string),
    },
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
    kind: given('a logger', 'Logger', isObject),
    help: 'receives log records, as a pino logger does; without it nothing is logged',
  },
});

const TOKEN_SETTINGS: readonly Setting[] = inGroup('Tokens', AUTH, {
  hs256Secret: {
    isEnvironmentOnly: true,
    isSecret: true,
    kind: secretKind('HS256'),
    help: 'secret of HS256 tokens; further lines are earlier secrets, whose tokens stay valid',
  },
  hs256SecretFile: {
    kind: PATH,
    faults: givenTwice('the HS256 secret', 'hs256Secret', 'hs256SecretFile'),
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
    needs: [FETCHED_KEYS],
    help: 'time between two regular fetches of the key set; a withdrawn key is accepted at most this long. While fetching fails, the last keys are used for a day',
  },
  tokenType: {
    kind: oneOf('type', TOKEN_TYPES, 'TokenType'),
    default: 'any',
    faults: {
      // RFC 9068 section 4.
      '{tokenType} at+jwt needs {issuer} and {audience}: RFC 9068 requires both checks': (values) =>
        values.tokenType === 'at+jwt' && (values.issuer === undefined || values.audience === undefined),
    },
    help: 'accept any JWT, or only access tokens of RFC 9068, which need --issuer and --audience',
  },
  issuer: { kind: text('iss'), help: 'accept only tokens of this issuer' },
  audience: { kind: text('aud'), help: 'accept only tokens for this audience' },
  claims: {
    flag: '--claim',
    group: 'Users',
    kind: CLAIMS,
    help: "token claim that selects a user's events, such as studyGroup=groups; repeatable or comma-separated",
  },
  enrolments: {
    group: 'Users',
    kind: pathOr('an object of users'),
    help: 'JSON file of enrolments, read again when it changes: {"sub": {"studyGroup": ["…"]}}',
  },
  identify: {
    places: ['handler'],
    flag: null,
    group: 'Users',
    kind: given('a function', '(req: Request) => IdentityValues | null', isFunction),
    faults: {
      'handler() takes {auth} or {identify}, not both': ({ auth, identify }) =>
        auth !== undefined && identify !== undefined,
      'handler() takes {feed} only with {auth}, which identifies the user': ({ auth, feed }) =>
        feed !== undefined && auth === undefined,
    },
    help: 'function that identifies the user of a request, if the embedding program checks tokens itself',
  },
  auth: {
    places: ['serve', 'handler'],
    flag: null,
    kind: given('an object of options', 'EmbeddedAuthOptions', isObject),
    help: 'how bearer tokens are verified: at least one kind of key',
  },
});

const FEED_SETTINGS: readonly Setting[] = inGroup('Feeds', FEED, {
  feed: {
    places: ['serve', 'handler'],
    flag: null,
    kind: given('an object of options', 'FeedServingOptions', isObject),
    help: 'feed addresses for calendar programs that send no token; without it there are no feeds',
  },
  feedSecret: {
    option: 'secret',
    isEnvironmentOnly: true,
    isSecret: true,
    kind: secretKind('feed'),
    help: 'secret that signs feed addresses; further lines are earlier secrets, whose addresses stay valid; without it there are no feeds',
  },
  feedSecretFile: {
    option: 'secretFile',
    kind: PATH,
    faults: givenTwice('the feed secret', 'feedSecret', 'feedSecretFile'),
    help: 'file with the secret that signs feed addresses in its first line; further lines are earlier secrets, whose addresses stay valid; read again when it changes',
  },
  feedDays: {
    option: 'days',
    kind: count('number', 1, FEED_DAYS_MAX),
    default: 400,
    needs: [FEEDS],
    help: 'days for which a new feed address is valid',
  },
  feedRevocations: {
    option: 'revocations',
    kind: pathOr('an object of times'),
    needs: [FEEDS],
    help: 'JSON file of revoked feeds, such as {"alice": "2026-11-23T08:00:00Z"}: addresses that this user (the sub of the token) got before this time are refused; read again when it changes',
  },
  publicUrl: {
    places: ['serve', 'handler'],
    kind: text('address', 'an http(s) address', (url) => publicUrlFault(url) ?? true),
    needs: [FEEDS],
    help: 'address at which clients reach the service, such as https://timetable.example.org; feed addresses begin with it; default: the Host field of the request, but only if it names the local address and port of the connection',
  },
});

const DATA_SETTINGS: readonly Setting[] = inGroup('Data', OPEN, {
  source: {
    flag: null,
    kind: given('a path, an address, a source or records', 'string | AnySource | Records', () => true),
    faults: {
      'openTimetable() takes {source} or {timetable}': ({ source, timetable }) =>
        (source === undefined) === (timetable === undefined),
    },
    commandFaults: {
      'a store cannot be merged with other sources; expected one store': ({ source }) =>
        textsOf(source).length > 1 && textsOf(source).some(isStoreAddress),
      'a timetable file is the only source; expected the other sources in it': ({ source }) =>
        textsOf(source).length > 1 && textsOf(source).some(isTimetableFile),
      'standard input (-) is given twice as a source, and can be read once only': ({ source }) =>
        textsOf(source).filter((text) => text === '-').length > 1,
    },
    help: 'where events come from: a path (- for standard input), an address (http(s), postgres, or a store), a SourceSpec, records in memory, a MemorySource or a RecordSource; on the command line, the arguments',
  },
  timetable: {
    flag: null,
    kind: given(
      'the path of a timetable file, or an object of its entries',
      'string | TimetableDescription',
      (value) => isObject(value) || (typeof value === 'string' && value !== ''),
    ),
    help: 'timetable file, which says where events come from and how they are read, source by source; on the command line, the only argument',
  },
  rooms: {
    commands: SERVE_ONLY,
    kind: pathOr('a list of rooms, or a PostgreSQL source', 'PostgresSpec | readonly Room[]'),
    excludes: [OF_THE_FILE],
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
    excludes: [PIN],
    help: 'MiB of memory that one load may take; default: three quarters of the memory that the machine and the container have left',
  },
  onProgress: {
    flag: null,
    commands: SERVE_ONLY,
    kind: given('a function', '(progress: LoadProgress) => void', isFunction),
    help: 'function that is called several times during the first load',
  },
});

/** Header fields of requests to addresses. */
const ADDRESS_SETTINGS: readonly Setting[] = inGroup('Data', COMMAND_LINE, {
  sourceHeaders: {
    flag: '--header',
    isSecret: true,
    kind: HEADER,
    excludes: [STORE, PIN, OF_THE_FILE],
    help: "header field for http(s) sources, such as 'Authorization: Bearer file:PATH'; repeatable. file:PATH stands for the content of a file, read again when it changes; env:NAME for an environment variable. With several origins: 'https://host Authorization: …'",
  },
});

/** How a source is read. */
const READING_SETTINGS: readonly Setting[] = inGroup('Reading', OPEN, {
  identifiers: {
    kind: oneOf('kind', IDENTIFIER_MODES, 'IdentifierMode'),
    default: 'uuid',
    excludes: [OF_THE_FILE],
    help: 'form of the identifiers in the data: uuid for UUIDs; any for text of 1 to 64 characters and whole numbers; derived for text to turn into UUIDs',
  },
  fieldMap: {
    flag: '--map',
    kind: FIELD_MAP,
    excludes: [STORE, PIN, OF_THE_FILE],
    help: "column, path or template that gives a field, such as title=Subject, roomName=room.name or 'time={date}T{start}'; repeatable",
  },
  dateOrder: {
    kind: oneOf('order', DATE_ORDERS, 'DateOrder'),
    excludes: [STORE, PIN, OF_THE_FILE],
    help: 'order of day, month and year in dates such as 31.08.2024 or 8/31/2024; without it, such dates are rejected',
  },
  timeZone: {
    kind: TIME_ZONE,
    excludes: [OF_THE_FILE],
    help: 'time zone of times without an offset, which are otherwise rejected, and of local days in queries',
  },
  calendarFrom: {
    kind: DATE,
    excludes: [STORE, PIN, OF_THE_FILE],
    help: 'first day of the expansion of recurring events in calendars; default: one year before the load',
  },
  calendarTo: {
    kind: DATE,
    excludes: [STORE, PIN, OF_THE_FILE],
    faults: {
      '{calendarFrom} must be before {calendarTo}': ({ calendarFrom, calendarTo }) =>
        calendarFrom !== undefined && calendarTo !== undefined && String(calendarFrom) >= String(calendarTo),
    },
    help: 'first day after the expansion of recurring events in calendars; default: two years after the load',
  },
});

/** Settings that select the rows of a PostgreSQL database. In a program, they are part of the source. */
const OF_DATABASES: Common = {
  commands: SERVE_AND_PUBLISH,
  needs: [POSTGRES],
  excludes: [PIN, OF_THE_FILE],
};

const DATABASE_SETTINGS: readonly Setting[] = inGroup('Databases', OF_DATABASES, {
  table: {
    kind: text('name', 'a table or view, such as events or school.events'),
    commandFaults: POSTGRES_FAULTS,
    help: 'table or view of the PostgreSQL sources; every row is an event',
  },
  query: { kind: text('select', 'a SELECT'), help: 'SELECT to use instead of a table' },
});

/** When to read a PostgreSQL database again. */
const DATABASE_REFRESHING_SETTINGS: readonly Setting[] = inGroup('Databases', OF_DATABASES, {
  follow: {
    ...SWITCH,
    faults: {
      '{follow} needs a table or query that is the only source; with several sources, give {refreshSeconds}':
        ({ follow, source }) =>
          follow === true && textsOf(source).length > 1 && textsOf(source).some(isPostgresAddress),
      '{follow} has no effect with {watch} off': ({ follow, watch }) => follow === true && watch === false,
    },
    help: 'follow the table, or the tables of the query, by logical replication: a committed change is read at once',
  },
});

const SECONDS_PER_YEAR = 31_536_000;

const REFRESHING_SETTINGS: readonly Setting[] = inGroup('Refreshing', OPEN, {
  refreshSeconds: {
    kind: amount('seconds', 0, SECONDS_PER_YEAR),
    default: 0,
    excludes: [PIN],
    commandFaults: {
      '{refreshSeconds} cannot load standard input (-) again: it can be read once only': (values) =>
        Number(values.refreshSeconds) > 0 && textsOf(values.source).includes('-'),
    },
    help: 'time between two loads, varied by up to 10 %; 0 for none. SIGHUP loads at once',
  },
  watch: { kind: ON_OFF, default: true, help: 'load a file again when it changes' },
  gate: {
    flag: null,
    kind: given('an object or false', 'GateOptions | false', (value) => value === false || isObject(value)),
    help: 'checks that a new timetable must pass before it replaces the served one; false disables them',
  },
  shrinkPercentMax: {
    places: ['gate'],
    kind: amount('percent', 0, 100),
    default: 30,
    excludes: [PIN],
    help: 'refuse a timetable that is smaller than the served one by more than this percentage; 100 also accepts a timetable without events; to load without the checks of size and of rejections, send SIGUSR2',
  },
  rejectPercentMax: {
    places: ['gate'],
    kind: amount('percent', 0, 100),
    default: 10,
    excludes: [PIN],
    help: 'refuse a timetable if more than this percentage of its records was rejected; the first timetable is published even then, with a warning',
  },
  staleSecondsMax: {
    commands: SERVE_ONLY,
    kind: amount('seconds', 0, SECONDS_PER_YEAR),
    excludes: [PIN],
    commandFaults: {
      '{staleSecondsMax} does not work with standard input (-): it is loaded once, so every answer would become 503 after that time':
        ({ staleSecondsMax, source }) => staleSecondsMax !== undefined && textsOf(source).includes('-'),
    },
    warnings: {
      // A timetable that never changes becomes stale, too.
      '{staleSecondsMax} without {refreshSeconds}: an unchanged source is not loaded again, so every answer becomes 503 after that time, until SIGHUP or POST /refresh':
        ({ staleSecondsMax, refreshSeconds, pin, source }) =>
          staleSecondsMax !== undefined &&
          refreshSeconds === 0 &&
          pin === undefined &&
          !textsOf(source).some(isStoreAddress),
    },
    help: 'answer 503 once the last good load is older than this; default: never',
  },
  snapshotFile: {
    kind: PATH,
    excludes: [PIN],
    help: 'write each timetable to this file, and serve it at once at the next start with the same source',
  },
  publisherPublicKey: {
    commands: SERVE_ONLY,
    kind: PATH,
    needs: [FROM_STORE],
    faults: {
      [`{publisherPublicKey} is missing: a replica serves only what its publisher signed. ${MAKE_KEYS}`]:
        isUnsignedReplica,
    },
    help: 'file with one or more public keys of the publishers of a store: PEM, JWK or JWKS; read again when it changes',
  },
  unsigned: {
    places: ['openTimetable', 'publish'],
    ...SWITCH,
    needs: [A_STORE],
    excludes: ['publisherKey', 'publisherPublicKey'],
    help: 'announce and serve without signatures, in a store that is a folder of the own account',
  },
  pin: {
    commands: SERVE_ONLY,
    kind: PATH,
    commandFaults: {
      '{pin} serves a snapshot file instead of a source: give one of the two': ({ pin, source }) =>
        pin !== undefined && textsOf(source).length > 0,
      'no source is given; expected a file, a folder, an address, or {pin}': ({ source, pin }) =>
        pin === undefined && Array.isArray(source) && source.length === 0,
    },
    help: 'serve exactly this snapshot file and ask no source',
  },
});

/** The settings of a publisher alone. */
const PUBLISHING_SETTINGS: readonly Setting[] = inGroup('Publishing', PUBLISH, {
  publishTo: {
    option: 'to',
    flag: '--to',
    variable: 'LECTERN_PUBLISH_TO',
    isRequired: true,
    kind: text('store', 'a store: nats://host:4222/name, tls://host:4222/name, or a folder'),
    help: 'store of the announcements: nats://host:4222/name, tls://host:4222/name, or a folder that all machines share',
  },
  publisherKey: {
    kind: PATH,
    faults: {
      [`{publisherKey} is missing: announcements are signed. ${MAKE_KEYS}`]: ({ publisherKey, unsigned }) =>
        publisherKey === undefined && unsigned !== true,
    },
    help: 'file with the private key that signs announcements: Ed25519 or P-256, as PEM or JWK; read again when it changes',
  },
  once: {
    places: [],
    ...SWITCH,
    help: 'end after one announcement',
  },
});

/** The settings of every command that reads a source. */
export const COMMAND_READING_SETTINGS: readonly Setting[] = [
  ...READING_SETTINGS,
  ...ADDRESS_SETTINGS,
  ...DATABASE_SETTINGS,
];

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
  ...ADMIN_SETTINGS,
  ...LOG_SETTINGS,
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
