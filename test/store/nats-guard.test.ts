/** Servers that are not NATS, or stop being NATS: a client reads a bounded number of bytes from them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { test } from 'tap';
import { STORE_LINE_BYTES_MAX, STORE_MESSAGE_BYTES_MAX } from '../../src/base/limits.js';
import { NatsGuard } from '../../src/store/nats-connection.js';
import { openStore } from '../../src/store/open-store.js';
import { testFolder } from '../base/files/test-folder.js';

const INFO = { server_id: 'A', version: '2.10.0', proto: 1, headers: true, max_payload: 1_048_576 };

/** The bytes that a server could send before its connection was ended. */
async function bytesTaken(first: string, endless: Buffer, tls?: object): Promise<number> {
  let taken = 0;
  let isEnded = (_: number): void => {};
  const ended = new Promise<number>((resolve) => {
    isEnded = resolve;
  });
  const flood = (socket: Socket): void => {
    const send = (): void => {
      while (!socket.destroyed && socket.write(endless, () => (taken += endless.length)));
    };
    socket.on('drain', send).resume();
    send();
  };
  const server = createServer((socket) => {
    socket.on('error', () => {}).on('close', () => isEnded(taken));
    if (tls === undefined) {
      socket.write(first);
      return flood(socket);
    }
    socket.write(`INFO ${JSON.stringify({ ...INFO, tls_required: true })}\r\n`);
    const secured = new TLSSocket(socket, { isServer: true, ...tls });
    secured
      .on('error', () => {})
      .once('secure', () => {
        secured.write(first);
        flood(secured);
      });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const store = openStore(`${tls === undefined ? 'nats' : 'tls'}://127.0.0.1:${port}/timetable`, 'fail');
  const read = store.read('head').catch(() => {});
  const bytes = await ended;
  await store.close();
  server.close();
  await read;
  return bytes;
}

/** Buffers of the system between server and client. */
const BUFFERED_BYTES_MAX = 16 * 2 ** 20;
const LETTERS = Buffer.alloc(65_536, 'a');

test('an endless line, a message of 2 GB and a flood of PING end the connection', async (t) => {
  const info = `INFO ${JSON.stringify(INFO)}\r\n`;
  for (const [first, endless] of [
    ['INFO {"x":"', LETTERS],
    [`${info}MSG a 1 2000000000\r\n`, LETTERS],
    [info, Buffer.from('PING\r\n'.repeat(10_000))],
    [info, Buffer.from('MSG a 1 0\r\n\r\n'.repeat(5000))],
  ] as const) {
    t.ok((await bytesTaken(first, endless)) < BUFFERED_BYTES_MAX, first.slice(-20));
  }
});

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

test('the same after TLS', { skip: hasOpenssl ? false : 'openssl is not installed' }, async (t) => {
  const folder = testFolder(t);
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const names = ['-subj', '/CN=nats', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', ...kind, ...names, '-out', cert, '-keyout', key], { stdio: 'ignore' });
  const before = process.env.NATS_CA;
  process.env.NATS_CA = cert;
  t.teardown(() => {
    if (before === undefined) delete process.env.NATS_CA;
    else process.env.NATS_CA = before;
  });
  const tls = { cert: readFileSync(cert), key: readFileSync(key) };
  t.ok((await bytesTaken('MSG a 1 2000000000\r\n', LETTERS, tls)) < BUFFERED_BYTES_MAX);
});

test('the guard passes on what an honest server sends, in pieces of any size, as whole messages', (t) => {
  const messages = [
    `INFO {"x":"${'a'.repeat(60_000)}"}\r\n`,
    'PING\r\n',
    'MSG a 1 5\r\nPING\n\r\n',
    'MSG a 1 0\r\n\r\n',
    'HMSG a 1 reply 12 14\r\nNATS/1.0\r\n\r\nab\r\n',
    '+OK\r\n',
  ];
  const stream = Buffer.from(messages.join(''));
  for (const bytes of [1, 7, stream.length]) {
    const guard = new NatsGuard(() => 0);
    const passed: string[] = [];
    for (let at = 0; at < stream.length; at += bytes)
      passed.push(guard.check(stream.subarray(at, at + bytes)).toString());
    t.equal(passed.join(''), messages.join(''), `${bytes} bytes at once`);
    if (bytes === 1) t.same(passed.filter(Boolean), messages);
  }
  for (const line of [
    Buffer.alloc(STORE_LINE_BYTES_MAX + 1, 'a'),
    Buffer.from(`MSG a 1 ${STORE_MESSAGE_BYTES_MAX + 1}\r\n`),
    Buffer.from('HMSG a 1 12 many\r\n'),
    Buffer.from('PING\r\n'.repeat(101)),
    // The client would take what follows for a message of 60 MB.
    Buffer.from('MSG a 1 1\r\na\nMSG a 1 60000000\r\n'),
    Buffer.from('MSG a 1 1\r\nab\r\n'),
  ]) {
    t.throws(() => new NatsGuard(() => 0).check(line), /^the server sent/);
  }
  let nowMs = 0;
  const guard = new NatsGuard(() => nowMs);
  for (; nowMs < 5000; nowMs += 20) guard.check(Buffer.from('PING\r\n'));
  // A listing of 125,000 objects on a machine four times as fast as usual.
  for (; nowMs < 10_000; nowMs += 1) guard.check(Buffer.from('MSG a 1 2\r\nab\r\n'.repeat(25)));
  t.end();
});
