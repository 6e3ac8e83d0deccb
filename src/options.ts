import { isIP } from 'node:net';
import { LecternError } from './errors.js';
import type { IdentifierMode } from './model/event.js';
import { INDEXED_FIELDS } from './model/fields.js';
import type { TimetableOptions } from './timetable-options.js';

/** Everything that configures a service. Only the source has no default; production also needs a key. */
export interface ServiceOptions {
  /** Path of a file, `-` for standard input, a Source, or records in memory. */
  readonly source: TimetableOptions['source'];
  /** TCP port, 0 to 65535; 0 takes any free one. Default 3000. */
  readonly port?: number | undefined;
  /** Address or name to listen on. Default 127.0.0.1: reachable from this machine only. */
  readonly host?: string | undefined;
  /** Path in front of every endpoint but /health: segments of letters, digits, `-._~`. Default /api/v1. */
  readonly basePath?: string | undefined;
  /** `development` adds /login, /docs and /health and makes a key of its own. Default `production`. */
  readonly mode?: 'production' | 'development' | undefined;
  /** What identifiers of the data look like. Default `uuid`. */
  readonly identifiers?: IdentifierMode | undefined;
  /** Whether an unknown query parameter is a fault. Default `reject`. */
  readonly unknownParameters?: 'reject' | 'ignore' | undefined;
  /** Once given, every token must have exactly this `iss`. Default: not looked at. */
  readonly issuer?: string | undefined;
  /** Once given, every token's `aud` must be or contain it. Default: not looked at. */
  readonly audience?: string | undefined;
  /** Path of a JSON Web Key Set (RFC 7517) with public keys. Default none. */
  readonly jwksFile?: string | undefined;
  /** The HS256 secret, at least 32 bytes of UTF-8. Default none. Not together with `hs256SecretFile`. */
  readonly hs256Secret?: string | undefined;
  /** Path of a file that holds the HS256 secret; one line end after it does not count. Default none. */
  readonly hs256SecretFile?: string | undefined;
  /** Token claims by the field that they select on, in place of the field's own. Default: the contract's. */
  readonly claims?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Path of an enrolment map, JSON: user → field → values. Default none. */
  readonly enrolmentsFile?: string | undefined;
}

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What `lectern serve` takes: the service's options, and how much is logged. */
export interface ServeSettings extends ServiceOptions {
  /** Default `info` in production, `warn` in development. */
  readonly logLevel?: LogLevel | undefined;
}

export type SettingName = Exclude<keyof ServeSettings, 'source'>;

/** One setting, on the command line and in the environment. */
export interface Setting {
  readonly name: SettingName;
  /** As commander has it: `--port <number>`. Null where a secret would show in the list of processes. */
  readonly flags: string | null;
  readonly environment: `LECTERN_${string}`;
  readonly group: 'Listening' | 'Data' | 'Tokens' | 'Users' | 'Logging';
  /** The defaults of the service itself; undefined where there is none, or where it depends. */
  readonly default?: string | number;
  readonly choices?: readonly string[];
  readonly description: string;
  /** From text to value; without it the text is the value. Whatever it returns is still checked by `fault`. */
  readonly parse?: (text: string, previous: unknown) => unknown;
  /** What a value must be, where it is not; null where it is good. */
  readonly fault: (value: unknown) => string | null;
}

