import { checkTogether } from './check-service-options.js';
import { LecternError } from './errors.js';
import {
  CACHE_MB_MAX,
  CONNECTIONS_MAX_DEFAULT,
  CONNECTIONS_MAX_MAX,
  DRAIN_SECONDS_MAX,
  EVENTS_MAX,
  GROWTH_PERCENT_MAX,
  LOAD_MEMORY_MB_MAX,
  LOAD_MEMORY_MB_MIN,
  OVERLOAD_MS_DEFAULT,
  OVERLOAD_MS_MAX,
} from './limits.js';
import { INDEXED_FIELDS } from './model/fields.js';
import { OPERATING_SETTINGS } from './operating-settings.js';
import { parseClaims, parseHeader } from './option-values.js';
import { LOG_LEVELS, type ServiceOptions } from './service-options.js';
import { workersFault } from './serving/worker-count.js';
import { amount, anyOf, host, oneOf, PORT, type Setting, type SettingName, text } from './setting.js';
import { TOKEN_SETTINGS } from './token-settings.js';

export type { LogLevel, ServeSettings, ServiceOptions } from './service-options.js';
export type { Setting, SettingName } from './setting.js';

/** One row per setting: the command line, the environment and the checks are all made from it. */
export const SETTINGS: readonly Setting[] = [
  {
    name: 'port',
    flags: '-p, --port <number>',
    environment: 'LECTERN_PORT',
    group: 'Listening',
    default: 3000,
    description: 'TCP port; 0 takes any free one',
    ...PORT,
  },
  {
    name: 'host',
    flags: '--host <address>',
    environment: 'LECTERN_HOST',
    group: 'Listening',
    default: '127.0.0.1',
    description: 'address to listen on; 0.0.0.0 is reachable from other machines',
    fault: host,
  },
  {
    name: 'workers',
    flags: '--workers <number>',
    environment: 'LECTERN_WORKERS',
    group: 'Listening',
    default: 1,
    description: 'threads that serve, on one snapshot in shared memory; auto for as many as there are cores',
    parse: (text) => (/^\d+$/.test(text) ? Number(text) : text),
    fault: workersFault,
  },
  {
    name: 'connectionsMax',
    flags: '--connections-max <number>',
    environment: 'LECTERN_CONNECTIONS_MAX',
    group: 'Listening',
    default: CONNECTIONS_MAX_DEFAULT,
    description: 'connections at a time, of each thread that serves; more are closed as they come',
    ...amount(1, CONNECTIONS_MAX_MAX, true),
  },
  {
    name: 'overloadMs',
    flags: '--overload-ms <milliseconds>',
    environment: 'LECTERN_OVERLOAD_MS',
    group: 'Listening',
    default: OVERLOAD_MS_DEFAULT,
    description:
      'while requests wait longer for the processor, answer those that are too many with 503; 0 for never',
    ...amount(0, OVERLOAD_MS_MAX),
  },
  {
    name: 'drainSeconds',
    flags: '--drain-seconds <seconds>',
    environment: 'LECTERN_DRAIN_SECONDS',
    group: 'Listening',
    default: 0,
    description:
      'after SIGTERM or SIGINT, answer requests for so long before the port is closed, each with Connection: close',
    ...amount(0, DRAIN_SECONDS_MAX),
  },
  {
    name: 'basePath',
    flags: '--base-path <path>',
    environment: 'LECTERN_BASE_PATH',
    group: 'Listening',
    default: '/api/v1',
    description: 'path in front of every endpoint but /health',
    fault: (value) =>
      typeof value === 'string' && (value === '/' || isBasePath(value))
        ? null
        : 'it must begin with "/" and have only letters, digits and "-._~" in its segments',
  },
  {
    name: 'mode',
    flags: '--mode <mode>',
    environment: 'LECTERN_MODE',
    group: 'Listening',
    default: 'production',
    description: 'development adds /login, /docs and /health, and needs no key',
    ...oneOf(['production', 'development']),
  },
  {
    name: 'identifiers',
    flags: '--identifiers <kind>',
    environment: 'LECTERN_IDENTIFIERS',
    group: 'Data',
    default: 'uuid',
    description: 'what identifiers of the data look like: UUIDs, or any text of 1 to 64 characters',
    ...oneOf(['uuid', 'any']),
  },
  {
    name: 'unknownParameters',
    flags: '--unknown-parameters <how>',
    environment: 'LECTERN_UNKNOWN_PARAMETERS',
    group: 'Data',
    default: 'reject',
    description: 'answer an unknown query parameter with 400, or ignore it',
    ...oneOf(['reject', 'ignore']),
  },
  {
    name: 'cacheMb',
    flags: '--cache-mb <megabytes>',
    environment: 'LECTERN_CACHE_MB',
    group: 'Data',
    default: 256,
    description: 'MiB of memory for caches besides the timetable; 0 for none',
    ...amount(0, CACHE_MB_MAX),
  },
  {
    name: 'memoryMbMax',
    flags: '--memory-mb-max <megabytes>',
    environment: 'LECTERN_MEMORY_MB_MAX',
    group: 'Data',
    description:
      'MiB of memory that one load may take; where it is left out, three quarters of what machine and container have left',
    ...amount(LOAD_MEMORY_MB_MIN, LOAD_MEMORY_MB_MAX),
  },
  {
    name: 'eventsMax',
    flags: '--events-max <number>',
    environment: 'LECTERN_EVENTS_MAX',
    group: 'Data',
    description: 'refuse a timetable with more events; where it is left out, any number',
    ...amount(1, EVENTS_MAX, true),
  },
  {
    name: 'sourceHeaders',
    flags: '--header <name:value>',
    environment: 'LECTERN_HEADER',
    group: 'Data',
    description:
      "header field for addresses, such as 'Authorization: Bearer env:UPSTREAM_TOKEN', which takes the value from the environment; repeatable",
    isSecret: true,
    parse: parseHeader,
    fault: (value) => (typeof value === 'object' && value !== null ? null : 'it must be "Name: value"'),
  },
  {
    name: 'lecturerIdsFile',
    flags: '--lecturer-ids <file>',
    environment: 'LECTERN_LECTURER_IDS',
    group: 'Data',
    description: 'JSON object from names to identifiers, for sources that give the names of lecturers only',
    fault: text,
  },
  {
    name: 'refreshSeconds',
    flags: '--refresh-seconds <seconds>',
    environment: 'LECTERN_REFRESH_SECONDS',
    group: 'Refreshing',
    default: 0,
    description: 'load again so often; 0 for never. SIGHUP loads at once',
    ...amount(0, 31_536_000),
  },
  {
    name: 'watch',
    flags: '--watch <how>',
    environment: 'LECTERN_WATCH',
    group: 'Refreshing',
    default: true,
    description: 'load a file again when it changes; on where it is left out',
    choices: ['on', 'off'],
    parse: (given) => (given === 'on' ? true : given === 'off' ? false : given),
    fault: (value) => (typeof value === 'boolean' ? null : 'it must be on or off'),
  },
  {
    name: 'shrinkPercentMax',
    flags: '--shrink-percent-max <percent>',
    environment: 'LECTERN_SHRINK_PERCENT_MAX',
    group: 'Refreshing',
    default: 30,
    description:
      'refuse a timetable that is smaller by more than the one that is served. SIGUSR2 loads and lets anything through',
    ...amount(0, 100),
  },
  {
    name: 'rejectPercentMax',
    flags: '--reject-percent-max <percent>',
    environment: 'LECTERN_REJECT_PERCENT_MAX',
    group: 'Refreshing',
    default: 10,
    description:
      'refuse a timetable with more bad records, where one is served already; a first load is published, with a warning',
    ...amount(0, 100),
  },
  {
    name: 'growthPercentMax',
    flags: '--growth-percent-max <percent>',
    environment: 'LECTERN_GROWTH_PERCENT_MAX',
    group: 'Refreshing',
    default: 1000,
    description:
      'give a load up that brings more records than are served by more than this, and more than 1,000; not for a first load',
    ...amount(0, GROWTH_PERCENT_MAX),
  },
  {
    name: 'emptySet',
    flags: '--empty-set <how>',
    environment: 'LECTERN_EMPTY_SET',
    group: 'Refreshing',
    default: 'refuse',
    description: 'refuse a timetable without events, or publish it',
    ...oneOf(['refuse', 'publish']),
  },
  {
    name: 'staleSecondsMax',
    flags: '--stale-seconds-max <seconds>',
    environment: 'LECTERN_STALE_SECONDS_MAX',
    group: 'Refreshing',
    description: 'answer 503 when the last good load is older; where it is left out, never',
    ...amount(0, 31_536_000),
  },
  {
    name: 'snapshotFile',
    flags: '--snapshot-file <file>',
    environment: 'LECTERN_SNAPSHOT_FILE',
    group: 'Refreshing',
    description:
      'write each timetable here, over the one before, and serve it at once at the next start with the same source',
    fault: text,
  },
  {
    name: 'snapshotFilesKept',
    flags: '--snapshot-files-kept <number>',
    environment: 'LECTERN_SNAPSHOT_FILES_KEPT',
    group: 'Refreshing',
    default: 0,
    description: 'earlier snapshot files to keep beside it, as <file>.1 and so on',
    ...amount(0, 100, true),
  },
  {
    name: 'pin',
    flags: '--pin <file>',
    environment: 'LECTERN_PIN',
    group: 'Refreshing',
    description: 'serve exactly this snapshot file and ask no source',
    fault: text,
  },
  ...TOKEN_SETTINGS,
  {
    name: 'claims',
    flags: '--claim <field=claim>',
    environment: 'LECTERN_CLAIM',
    group: 'Users',
    description:
      'token claim that selects the events of a user, such as studyGroup=groups; repeatable, or with commas',
    parse: parseClaims,
    fault: (value) =>
      typeof value === 'object' && value !== null
        ? null
        : `it must be field=claim, with one of the fields ${anyOf(INDEXED_FIELDS.map((f) => f.name))}`,
  },
  {
    name: 'enrolmentsFile',
    flags: '--enrolments <file>',
    environment: 'LECTERN_ENROLMENTS',
    group: 'Users',
    description: 'JSON file of what users are enrolled in: {"sub": {"studyGroup": ["…"]}}',
    fault: text,
  },
  ...OPERATING_SETTINGS,
  {
    name: 'logLevel',
    flags: '--log-level <level>',
    environment: 'LECTERN_LOG_LEVEL',
    group: 'Logging',
    description: 'how much is logged to standard error; where it is left out info, in development warn',
    ...oneOf(LOG_LEVELS),
  },
];

