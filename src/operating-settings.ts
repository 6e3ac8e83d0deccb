import { originFault } from './http/answer-fields.js';
import { CORS_ORIGINS_MAX } from './limits.js';
import { amount, host, hostNames, PORT, type Setting, text } from './setting.js';

/** What those who operate the service want to see and to do, and which pages may use it. */
export const OPERATING_SETTINGS: readonly Setting[] = [
  {
    name: 'corsOrigins',
    flags: '--cors-origin <origin>',
    environment: 'LECTERN_CORS_ORIGIN',
    group: 'Operating',
    description:
      'origin of web pages that may read the timetable, such as https://app.example.org; repeatable, or with commas',
    parse: list,
    fault: origins,
  },
  {
    name: 'adminPort',
    flags: '--admin-port <number>',
    environment: 'LECTERN_ADMIN_PORT',
    group: 'Operating',
    description: 'port for /live, /ready, /metrics and /refresh; where it is left out there is none',
    ...PORT,
  },
  {
    name: 'adminHost',
    flags: '--admin-host <address>',
    environment: 'LECTERN_ADMIN_HOST',
    group: 'Operating',
    default: '127.0.0.1',
    description: 'address that it listens on',
    fault: host,
  },
  {
    name: 'adminAllowedHosts',
    flags: '--admin-allowed-host <name>',
    environment: 'LECTERN_ADMIN_ALLOWED_HOST',
    group: 'Operating',
    description:
      'host name by which it may be asked, besides IP addresses, localhost and --admin-host; repeatable, or with commas',
    parse: list,
    fault: hostNames,
  },
  {
    name: 'adminTokenFile',
    flags: '--admin-token-file <file>',
    environment: 'LECTERN_ADMIN_TOKEN_FILE',
    group: 'Operating',
    description:
      'file with the token of POST /refresh, at least 22 characters; without it there is no /refresh',
    fault: text,
  },
  {
    name: 'accessLog',
    flags: '--access-log <share>',
    environment: 'LECTERN_ACCESS_LOG',
    group: 'Operating',
    default: 0,
    description: 'share of the requests that are logged, 0 to 1, at level info',
    ...amount(0, 1),
  },
];

/** Given several times, or with commas. */
function list(given: string, previous: unknown): readonly string[] {
  return [
    ...((previous as readonly string[] | undefined) ?? []),
    ...given.split(',').map((each) => each.trim()),
  ];
}

function origins(value: unknown): string | null {
  if (!Array.isArray(value) || value.length === 0) return 'it must be a list of origins';
  if (value.length > CORS_ORIGINS_MAX) return `it must be at most ${CORS_ORIGINS_MAX} origins`;
  for (const each of value as unknown[]) {
    const fault = typeof each === 'string' ? originFault(each) : 'it must be a list of origins';
    if (fault !== null) return fault;
  }
  return null;
}
