import { LecternError } from '../../errors.js';
import { suggest } from '../../model/suggest.js';

/** The supported parameters of libpq, with the environment variables for missing parameters. */
export const PARAMETERS = {
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

export type ParameterName = keyof typeof PARAMETERS;

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

export function parametersOf(query: string): Map<ParameterName, string> {
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

export function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidAddress('its percent-encoding is broken');
  }
}

export function invalidAddress(problem: string): LecternError {
  return new LecternError('option-invalid', `the PostgreSQL address of the source is not valid: ${problem}`);
}
