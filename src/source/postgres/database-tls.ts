import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { readTextFile } from '../../files/text-file.js';
import { DATABASE_FILE_BYTES_MAX } from '../../limits.js';
import type { PostgresAddress } from './postgres-address.js';

/** The kinds of connection that `sslmode` allows, in libpq's order. */
export async function tlsWays(address: PostgresAddress): Promise<readonly (false | ConnectionOptions)[]> {
  const { sslmode, sslrootcert, bindsChannel } = address;
  if (sslmode === 'disable') return [false];
  const own = { ...(await ownCertificate(address)), ...versionsOf(address) };
  if (sslmode === 'allow' || sslmode === 'prefer') {
    const unchecked = { ...own, rejectUnauthorized: false };
    if (bindsChannel) return [unchecked];
    return sslmode === 'allow' ? [false, unchecked] : [unchecked, false];
  }
  const usual = join(homedir(), '.postgresql', 'root.crt');
  const path = sslrootcert ?? (existsSync(usual) ? usual : null);
  // As in libpq, `require` checks the certificate of the server if there is a root certificate.
  if (sslmode === 'require' && path === null) return [{ ...own, rejectUnauthorized: false }];
  const ca = path === null || path === 'system' ? {} : { ca: await readCertificate(path) };
  const crl = address.sslcrl === null ? {} : { crl: await readCertificate(address.sslcrl) };
  // `require` and `verify-ca` ignore the names in the certificate.
  const anyName = { checkServerIdentity: () => undefined };
  return [
    {
      ...own,
      ...ca,
      ...crl,
      rejectUnauthorized: true,
      ...(sslmode === 'verify-full' || path === 'system' ? {} : anyName),
    },
  ];
}

function versionsOf({ tlsMin, tlsMax }: PostgresAddress): ConnectionOptions {
  return {
    ...(tlsMin === null ? {} : { minVersion: tlsMin }),
    ...(tlsMax === null ? {} : { maxVersion: tlsMax }),
  };
}

async function ownCertificate({ sslcert, sslkey, sslpassword }: PostgresAddress): Promise<ConnectionOptions> {
  const folder = join(homedir(), '.postgresql');
  const cert = sslcert ?? join(folder, 'postgresql.crt');
  const key = sslkey ?? join(folder, 'postgresql.key');
  if (sslcert === null && sslkey === null && !(existsSync(cert) && existsSync(key))) return {};
  const passphrase = sslpassword === null ? {} : { passphrase: sslpassword };
  return { cert: await readCertificate(cert), key: await readCertificate(key), ...passphrase };
}

function readCertificate(path: string): Promise<string> {
  const name = `the certificate file ${path}`;
  return readTextFile(path, { name, bytesMax: DATABASE_FILE_BYTES_MAX, code: 'source-unreadable' });
}
