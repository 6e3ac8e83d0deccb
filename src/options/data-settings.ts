/** The settings of the data: sources, bounds of a load, refreshing, gate and snapshot file. */
import { CACHE_MB_DEFAULT, LOAD_MEMORY_MB_MIN } from '../limits.js';
import {
  amount,
  either,
  given,
  inGroup,
  isFunction,
  isObject,
  type Kind,
  oneOf,
  PATH,
  SERVE_AND_PUBLISH,
  SERVE_ONLY,
  type Setting,
  text,
} from './setting.js';

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

export const DATA_SETTINGS: readonly Setting[] = inGroup(
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
    buildOn: {
      flag: null,
      kind: oneOf('where', ['thread', 'here']),
      default: 'thread',
      help: 'where snapshots are built: on another thread (thread), or on the calling thread (here), for small sets',
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

export const REFRESHING_SETTINGS: readonly Setting[] = inGroup(
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
    feedPublicKey: {
      commands: SERVE_ONLY,
      kind: PATH,
      help: 'file with one or more public keys of the publishers of a store: PEM, JWK or JWKS; read again when it changes; without it, signatures are not checked',
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
export const PUBLISHING_SETTINGS: readonly Setting[] = inGroup(
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
    feedKey: {
      option: 'keyFile',
      isRequired: true,
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
