/** Credentials and certificates of NATS. Inside, because a store needs no publisher for them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nkeys } from '@nats-io/transport-node';
import { type Test, test } from 'tap';
import { openStore } from '../../src/store/open-store.js';
import { testFolder } from '../base/files/test-folder.js';
import { until } from '../waiting/until.js';
import { NATS_MISSING, type NatsServer, startNats } from './nats-server.js';

type NkeyPair = ReturnType<typeof nkeys.createUser>;

const options = { skip: NATS_MISSING };
const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

async function serverWith(
  t: Test,
  argv: (folder: string) => readonly string[],
): Promise<{ readonly server: NatsServer; readonly folder: string }> {
  const folder = testFolder(t);
  const server = await startNats(join(folder, 'nats'), argv(folder));
  t.teardown(() => server.stop());
  return { server, folder };
}

/** Writes and reads a record with these variables. Resolves to 'good', or to the error's message. */
async function attempt(t: Test, address: string, variables: Readonly<Record<string, string>> = {}) {
  Object.assign(process.env, variables);
  const store = await openStore(address, 'make');
  try {
    const before = await store.read('head');
    await store.swap('head', 'text', before?.revision ?? null);
    return 'good';
  } catch (error) {
    const { code, message } = error as { readonly code: string; readonly message: string };
    t.equal(code, 'store-unavailable');
    t.notMatch(message, /s3cret|wr0ng|t0ken/, 'no secret is told');
    return message;
  } finally {
    await store.close();
    for (const name of Object.keys(variables)) delete process.env[name];
  }
}

test('user and password', options, async (t) => {
  const { server, folder } = await serverWith(t, () => ['--user', 'ada', '--pass', 's3cret']);
  const host = `127.0.0.1:${server.port}/timetable`;
  const missing = join(folder, 'none');
  const nonsense = join(folder, 'nonsense');
  writeFileSync(nonsense, 's3cret nonsense');
  t.equal(await attempt(t, `nats://ada:s3cret@${host}`), 'good');
  t.equal(await attempt(t, `nats://${host}`, { NATS_USER: 'ada', NATS_PASSWORD: 's3cret' }), 'good');
  t.match(await attempt(t, `nats://ada:wr0ng@${host}`), /refused the credentials/);
  t.match(await attempt(t, `nats://${host}`), /refused the credentials/);
  t.match(
    await attempt(t, `nats://${host}`, { NATS_CREDS: missing }),
    /none of NATS_CREDS cannot be read: there is no such file/,
  );
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  t.match(
    await attempt(t, `nats://${host}`, { NATS_CREDS: pipe }),
    /cannot be read: it is not a regular file/,
  );
  t.match(await attempt(t, `nats://${host}`, { NATS_CREDS: nonsense }), /holds no credentials/);
  t.match(await attempt(t, `nats://${host}`, { NATS_NKEY: nonsense }), /holds no credentials/);
  t.match(await attempt(t, `tls://ada:s3cret@${host}`), /has no TLS/);
});

test('a token', options, async (t) => {
  const { server } = await serverWith(t, () => ['--auth', 't0ken']);
  const host = `127.0.0.1:${server.port}/timetable`;
  t.equal(await attempt(t, `nats://t0ken@${host}`), 'good');
  t.equal(await attempt(t, `nats://${host}`, { NATS_TOKEN: 't0ken' }), 'good');
  t.match(await attempt(t, `nats://wr0ng@${host}`), /refused the credentials/);
});

test('an nkey', options, async (t) => {
  const [user, stranger] = [nkeys.createUser(), nkeys.createUser()];
  const { server, folder } = await serverWith(t, (within) => {
    const config = join(within, 'server.conf');
    writeFileSync(config, `authorization { users = [{ nkey: ${user.getPublicKey()} }] }`);
    return ['-c', config];
  });
  const seeds = [user, stranger].map((pair, n) => {
    const path = join(folder, `${n}.nk`);
    writeFileSync(path, `${Buffer.from(pair.getSeed()).toString()}\n`);
    return path;
  });
  const address = server.address();
  t.equal(await attempt(t, address, { NATS_NKEY: seeds[0] ?? '' }), 'good');
  t.match(await attempt(t, address, { NATS_NKEY: seeds[1] ?? '' }), /refused the credentials/);
});

/** A JWT of NATS, version 2, signed by an operator or an account. */
function natsToken(issuer: NkeyPair, subject: NkeyPair, type: string, claims: object = {}): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const [iat, sub, iss] = [Math.floor(Date.now() / 1000), subject.getPublicKey(), issuer.getPublicKey()];
  const payload = { jti: `${type} ${sub}`, iat, iss, name: type, sub, nats: { ...claims, type, version: 2 } };
  const signed = `${encode({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encode(payload)}`;
  return `${signed}.${Buffer.from(issuer.sign(Buffer.from(signed))).toString('base64url')}`;
}

