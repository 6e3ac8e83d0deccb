import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { postgresSource } from '../../../src/source/postgres/postgres.js';
import type { PostgresSpec } from '../../../src/source/postgres/postgres-spec.js';
import { collect } from '../collect.js';
import { skip as noServer, startServer } from './server.js';

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
const skip = noServer || (!hasOpenssl && 'openssl is not installed (apt-get install openssl)');

/** A self-signed certificate for the name localhost. */
function makeCertificate(folder: string, name: string): { readonly cert: string; readonly key: string } {
  const [cert, key] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  const args = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
  ];
  execFileSync('openssl', [...args, ...subject, '-out', cert, '-keyout', key], { stdio: 'ignore' });
  return { cert, key };
}

test('TLS follows sslmode', { skip }, async (t) => {
  const server = await startServer((end) => t.teardown(end));
  const { cert, key } = makeCertificate(server.folder, 'localhost');
  const { uid, gid } = statSync(server.folder);
  const other = makeCertificate(server.folder, 'other');
  for (const path of [cert, key, other.cert]) chownSync(path, uid, gid);
  chmodSync(key, 0o600);
  await server.stop('fast');
  server.set(`ssl = on\nssl_cert_file = '${cert}'\nssl_key_file = '${key}'\nssl_ca_file = '${other.cert}'`);
  await server.start();
  const query = 'SELECT ssl, client_dn FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
  const ask = async (host: string, parameters: string, more: Partial<PostgresSpec> = {}) => {
    const url = `postgres://postgres@${host}:${server.port}/postgres?${parameters}`;
    const { records } = await collect(postgresSource({ kind: 'postgres', url, query, ...more }), {
      onRecord: () => true,
    });
    return records[0]?.value;
  };
  const encrypted = { ssl: true, client_dn: null };
  const fails = (t: Test, host: string, parameters: string, message: RegExp) =>
    t.rejects(ask(host, parameters), { message });

  t.strictSame(await ask('127.0.0.1', 'sslmode=disable'), { ssl: false, client_dn: null });
  t.strictSame(await ask('127.0.0.1', 'sslmode=allow'), { ssl: false, client_dn: null });
  for (const mode of ['prefer', 'require'])
    t.strictSame(await ask('127.0.0.1', `sslmode=${mode}`), encrypted, mode);
  t.strictSame(
    await ask('127.0.0.1', `sslmode=verify-ca&sslrootcert=${cert}`),
    encrypted,
    'any name will do',
  );
  t.strictSame(await ask('localhost', `sslmode=verify-full&sslrootcert=${cert}`), encrypted);
  await fails(t, '127.0.0.1', `sslmode=verify-full&sslrootcert=${cert}`, /does not match certificate|IP/);
  await fails(t, 'localhost', 'sslmode=verify-full&sslrootcert=system', /self-signed certificate/);
  await fails(
    t,
    'localhost',
    `sslmode=verify-ca&sslrootcert=${other.cert}`,
    /self-signed certificate|unable to verify/,
  );
  await fails(
    t,
    'localhost',
    `sslmode=require&sslrootcert=${other.cert}`,
    /self-signed certificate|unable to verify/,
  );
  await fails(
    t,
    'localhost',
    'sslmode=verify-full&sslrootcert=/absent.pem',
    /the certificate file \/absent\.pem cannot be read: there is no such file/,
  );
  const own = await ask('127.0.0.1', `sslmode=require&sslcert=${other.cert}&sslkey=${other.key}`);
  t.match(own, { ssl: true, client_dn: '/CN=other' }, 'a certificate of the client');
});
