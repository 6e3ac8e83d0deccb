/** Rules between settings. Refuses settings without effect. */
import { isAddress } from '../auth/remote-keys.js';
import { isPostgresAddress } from '../source/postgres/postgres-address.js';
import { POSTGRES_RULES, type RowsSpec } from '../source/postgres/postgres-spec.js';
import { isStoreAddress } from '../store/store-address.js';

/** Checked values and defaults, by the names of their settings. */
export type Values = Readonly<Record<string, unknown>>;

type IsBroken = (values: Values, isGiven: (name: string) => boolean) => boolean;

/** Messages and their conditions. `{name}` is a setting. A place checks only rules about its own settings. */
export type Rules = Readonly<Record<string, IsBroken>>;

const NOT_FOR_STORES = [
  'sourceHeaders',
  'fieldMap',
  'mapFile',
  'lecturerIdsFile',
  'dateOrder',
  'encoding',
  'calendarFrom',
  'calendarTo',
];

export const RULES: Rules = {
  ...rulesOf(
    ['jwksRefreshSeconds'],
    (name) => `{${name}} has no effect, as {jwks} is not an http(s) address`,
    ({ jwks }) => !isFetched(jwks),
  ),
  '{calendarFrom} must be before {calendarTo}': ({ calendarFrom, calendarTo }) =>
    calendarFrom !== undefined && calendarTo !== undefined && String(calendarFrom) >= String(calendarTo),
  // RFC 9068 section 4.
  '{tokenType} at+jwt needs {issuer} and {audience}: RFC 9068 requires both checks': (values) =>
    values.tokenType === 'at+jwt' && (values.issuer === undefined || values.audience === undefined),
  'the HS256 secret is given twice: as {hs256Secret}, and as {hs256SecretFile}; expected one of the two': (
    values,
  ) => values.hs256Secret !== undefined && values.hs256SecretFile !== undefined,
  ...rulesOf(
    NOT_FOR_STORES,
    (name) => `{${name}} has no effect with a store as the source: its publisher reads the records`,
    ({ source }) => textsOf(source).some(isStoreAddress),
  ),
  ...rulesOf(
    ['feedPublicKey'],
    (name) => `{${name}} has no effect, as the source is not a store (nats://… or folder://…)`,
    ({ source }) => !textsOf(source).some(isStoreAddress),
  ),
};

/** Rules that apply only to programs. */
export const PROGRAM_RULES: Rules = {
  'handler() takes {auth} or {identify}, not both': ({ auth, identify }) =>
    auth !== undefined && identify !== undefined,
  'handler() takes {feed} only with {auth}, which identifies the user': ({ auth, feed }) =>
    feed !== undefined && auth === undefined,
  '{publicUrl} has no effect without {feed}: there are no feeds': ({ publicUrl, feed }) =>
    publicUrl !== undefined && feed === undefined,
};

const OF_DATABASES = ['table', 'query', 'postgresPasswordFile', 'versionQuery', 'listen', 'follow'];