/** One row per setting: the command line, the environment and the checks are all made from it. */
export const SETTINGS: readonly Setting[] = [
  {
    name: 'port',
    flags: '-p, --port <number>',
    environment: 'LECTERN_PORT',
    group: 'Listening',
    default: 3000,
    description: 'TCP port; 0 takes any free one',
    parse: (text) => (/^\d+$/.test(text) ? Number(text) : text),
    fault: (value) =>
      Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 65_535
        ? null
        : 'it must be a whole number from 0 to 65535',
  },
  {
    name: 'host',
    flags: '--host <address>',
    environment: 'LECTERN_HOST',
    group: 'Listening',
    default: '127.0.0.1',
    description: 'address to listen on; 0.0.0.0 is reachable from other machines',
    fault: (value) =>
      typeof value === 'string' && (isIP(value) !== 0 || /^[A-Za-z0-9._-]+$/.test(value))
        ? null
        : 'it must be an IP address or a host name',
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
    name: 'hs256Secret',
    flags: null,
    environment: 'LECTERN_HS256_SECRET',
    group: 'Tokens',
    description: 'secret of HS256 tokens, at least 32 bytes',
    fault: text,
  },
  {
    name: 'hs256SecretFile',
    flags: '--hs256-secret-file <file>',
    environment: 'LECTERN_HS256_SECRET_FILE',
    group: 'Tokens',
    description: 'file with the secret of HS256 tokens, at least 32 bytes',
    fault: text,
  },
  {
    name: 'jwksFile',
    flags: '--jwks <file>',
    environment: 'LECTERN_JWKS',
    group: 'Tokens',
    description: 'JSON Web Key Set with the public keys that sign tokens',
    fault: text,
  },
  {
    name: 'issuer',
    flags: '--issuer <iss>',
    environment: 'LECTERN_ISSUER',
    group: 'Tokens',
    description: 'accept only tokens of this issuer',
    fault: text,
  },
  {
    name: 'audience',
    flags: '--audience <aud>',
    environment: 'LECTERN_AUDIENCE',
    group: 'Tokens',
    description: 'accept only tokens for this audience',
    fault: text,
  },
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
        : `it must be field=claim, with one of the fields ${INDEXED_FIELDS.map((f) => f.name).join(', ')}`,
  },
  {
    name: 'enrolmentsFile',
    flags: '--enrolments <file>',
    environment: 'LECTERN_ENROLMENTS',
    group: 'Users',
    description: 'JSON file of what users are enrolled in: {"sub": {"studyGroup": ["…"]}}',
    fault: text,
  },
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
type DefaultedName = 'port' | 'host' | 'basePath' | 'mode' | 'identifiers' | 'unknownParameters';

/**
 * Checks options and fills in defaults. Files are not opened here.
 *
 * @throws LecternError `option-invalid` for the first that is wrong; the value of a secret is never repeated
 */
export function resolveOptions(options: ServiceOptions): ResolvedOptions {
  for (const setting of SETTINGS) {
    const value = (options as Partial<Record<SettingName, unknown>>)[setting.name];
    const fault = value === undefined ? null : setting.fault(value);
    if (fault !== null)
      throw new LecternError(
        'option-invalid',
        `option ${setting.name} (${setting.environment}) is invalid: ${fault}`,
      );
  }
  if (options.hs256Secret !== undefined && options.hs256SecretFile !== undefined) {
    throw new LecternError('option-invalid', 'the HS256 secret is given twice: as itself, and as a file');
  }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const resolved = { ...DEFAULTS, ...given } as ResolvedOptions;
  return { ...resolved, basePath: resolved.basePath.replace(/\/$/, '') };
}

const DEFAULTS: Readonly<Record<string, unknown>> = Object.fromEntries(
  SETTINGS.flatMap((setting) => (setting.default === undefined ? [] : [[setting.name, setting.default]])),
);

function isBasePath(path: string): boolean {
  // The router takes ":" and "*" for patterns, and clients resolve "." and ".." away.
  return /^(?:\/[A-Za-z0-9._~-]+)+\/?$/.test(path) && !/\/\.{1,2}(?:\/|$)/.test(path);
}

function oneOf(choices: readonly string[]): Pick<Setting, 'choices' | 'fault'> {
  return {
    choices,
    fault: (value) =>
      choices.some((choice) => choice === value) ? null : `it must be ${choices.join(' or ')}`,
  };
}

/** Empty is never meant: an empty LECTERN_ISSUER that passed for "not given" would switch a check off. */
function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? null : 'it must not be empty';
}

/** Adds `studyGroup=groups,groupId=gid` to what was given before; null where it is no such thing. */
function parseClaims(
  argument: string,
  previous: unknown,
): Readonly<Record<string, readonly string[]>> | null {
  const claims: Record<string, readonly string[]> = {
    ...(previous as Record<string, readonly string[]> | undefined),
  };
  for (const part of argument.split(',')) {
    const equals = part.indexOf('=');
    const field = part.slice(0, Math.max(0, equals)).trim();
    const claim = part.slice(equals + 1).trim();
    if (claim === '' || !INDEXED_FIELDS.some((f) => f.name === field)) return null;
    claims[field] = [...(claims[field] ?? []), claim];
  }
  return claims;
}
