/** Many forged tokens that are expensive to verify: most are refused at once, and counted as too many. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'tap';
import { base64url, signed } from '../auth/tokens.js';
import { testFolder } from '../base/files/test-folder.js';
import { MemorySource, startService } from '../refresh/built.js';
import { scrape, total } from './scrape.js';
import { get, keptLog } from './threads.js';

const RECORDS = [
  {
    id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
    time: '2024-09-02T08:00:00Z',
    endTime: '2024-09-02T09:00:00Z',
  },
];
const CONNECTIONS = 400;
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const jwk = publicKey.export({ format: 'jwk' });
// Each token without a key name is tried with all eight keys.
const KEYS = JSON.stringify({ keys: Array.from({ length: 8 }, (_, n) => ({ ...jwk, kid: `k${n}` })) });
const PAGE = 'https://timetable.example.org';
const exp = Math.floor(Date.now() / 1000) + 3600;

function forged(n: number): string {
  const claims = base64url({ sub: 'mallory', exp, n });
  return `${base64url({ alg: 'RS256' })}.${claims}.${randomBytes(256).toString('base64url')}`;
}

function requestOf(token: string): string {
  return `GET /api/v1/schedule HTTP/1.1\r\nHost: a\r\nOrigin: ${PAGE}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
}

/** The whole answer, whose head and body may arrive separately. */
function answerOf(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    socket.on('error', reject);
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (text.endsWith('}')) resolve(text);
    });
  });
}

for (const workers of [1, 2]) {
  test(`a flood of forged tokens is counted: ${workers} serving threads`, async (t) => {
    const { log, lines } = keptLog();
    const jwks = join(testFolder(t, { 'keys.json': KEYS }), 'keys.json');
    const source = new MemorySource(RECORDS);
    // The clients run on this thread, and their time must not count.
    const options = {
      port: 0,
      adminPort: 0,
      jwks,
      source,
      workers,
      overloadMs: 0,
      corsOrigins: [PAGE],
      dev: false,
    } as const;
    const service = await startService(options, { log });
    t.teardown(() => service.close());
    await service.ready;
    const { port } = service.address;
    const admin = service.adminAddress?.origin ?? '';
    const authorization = `Bearer ${signed({ sub: 'alice', exp }, privateKey, { alg: 'RS256', kid: 'k3' })}`;
    // Every thread has seen the token.
    for (let n = 0; n < 20; n++) {
      t.equal((await get(`${service.baseUrl}/schedule`, { authorization })).status, 200);
    }
    const sockets = await Promise.all(
      Array.from(
        { length: CONNECTIONS },
        () =>
          new Promise<Socket>((resolve, reject) => {
            const socket: Socket = connect(port, '127.0.0.1');
            socket.once('error', reject);
            // Answered, so that the service has the connection and reads all requests in one turn.
            socket.once('data', () => resolve(socket));
            socket.write('GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n');
          }),
      ),
    );
    t.teardown(() => {
      for (const socket of sockets) socket.destroy();
    });
    const answers = sockets.map(answerOf);
    for (const [n, socket] of sockets.entries()) socket.write(requestOf(forged(n)));
    for (let n = 0; n < 10; n++) {
      t.equal((await get(`${service.baseUrl}/schedule`, { authorization })).status, 200, 'a known token');
    }
    const texts = await Promise.all(answers);
    const refused = texts.filter((text) => text.startsWith('HTTP/1.1 503 '));
    t.ok(refused.length > 0, `${refused.length} of ${CONNECTIONS} refused`);
    for (const text of refused) {
      t.match(text, /\r\nRetry-After: 1\r\n/);
      t.match(text, /"code":"overloaded"/);
      t.ok(text.includes(`\r\nAccess-Control-Allow-Origin: ${PAGE}\r\n`), 'the page can read it');
      t.notMatch(text, /\r\nConnection: close/);
    }
    const invalid = texts.filter((text) => text.startsWith('HTTP/1.1 401 ')).length;
    t.equal(invalid + refused.length, CONNECTIONS);
    t.ok(invalid >= 64, `${invalid} were verified`);

    // Threads report once a second.
    let metrics = await scrape(admin);
    while (total(metrics, 'lectern_overload_refusals_total') < refused.length) metrics = await scrape(admin);
    t.equal(total(metrics, 'lectern_overload_refusals_total'), refused.length);
    t.equal(total(metrics, 'lectern_token_failures_total', 'reason="signature"'), invalid);
    t.equal(total(metrics, 'lectern_http_requests_total', 'status="503"'), 0, 'not among those answered');
    t.equal(total(metrics, 'lectern_overloads_total'), 0);
    const told = lines.filter(({ message }) => message === 'too many tokens to verify: requests are refused');
    t.ok(told.length >= 1 && told.length <= workers, 'told once by each thread');
    t.equal((await get(`${service.baseUrl}/schedule`, { authorization })).status, 200);
    const unreadable = connect(port, '127.0.0.1');
    unreadable.write('GARBAGE\r\n\r\n');
    t.match(
      await answerOf(unreadable),
      /^HTTP\/1\.1 400 [\s\S]*\r\nVary: Origin\r\n/,
      'the server knows of origins',
    );
  });
}
