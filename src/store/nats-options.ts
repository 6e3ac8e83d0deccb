import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { Authenticator, NodeConnectionOptions } from '@nats-io/transport-node';
import { STORE_SILENT_MS_MAX } from '../limits.js';

/** The part of the client that turns files into credentials. */
interface Authenticators {
  credsAuthenticator(file: () => Uint8Array): Authenticator;
  nkeyAuthenticator(seed: () => Uint8Array): Authenticator;
}

/**
 * Credentials and certificates are those of the address, or of the variables that NATS' own tools read. Each
 * connection reads the files again.
 *
 * @throws Error if a file that one of these variables names cannot be used
 */
export function natsOptions(
  { protocol, hostname, username, password }: URL,
  servers: readonly string[],
  { credsAuthenticator, nkeyAuthenticator }: Authenticators,
): NodeConnectionOptions {
  const { NATS_USER, NATS_PASSWORD, NATS_TOKEN, NATS_CREDS, NATS_NKEY } = process.env;
  const user = decodeURIComponent(username) || NATS_USER;
  const pass = decodeURIComponent(password) || NATS_PASSWORD;
  const token = user && !pass ? user : NATS_TOKEN;
  const files = tlsFiles();
  // The client checks the certificate of an IP address against the name localhost, unless told the address,
  // and it takes only one address.
  const address = { host: hostname.replace(/^\[|\]$/g, '') };
  const isAddress = servers.length === 1 && isIP(address.host) !== 0;
  const isTls = protocol === 'tls:' || Object.keys(files).length > 0;
  return {
    servers: [...servers],
    name: 'lectern',
    timeout: STORE_SILENT_MS_MAX,
    reconnectTimeWait: 250,
    maxReconnectAttempts: -1,
    ...(user && pass ? { user, pass } : token ? { token } : {}),
    ...(NATS_NKEY ? { authenticator: nkeyAuthenticator(reading('NATS_NKEY', (text) => text.trim())) } : {}),
    ...(NATS_CREDS ? { authenticator: credsAuthenticator(reading('NATS_CREDS')) } : {}),
    ...(isTls ? { tls: { ...files, ...(isAddress ? address : {}) } } : {}),
  };
}

/** Reads a file for each connection. If the file cannot be read now, its last content is used. */
function reading(variable: string, clean = (text: string): string => text): () => Uint8Array {
  let last = fileOf(variable);
  return () => {
    try {
      last = fileOf(variable);
    } catch {
      // The server decides whether the last content is still good.
    }
    return Buffer.from(clean(last));
  };
}

/** The client reads these files for each connection. */
function tlsFiles(): { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string } {
  const { NATS_CA, NATS_CERT, NATS_KEY } = process.env;
  for (const name of ['NATS_CA', 'NATS_CERT']) if (process.env[name]) fileOf(name, 'CERTIFICATE');
  if (NATS_KEY) fileOf('NATS_KEY', 'PRIVATE KEY');
  return {
    ...(NATS_CA ? { caFile: NATS_CA } : {}),
    ...(NATS_CERT ? { certFile: NATS_CERT } : {}),
    ...(NATS_KEY ? { keyFile: NATS_KEY } : {}),
  };
}

/** @param pem content that the file must have; the client would silently ignore a file without it */
function fileOf(variable: string, pem?: string): string {
  const path = process.env[variable] ?? '';
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : 'it cannot be read';
    throw new Error(`the file ${path} of ${variable} cannot be read: ${code}`, { cause });
  }
  if (pem !== undefined && !text.includes(`${pem}-----`))
    throw new Error(`the file ${path} of ${variable} is not a ${pem.toLowerCase()} as PEM`);
  return text;
}

/** Meanings of the client's errors, for operators. No meaning names a secret. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [
    /authorization violation|authentication/i,
    'the server refused the credentials: check user and password, token, NATS_CREDS or NATS_NKEY',
  ],
  [
    /parse credentials|nkeys: |invalid (?:seed|prefix|checksum|encoding|public key)/i,
    'the file of NATS_CREDS or NATS_NKEY holds no credentials',
  ],
  [
    /self.signed|altnames|unable to (?:verify|get)|certificate has expired/i,
    'the certificate of the server is not trusted: NATS_CA must name the file of its authority, and the host of the address must be a name in the certificate',
  ],
  [/does not support 'tls'/i, 'the server has no TLS: use nats:// without NATS_CA, NATS_CERT and NATS_KEY'],
];

/** A clear sentence for an error of connecting. Other errors stay as they are. */
export function plainError(error: unknown): unknown {
  const text = error instanceof Error ? error.message : String(error);
  const meaning = MEANINGS.find(([pattern]) => pattern.test(text))?.[1];
  return meaning === undefined ? error : new Error(meaning, { cause: error });
}
