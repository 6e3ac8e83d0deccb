/** The logins at which a false server gets the password: the table of docs/security.md, row by row. */
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { test } from 'tap';
import { Database } from '../../../src/source/postgres/database.js';
import { parsePostgresAddress } from '../../../src/source/postgres/postgres-address.js';
import { int32, message } from './false-server.js';

const PASSWORD = 'a-word-that-nobody-may-learn';
const SSL_REQUEST = 80_877_103;
const CLEARTEXT = message('R', int32(3));
const skip =
  spawnSync('openssl', ['version']).status !== 0 && 'openssl is not installed (apt-get install openssl)';

/** A server that accepts or refuses TLS, then asks for the password in clear and records the answer. */
async function startThief(
  teardown: (end: () => unknown) => unknown,
  tls: { readonly cert: string; readonly key: string } | null,
): Promise<{ readonly port: number; readonly got: () => string }> {
  let got = '';
  const askForPassword = (socket: Socket): void => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(CLEARTEXT);
      socket.on('data', (bytes: Buffer) => {
        got += bytes.toString('latin1');
        socket.destroy();
      });
    });
  };
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (first: Buffer) => {
      const isRequest = first.length === 8 && first.readInt32BE(4) === SSL_REQUEST;
      if (!isRequest) {
        askForPassword(socket);
        socket.emit('data', first);
        return;
      }
      socket.write(tls === null ? 'N' : 'S');
      askForPassword(tls === null ? socket : new TLSSocket(socket, { isServer: true, ...tls }));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  teardown(() => server.close());
  return { port: (server.address() as AddressInfo).port, got: () => got };
}

test('a false server gets the password in clear, unless the login prevents it', { skip }, async (t) => {
  const folder = t.testdir({});
  const make = (name: string): { readonly cert: string; readonly key: string } => {
    const [cert, key] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    const about = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
    const files = ['-out', cert, '-keyout', key];
    execFileSync('openssl', ['req', '-x509', ...curve, ...about, ...files], { stdio: 'ignore' });
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  };
  make('localhost');
  const false_ = make('false');
  const root = encodeURIComponent(join(folder, 'localhost.crt'));
  // This authority signed the certificate of the false server, for another name.
  const fooled = encodeURIComponent(join(folder, 'false.crt'));
  for (const [parameters, withTls, withoutTls] of [
    ['sslmode=disable', true, true],
    ['sslmode=allow', true, true],
    ['', true, true],
    ['sslmode=require', true, false],
    [`sslmode=verify-ca&sslrootcert=${root}`, false, false],
    [`sslmode=verify-ca&sslrootcert=${fooled}`, true, false],
    [`sslmode=verify-full&sslrootcert=${fooled}`, false, false],
    ['sslrootcert=system', false, false],
    ['channel_binding=require', false, false],
    ['channel_binding=require&sslmode=require', false, false],
  ] as const) {
    for (const tls of [false_, null]) {
      const thief = await startThief((end) => t.teardown(end), tls);
      const url = `postgres://u:${PASSWORD}@localhost:${thief.port}/x?${parameters}`;
      const opened = Database.open(parsePostgresAddress(url, {}), { name: 'x', answerMsMax: 20_000 });
      await t.rejects(opened, parameters);
      const isTold = thief.got().includes(PASSWORD);
      t.equal(isTold, tls === null ? withoutTls : withTls, `${parameters} ${tls ? 'with' : 'without'} TLS`);
    }
  }
});