/** The options with their defaults, checked one by one. */
export type ResolvedOptions = ServiceOptions &
  Required<{ [Name in DefaultedName]: NonNullable<ServiceOptions[Name]> }>;
type DefaultedName =
  | 'port'
  | 'host'
  | 'workers'
  | 'connectionsMax'
  | 'overloadMs'
  | 'basePath'
  | 'mode'
  | 'identifiers'
  | 'unknownParameters'
  | 'refreshSeconds'
  | 'watch'
  | 'shrinkPercentMax'
  | 'rejectPercentMax'
  | 'growthPercentMax'
  | 'emptySet'
  | 'snapshotFilesKept'
  | 'jwksRefreshSeconds'
  | 'jwksCooldownSeconds'
  | 'jwksStaleSecondsMax'
  | 'tokenType'
  | 'cacheMb'
  | 'adminHost'
  | 'accessLog';

/**
 * Checks options and fills in defaults. Files are not opened here.
 *
 * @throws LecternError `option-invalid` for the first that is wrong; the value of a secret is never repeated
 */
export function resolveOptions(options: ServiceOptions): ResolvedOptions {
  for (const setting of SETTINGS) {
    const value = (options as Partial<Record<SettingName, unknown>>)[setting.name];
    const fault = value === undefined ? null : setting.fault(value);
    if (fault !== null) throw new LecternError('option-invalid', `${labelOf(setting)} is invalid: ${fault}`);
  }
  checkTogether(options);
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const resolved = { ...DEFAULTS, ...given } as ResolvedOptions;
  return { ...resolved, basePath: resolved.basePath.replace(/\/$/, '') };
}

/** `--port (LECTERN_PORT)`: a setting as the person knows it who gave it. */
export function labelOf({ flags, environment }: Setting): string {
  const flag = flags === null ? undefined : /--[a-z0-9-]+/.exec(flags)?.[0];
  return flag === undefined ? environment : `${flag} (${environment})`;
}

const DEFAULTS: Readonly<Record<string, unknown>> = Object.fromEntries(
  SETTINGS.flatMap((setting) => (setting.default === undefined ? [] : [[setting.name, setting.default]])),
);

function isBasePath(path: string): boolean {
  // The router takes ":" and "*" for patterns, and clients resolve "." and ".." away.
  return /^(?:\/[A-Za-z0-9._~-]+)+\/?$/.test(path) && !/\/\.{1,2}(?:\/|$)/.test(path);
}
