import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import type { PostgresSpec } from '../../../src/source/postgres/postgres-address.js';
import { until } from '../../waiting/until.js';
import { collect, sourceOf } from '../collect.js';
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
    const { records } = await collect(sourceOf({ kind: 'postgres', url, query, ...more }), {
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

  await t.test('a login is bound to the certificate, or refused', async (t) => {
    await server.sql("ALTER ROLE postgres PASSWORD 'word'; CREATE ROLE old LOGIN");
    await server.sql("SET password_encryption = md5; ALTER ROLE old PASSWORD 'word'");
    const method = async (name: string): Promise<void> => {
      // A new connection has the time at which the server read its files.
      const loadedAt = async (): Promise<string | undefined> =>
        (await server.sql<{ at: string }>('SELECT pg_conf_load_time()::text AS at'))[0]?.at;
      const before = await loadedAt();
      writeFileSync(join(server.folder, 'pg_hba.conf'), `local all all trust\nhost all all all ${name}\n`);
      await server.sql('SELECT pg_reload_conf()');
      await until(loadedAt, (at) => at !== before);
    };
    const bound = 'sslmode=require&channel_binding=require&password=word';
    await method('scram-sha-256');
    t.strictSame(await ask('127.0.0.1', bound), encrypted, 'the parameters that a provider gives');
    t.strictSame(await ask('127.0.0.1', bound.replace('sslmode=require&', '')), encrypted);
    t.strictSame(await ask('127.0.0.1', 'channel_binding=prefer&password=word'), encrypted);
    const refused = /channel_binding=require needs TLS and a login with SCRAM-SHA-256/;
    for (const name of ['trust', 'password', 'md5']) {
      await method(name);
      const user = name === 'md5' ? '&user=old' : '';
      await fails(t, '127.0.0.1', `${bound}${user}`, refused);
      t.match(await ask('127.0.0.1', `sslmode=require&password=word${user}`), { ssl: true }, name);
    }
    await method('trust');
  });

  await t.test('versions of TLS and a list of revoked certificates are honoured', async (t) => {
    const version = 'SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
    const most = await ask('127.0.0.1', 'sslmode=require&ssl_max_protocol_version=TLSv1.2', {
      query: version,
    });
    t.strictSame(most, { version: 'TLSv1.2' });
    const least = await ask('127.0.0.1', 'sslmode=require&ssl_min_protocol_version=TLSv1.3', {
      query: version,
    });
    t.strictSame(least, { version: 'TLSv1.3' });
    await fails(
      t,
      'localhost',
      `sslmode=verify-full&sslrootcert=${cert}&sslcrl=/absent.crl`,
      /the certificate file \/absent\.crl cannot be read/,
    );
    const locked = join(server.folder, 'locked.key');
    const argv = ['ec', '-in', other.key, '-aes256', '-passout', 'pass:the word', '-out', locked];
    execFileSync('openssl', argv, { stdio: 'ignore' });
    const own = `sslmode=require&sslcert=${other.cert}&sslkey=${locked}`;
    t.match(await ask('127.0.0.1', `${own}&sslpassword=the%20word`), { client_dn: '/CN=other' });
    const refused = (await ask('127.0.0.1', `${own}&sslpassword=wrong%20word`).catch(
      (error) => error,
    )) as Error;
    t.match(refused.message, /^cannot read /);
    t.notMatch(refused.message, /wrong word/);
  });
});

test('with sslnegotiation=direct, TLS begins at once', { skip: noServer }, async (t) => {
  const first: number[] = [];
  const listener = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (data) => {
      first.push(data[0] as number);
      socket.destroy();
    });
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.teardown(() => listener.close());
  const { port } = listener.address() as AddressInfo;
  for (const negotiation of ['postgres', 'direct']) {
    const url = `postgres://u@127.0.0.1:${port}/x?sslmode=require&sslnegotiation=${negotiation}`;
    await t.rejects(collect(sourceOf({ kind: 'postgres', url, query: 'SELECT 1' })));
  }
  t.strictSame(first, [0, 0x16], 'a request for TLS, and a handshake');
});