/** Rules that apply only to the command line. */
export const COMMAND_RULES: Rules = {
  ...rulesOf(
    ['adminTokenFile', 'adminAllowedHosts', 'adminHost'],
    (name) => `{${name}} has no effect without {adminPort}`,
    ({ adminPort }) => adminPort === undefined,
  ),
  ...rulesOf(
    [
      'sourceHeaders',
      'upstreamTokenUrl',
      'lecturerIdsFile',
      'table',
      'query',
      'postgresPasswordFile',
      'versionQuery',
      'listen',
      'follow',
      'fieldMap',
      'mapFile',
      'dateOrder',
      'encoding',
      'calendarFrom',
      'calendarTo',
      'refreshSeconds',
      'shrinkPercentMax',
      'rejectPercentMax',
      'memoryMbMax',
      'staleSecondsMax',
      'snapshotFile',
    ],
    (name) => `{${name}} has no effect with {pin}, which asks no source`,
    ({ pin }) => pin !== undefined,
  ),
  ...rulesOf(
    OF_DATABASES,
    (name) => `{${name}} has no effect, as no source is a PostgreSQL address (postgres://…)`,
    ({ source, pin }) => pin === undefined && !textsOf(source).some(isPostgresAddress),
  ),
  ...Object.fromEntries(
    Object.entries(POSTGRES_RULES).map(([problem, isBroken]): [string, IsBroken] => [
      problem,
      (values) =>
        textsOf(values.source).some(isPostgresAddress) &&
        isBroken(values as RowsSpec, values.follow === true),
    ]),
  ),
  '{follow} needs a table that is the only source; with several sources, give {listen} or {refreshSeconds}':
    ({ follow, source }) =>
      follow === true && textsOf(source).length > 1 && textsOf(source).some(isPostgresAddress),
  'no source is given; expected a file, a folder, an address, or {pin}': ({ source, pin }) =>
    pin === undefined && Array.isArray(source) && source.length === 0,
  '{pin} serves a snapshot file instead of a source: give one of the two': ({ pin, source }) =>
    pin !== undefined && textsOf(source).length > 0,
  'a store cannot be merged with other sources; expected one store': ({ source }) =>
    textsOf(source).length > 1 && textsOf(source).some(isStoreAddress),
  '{follow} has no effect with {watch} off': ({ follow, watch }) => follow === true && watch === false,
  '{listen} has no effect with {watch} off': ({ listen, watch }) => listen !== undefined && watch === false,
  '{versionQuery} has no effect with {follow}, which knows what changed': ({ versionQuery, follow }) =>
    follow === true && versionQuery !== undefined,
  '{listen} has no effect with {follow}, which sees every change': ({ listen, follow }) =>
    follow === true && listen !== undefined,
  '{follow} does not work with {lecturerIdsFile}': ({ follow, lecturerIdsFile }) =>
    follow === true && lecturerIdsFile !== undefined,
  'standard input (-) is given twice as a source, and can be read once only': ({ source }) =>
    textsOf(source).filter((text) => text === '-').length > 1,
  '{refreshSeconds} cannot load standard input (-) again: it can be read once only': (values) =>
    Number(values.refreshSeconds) > 0 && textsOf(values.source).includes('-'),
  '{staleSecondsMax} does not work with standard input (-): it is loaded once, so every answer would become 503 after that time':
    ({ staleSecondsMax, source }) => staleSecondsMax !== undefined && textsOf(source).includes('-'),
  // Without a level, the command chooses one at which requests are logged.
  '{accessLog} has no effect with {logLevel} above info: requests are logged at info': (values) =>
    Number(values.accessLog) > 0 &&
    !['info', 'debug', 'trace', undefined].includes(values.logLevel as string),
  '{adminPort} and {port} are the same; expected two ports': ({ adminPort, port }) =>
    adminPort === port && port !== 0,
  ...rulesOf(
    ['feedDays', 'feedRevocationsFile', 'publicUrl'],
    (name) => `{${name}} has no effect without {feedSecret} or {feedSecretFile}: there are no feeds`,
    ({ feedSecret, feedSecretFile }) => feedSecret === undefined && feedSecretFile === undefined,
  ),
  'the feed secret is given twice: as {feedSecret}, and as {feedSecretFile}; expected one of the two': ({
    feedSecret,
    feedSecretFile,
  }) => feedSecret !== undefined && feedSecretFile !== undefined,
  ...rulesOf(
    [
      'upstreamClientId',
      'upstreamClientSecret',
      'upstreamClientSecretFile',
      'upstreamScope',
      'upstreamTokenOrigin',
    ],
    (name) => `{${name}} has no effect without {upstreamTokenUrl}`,
    ({ upstreamTokenUrl }) => upstreamTokenUrl === undefined,
  ),
  '{upstreamTokenUrl} needs {upstreamClientId}, and one of {upstreamClientSecret} and {upstreamClientSecretFile}':
    ({ upstreamTokenUrl, upstreamClientId, upstreamClientSecret, upstreamClientSecretFile }) =>
      upstreamTokenUrl !== undefined &&
      (upstreamClientId === undefined ||
        (upstreamClientSecret === undefined) === (upstreamClientSecretFile === undefined)),
  '{upstreamTokenUrl} has no effect, as no source is an http(s) or webcal address': ({
    upstreamTokenUrl,
    source,
  }) =>
    upstreamTokenUrl !== undefined &&
    !textsOf(source).some((text) => /^(?:https?|webcals?):\/\//i.test(text)),
};

/** Warnings of the command line, in the form of rules. */
export const COMMAND_WARNINGS: Rules = {
  // A timetable that never changes becomes stale, too.
  '{staleSecondsMax} without {refreshSeconds}: an unchanged source is not loaded again, so every answer becomes 503 after that time, until SIGHUP or POST /refresh':
    ({ staleSecondsMax, refreshSeconds, pin, source }) =>
      staleSecondsMax !== undefined &&
      refreshSeconds === 0 &&
      pin === undefined &&
      !textsOf(source).some(isStoreAddress),
};

/** One rule for each setting, which must not be given if `isVain`. */
function rulesOf(
  names: readonly string[],
  problemOf: (name: string) => string,
  isVain: (values: Values) => boolean,
): Rules {
  return Object.fromEntries(
    names.map((name) => [problemOf(name), (values, isGiven) => isGiven(name) && isVain(values)]),
  ) as Rules;
}

function isFetched(jwks: unknown): boolean {
  return typeof jwks === 'string' && isAddress(jwks);
}

/** The sources, if all are given as strings; otherwise empty. */
function textsOf(source: unknown): readonly string[] {
  const sources = [source].flat();
  return sources.every((each) => typeof each === 'string') ? (sources as readonly string[]) : [];
}