test('a file of credentials', options, async (t) => {
  const operator = nkeys.createOperator();
  const [account, system, user] = [nkeys.createAccount(), nkeys.createAccount(), nkeys.createUser()];
  const limits = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, conn: -1, leaf: -1 };
  const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1, wildcards: true };
  const { server, folder } = await serverWith(t, (within) => {
    const accounts = [account, system].map((each) => {
      const claims = { limits: each === account ? { ...limits, ...storage } : limits };
      return `${each.getPublicKey()}: ${natsToken(operator, each, 'account', claims)}`;
    });
    const config = join(within, 'server.conf');
    const lines = [
      `operator: ${natsToken(operator, operator, 'operator')}`,
      `system_account: ${system.getPublicKey()}`,
      'resolver: MEMORY',
      `resolver_preload: {\n${accounts.join('\n')}\n}`,
    ];
    writeFileSync(config, lines.join('\n'));
    return ['-c', config];
  });
  const credentials = (name: string, signer: NkeyPair, pair: NkeyPair): string => {
    const path = join(folder, `${name}.creds`);
    const part = (title: string, text: string): string =>
      `-----BEGIN ${title}-----\n${text}\n------END ${title}------\n\n`;
    const token = natsToken(signer, pair, 'user', { subs: -1, data: -1, payload: -1 });
    const seed = Buffer.from(pair.getSeed()).toString();
    writeFileSync(path, part('NATS USER JWT', token) + part('USER NKEY SEED', seed));
    return path;
  };
  const address = server.address();
  t.equal(await attempt(t, address, { NATS_CREDS: credentials('good', account, user) }), 'good');
  t.match(await attempt(t, address), /refused the credentials/);
  const stranger = credentials('stranger', nkeys.createAccount(), nkeys.createUser());
  t.match(await attempt(t, address, { NATS_CREDS: stranger }), /refused the credentials/);
});

function openssl(...argv: readonly string[]): void {
  execFileSync('openssl', argv, { stdio: 'ignore' });
}

/** A self-signed certificate for the address 127.0.0.1. */
function certificate(folder: string, name: string): { readonly cert: string; readonly key: string } {
  const [cert, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
  openssl('req', '-x509', ...kind, ...subject, '-out', cert, '-keyout', key);
  return { cert, key };
}

const skip = NATS_MISSING || (hasOpenssl ? false : 'openssl is not installed');

test('TLS', { ...options, skip }, async (t) => {
  let good = { cert: '', key: '' };
  const { server, folder } = await serverWith(t, (within) => {
    good = certificate(within, 'good');
    return ['--tls', '--tlscert', good.cert, '--tlskey', good.key];
  });
  const other = certificate(folder, 'other');
  const address = `tls://127.0.0.1:${server.port}/timetable`;
  t.equal(await attempt(t, address, { NATS_CA: good.cert }), 'good');
  t.equal(
    await attempt(t, server.address(), { NATS_CA: good.cert }),
    'good',
    'nats:// takes what the server has',
  );
  t.match(await attempt(t, address), /is not trusted/);
  t.match(await attempt(t, address, { NATS_CA: other.cert }), /is not trusted/);
  t.match(
    await attempt(t, address, { NATS_CA: join(folder, 'none') }),
    /none of NATS_CA cannot be read: there is no such file/,
  );
  t.match(await attempt(t, address, { NATS_CA: good.key }), /is not a certificate as PEM/);
  const client = { NATS_CERT: other.cert, NATS_KEY: other.key };
  t.equal(
    await attempt(t, address, { NATS_CA: good.cert, ...client }),
    'good',
    'with a certificate of the client',
  );
});

test('a store connects again with changed files', { ...options, skip }, async (t) => {
  let good = { cert: '', key: '' };
  const { server, folder } = await serverWith(t, (within) => {
    good = certificate(within, 'good');
    return ['--tls', '--tlscert', good.cert, '--tlskey', good.key];
  });
  process.env.NATS_CA = good.cert;
  const store = await openStore(`tls://127.0.0.1:${server.port}/timetable`, 'make');
  t.teardown(() => {
    delete process.env.NATS_CA;
    return store.close();
  });
  const revision = await store.swap('head', 'text', null);
  t.ok(revision);
  await server.stop();
  certificate(folder, 'good');
  await server.start();
  const isRead = async (): Promise<boolean> => (await store.read('head').catch(() => null))?.text === 'text';
  t.ok(await until(isRead), 'the certificate and its authority are new');
});
