import { userInfo } from 'node:os';
import { LecternError } from '../../base/errors.js';
import { shortDigest } from '../../base/model/derived-identifier.js';
import { suggest } from '../../base/model/suggest.js';

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
const BINDINGS = ['disable', 'prefer', 'require'] as const;
const NEGOTIATIONS = ['postgres', 'direct'] as const;
const TLS_VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const;
const SESSIONS = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const;

export interface PostgresHost {
  /** A name, an IP address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
}

/** Address and login of a database, from a URI and the environment. */
export interface PostgresAddress {
  /** The hosts, which are tried in order. */
  readonly hosts: readonly PostgresHost[];
  readonly database: string;
  readonly user: string;
  /** The password from the URI or PGPASSWORD; null if only a password file may have it. */
  readonly password: string | null;
  readonly passfile: string | null;
  readonly sslmode: (typeof SSL_MODES)[number];
  readonly sslrootcert: string | null;
  readonly sslcert: string | null;
  readonly sslkey: string | null;
  readonly sslpassword: string | null;
  readonly sslcrl: string | null;
  readonly sslnegotiation: (typeof NEGOTIATIONS)[number];
  readonly tlsMin: (typeof TLS_VERSIONS)[number] | null;
  readonly tlsMax: (typeof TLS_VERSIONS)[number] | null;
  /** Whether the login must be bound to the server's certificate (SCRAM-SHA-256-PLUS). */
  readonly bindsChannel: boolean;
  /** Milliseconds for one host; null if a host has no limit of its own. */
  readonly connectMsMax: number | null;
  readonly applicationName: string;
  readonly options: string | null;
  readonly sessions: (typeof SESSIONS)[number];
  /** The address for messages, without password and parameters. */
  readonly shown: string;
  /** 22 base64url characters, equal for equal servers and databases. */
  readonly digest: string;
}

const URI = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^/?#]*))?(?:\?([^#]*))?$/i;
const PORT_DEFAULT = 5432;

export function isPostgresAddress(text: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(text);
}

/** The text of a source without its password; other texts are unchanged. */
export function hidePassword(text: string): string {
  if (!isPostgresAddress(text)) return text;
  return text
    .replace(/^(postgres(?:ql)?:\/\/[^:@/?#]*):[^/?#]*@/i, '$1@')
    .replace(/([?&])(?:ssl)?password=[^&]*(?:&(?:ssl)?password=[^&]*)*&?/gi, '$1')
    .replace(/[?&]$/, '');
}

/**
 * Reads `postgres://user@host:port/database?parameters` as libpq does. Missing parts come from the
 * environment.
 *
 * @throws LecternError `option-invalidAddress`; the message shows no value that may be a password
 */
export function parsePostgresAddress(
  text: string,
  environment: NodeJS.ProcessEnv = process.env,
): PostgresAddress {
  const [whole, login = '', authority = '', path = '', query = ''] = URI.exec(text) ?? [];
  if (whole === undefined) {
    throw invalidAddress(
      'it cannot be parsed; expected postgres://user@host:5432/database, with @ : / ? # in names as %40 and so on',
    );
  }
  const given = parametersOf(query);
  const colon = login.indexOf(':');
  put(given, 'user', decodePart(colon === -1 ? login : login.slice(0, colon)));
  if (colon !== -1) put(given, 'password', decodePart(login.slice(colon + 1)));
  put(given, 'dbname', decodePart(path));
  const places = authority === '' ? [] : authority.split(',').map(placeOf);
  put(given, 'host', places.map(({ host }) => host).join());
  if (places.some(({ port }) => port !== '')) put(given, 'port', places.map(({ port }) => port).join());

  const parameter = (name: ParameterName): string | null =>
    given.get(name) || environment[PARAMETERS[name]] || null;
  const oneOf = <Choice extends string>(
    name: ParameterName,
    choices: readonly Choice[],
    usual: Choice,
  ): Choice => {
    const value = parameter(name) ?? usual;
    if ((choices as readonly string[]).includes(value)) return value as Choice;
    throw invalidAddress(`${name} is ${JSON.stringify(value)}; expected one of ${choices.join(', ')}`);
  };
  const optional = <Choice extends string>(name: ParameterName, choices: readonly Choice[]): Choice | null =>
    parameter(name) === null ? null : oneOf(name, choices, choices[0] as Choice);
  const sslrootcert = parameter('sslrootcert');
  const sslmode = oneOf('sslmode', SSL_MODES, sslrootcert === 'system' ? 'verify-full' : 'prefer');
  if (sslrootcert === 'system' && sslmode !== 'verify-full')
    throw invalidAddress(`sslrootcert=system needs sslmode=verify-full, and sslmode is ${sslmode}`);
  const sslnegotiation = oneOf('sslnegotiation', NEGOTIATIONS, 'postgres');
  if (sslnegotiation === 'direct' && ['disable', 'allow', 'prefer'].includes(sslmode))
    throw invalidAddress(
      `sslnegotiation=direct needs sslmode=require or stricter, and sslmode is ${sslmode}`,
    );
  // `prefer` is read as `disable`, because it promises nothing.
  const bindsChannel = oneOf('channel_binding', BINDINGS, 'prefer') === 'require';
  if (bindsChannel && sslmode === 'disable')
    throw invalidAddress('channel_binding=require needs TLS, and sslmode is disable');
  const user = parameter('user') ?? userInfo().username;
  const database = parameter('dbname') ?? user;
  const hosts = hostsOf(parameter('host') ?? 'localhost', parameter('port') ?? '');
  const where = `${hosts.map(showHost).join()}/${database}`;
  const timeout = parameter('connect_timeout') ?? '0';
  if (!/^\d{1,6}$/.test(timeout)) throw invalidAddress('connect_timeout must be a whole number of seconds');
  return {
    hosts,
    database,
    user,
    password: parameter('password'),
    passfile: parameter('passfile'),
    sslmode,
    sslrootcert,
    sslcert: parameter('sslcert'),
    sslkey: parameter('sslkey'),
    sslpassword: parameter('sslpassword'),
    sslcrl: parameter('sslcrl'),
    sslnegotiation,
    tlsMin: optional('ssl_min_protocol_version', TLS_VERSIONS),
    tlsMax: optional('ssl_max_protocol_version', TLS_VERSIONS),
    bindsChannel,
    connectMsMax: Number(timeout) === 0 ? null : Number(timeout) * 1000,
    applicationName: parameter('application_name') ?? 'lectern',
    options: parameter('options'),
    sessions: oneOf('target_session_attrs', SESSIONS, 'any'),
    shown: `postgres://${user}@${where}`,
    digest: shortDigest(where),
  };
}

/** Sets a part of the address, unless a parameter has set it: parameters override the other parts, as in libpq. */
function put(given: Map<ParameterName, string>, name: ParameterName, value: string): void {
  if (value !== '' && !given.has(name)) given.set(name, value);
}

function placeOf(text: string): { readonly host: string; readonly port: string } {
  const [whole, six, host = '', port = ''] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d*))?$/.exec(text) ?? [];
  if (whole === undefined) {
    throw invalidAddress('its host cannot be parsed; expected a name or an IP address, IPv6 in brackets');
  }
  return { host: six ?? decodePart(host), port };
}

function hostsOf(hosts: string, ports: string): readonly PostgresHost[] {
  const names = hosts.split(',');
  const numbers = ports.split(',');
  if (numbers.length > 1 && numbers.length !== names.length) {
    throw invalidAddress(
      `it has ${names.length} hosts and ${numbers.length} ports; expected one port, or one for each host`,
    );
  }
  return names.map((host, n) => {
    const text = numbers[numbers.length === 1 ? 0 : n] || String(PORT_DEFAULT);
    const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (port < 1 || port > 65_535) throw invalidAddress('its port must be a whole number from 1 to 65535');
    return { host: host || 'localhost', port };
  });
}

export function showHost({ host, port }: PostgresHost): string {
  if (host.startsWith('/')) return `${host}:${port}`;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The supported parameters of libpq, with the environment variables for missing parameters. */
const PARAMETERS = {
  host: 'PGHOST',
  port: 'PGPORT',
  dbname: 'PGDATABASE',
  user: 'PGUSER',
  password: 'PGPASSWORD',
  passfile: 'PGPASSFILE',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  // libpq has no variable for `sslpassword`.
  sslpassword: '',
  sslcrl: 'PGSSLCRL',
  sslnegotiation: 'PGSSLNEGOTIATION',
  ssl_min_protocol_version: 'PGSSLMINPROTOCOLVERSION',
  ssl_max_protocol_version: 'PGSSLMAXPROTOCOLVERSION',
  channel_binding: 'PGCHANNELBINDING',
  connect_timeout: 'PGCONNECT_TIMEOUT',
  application_name: 'PGAPPNAME',
  options: 'PGOPTIONS',
  target_session_attrs: 'PGTARGETSESSIONATTRS',
} as const;

type ParameterName = keyof typeof PARAMETERS;

/** Parameters without an effect: the accepted values, which change nothing, and advice for other values. */
const WITHOUT_EFFECT: Readonly<Record<string, readonly [values: readonly string[], advice: string]>> = {
  client_encoding: [['UTF8', 'utf8', 'UTF-8', 'auto'], 'remove it: texts are always read as UTF-8'],
  gssencmode: [['disable', 'prefer'], 'GSSAPI is not supported; remove it and encrypt with sslmode'],
  hostaddr: [[], 'give the address as host'],
  keepalives: [['1'], 'remove it: keepalives are always on'],
  load_balance_hosts: [['disable'], 'remove it: hosts are tried in order'],
  require_auth: [[], 'remove it; channel_binding=require protects the password'],
  service: [[], 'write its parameters into the address'],
  sslcertmode: [['allow'], 'remove it: a certificate is sent if there is one'],
  sslcompression: [['0'], 'remove it: TLS is never compressed'],
  sslcrldir: [[], 'give one file as sslcrl'],
  sslsni: [['1'], 'remove it: the name of the host is always sent'],
};

function parametersOf(query: string): Map<ParameterName, string> {
  const given = new Map<ParameterName, string>();
  for (const part of query.split('&').filter((each) => each !== '')) {
    const equals = part.indexOf('=');
    const name = decodePart(equals === -1 ? part : part.slice(0, equals));
    const value = equals === -1 ? '' : decodePart(part.slice(equals + 1));
    if (Object.hasOwn(PARAMETERS, name)) given.set(name as ParameterName, value);
    else checkUnsupported(name, value);
  }
  return given;
}

function checkUnsupported(name: string, value: string): void {
  if (Object.hasOwn(WITHOUT_EFFECT, name)) {
    const [values, advice] = WITHOUT_EFFECT[name] as (typeof WITHOUT_EFFECT)[string];
    if (value === '' || values.includes(value)) return;
    throw invalidAddress(`${name} cannot be used: ${advice}`);
  }
  const names = Object.keys(PARAMETERS);
  const near = suggest(name, names);
  const hint = near === null ? `the known parameters are ${names.join(', ')}` : `did you mean ${near}?`;
  // A name unlike all known names may be a piece of a password.
  throw invalidAddress(
    `${near === null ? 'one of its parameters' : JSON.stringify(name)} is not known: ${hint}`,
  );
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidAddress('its percent-encoding is broken');
  }
}

function invalidAddress(problem: string): LecternError {
  return new LecternError('option-invalid', `the PostgreSQL address of the source is not valid: ${problem}`);
}

/** The data to read: a table or view, or a statement. */
export interface RowsSpec {
  /** A table or view, as named in SQL: `events`, `school.events`, `"Events"`. */
  readonly table?: string | undefined;
  /** A SELECT to use instead of a table. */
  readonly query?: string | undefined;
}

/** How a database is read. */
export interface PostgresOptions extends RowsSpec {
  /** A cheap SELECT. While its rows are the same, the data counts as unchanged. Default: each load reads all. */
  readonly versionQuery?: string | undefined;
  /** Follow the table, or the tables of the query, by logical replication. Default false. */
  readonly follow?: boolean | undefined;
  /** Tables that functions of a followed query read. A change of one of them causes a read of all rows. Default none. */
  readonly followTables?: readonly string[] | undefined;
}

/** A PostgreSQL database as a source: a table or view, or a SELECT. */
export interface PostgresSpec extends PostgresOptions {
  /** Identifies this kind of source. */
  readonly kind: 'postgres';
  /** `postgres://user@host:5432/database`, with parameters of libpq. Missing parts come from the PG* variables. */
  readonly url: string;
  /** A snapshot, exported by another connection, to read in. Default: a new snapshot. */
  readonly snapshot?: string | undefined;
  /** Longest time until a statement has an answer, connecting included. Default UPSTREAM_HEADERS_MS_MAX. */
  readonly headersMsMax?: number | undefined;
  /** Longest time between two pieces of an answer. Default UPSTREAM_IDLE_MS_MAX. */
  readonly idleMsMax?: number | undefined;
  /** Longest time of the whole load. Default UPSTREAM_TOTAL_MS_MAX. */
  readonly totalMsMax?: number | undefined;
}

/** Fault messages with their conditions. `{name}` is an option; the command line shows its flag instead. */
export const POSTGRES_RULES: Readonly<Record<string, (rows: RowsSpec) => boolean>> = {
  'a PostgreSQL source needs {table} or {query}': ({ table, query }) =>
    table === undefined && query === undefined,
  '{table} and {query} are both given; expected one of the two': ({ table, query }) =>
    table !== undefined && query !== undefined,
};

/** Makes all checks that are possible without the database. Throws LecternError `option-invalid`. */
export function checkPostgresSpec(spec: PostgresSpec): PostgresAddress {
  const address = parsePostgresAddress(spec.url);
  const { table, query } = spec;
  for (const [problem, isBroken] of Object.entries(POSTGRES_RULES)) {
    if (isBroken(spec)) throw invalid(problem.replaceAll(/[{}]/g, ''));
  }
  for (const [name, text] of Object.entries({
    table,
    query,
    'version query': spec.versionQuery,
  })) {
    if (text !== undefined && (typeof text !== 'string' || text.trim() === ''))
      throw invalid(`the ${name} is empty`);
  }
  return address;
}

function invalid(problem: string): LecternError {
  return new LecternError('option-invalid', `the PostgreSQL source is not valid: ${problem}`);
}

/** The name of the source, for messages. */
export function postgresName({ shown }: PostgresAddress, { table }: RowsSpec): string {
  return `${shown} (${table ?? 'query'})`;
}

/** An id that is equal for equal sources. */
export function postgresId({ digest }: PostgresAddress, { table, query }: RowsSpec): string {
  return `postgres ${digest} ${table === undefined ? `query ${query}` : `table ${table}`}`;
}

/** A load of a followed table or query. */
export type FollowedLoad =
  | { readonly notModified: true }
  /** The changes since the served version: rows as chunks of NDJSON with the ids of their events, and ids of removed rows. */
  | {
      readonly chunks: readonly Uint8Array<ArrayBuffer>[];
      readonly ids: readonly (string | number)[];
      readonly removals: readonly (string | number)[];
      readonly version: string;
    }
  /**
   * All rows, to be read in an exported snapshot, which is kept until `end` is called. `end` rejects if the table was
   * altered meanwhile.
   */
  | { readonly whole: PostgresSpec; readonly version: string | null; end(isGood: boolean): Promise<void> };
