/** The end of a service under load: no answer is lost. With `TESTS_HARD=1` 50 services are ended, otherwise 3. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'tap';
import { hs256, SECRET } from '../auth/tokens.js';
import { recordFigure } from '../hard/figures.mjs';
import { freePort } from '../hard/free-port.mjs';
import { HARD, size } from '../hard/size.js';
import { until } from '../waiting/until.js';
import { CLI, type Running, start, startNode } from './lectern.js';

const DEMO = 'fixtures/demo.ndjson.gz';
const ROUNDS = size(3, 50);
const CLIENTS = 24;
/** The time in which a balancer stops opening connections. */
const NOTICED_MS = 300;
/** Much longer, because connections are refused afterwards. */
const DRAIN_SECONDS = 3;
const REQUEST = `GET /api/v1/schedule?limit=20 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${hs256({ sub: 'alice', exp: Math.floor(Date.now() / 1000) + 7200 })}\r\n\r\n`;

async function startService(options: readonly string[]): Promise<Running & { readonly port: number }> {
  const service = start(['serve', DEMO, '--port', '0', ...options], { LECTERN_HS256_SECRET: SECRET });
  const { url } = await service.ready();
  return { ...service, port: Number(new URL(url).port) };
}

interface Load {
  /** No new connections from here on: each client ends with its present one. */
  isOver: boolean;
  answered: number;
  announced: number;
  readonly failures: string[];
  readonly clients: readonly Promise<void>[];
}

/** Clients that repeat requests on one connection, and open another after Connection: close. */
function startLoad(port: number): Load {
  const clients: Promise<void>[] = [];
  const load: Load = { isOver: false, answered: 0, announced: 0, failures: [], clients };
  async function client(pauseMs: number): Promise<void> {
    while (!load.isOver) {
      const failure = await converse(port, load, pauseMs);
      if (failure !== null) load.failures.push(failure);
    }
  }
  // Some send at once, some after a pause: connections that are idle for a moment must not close during a request.
  for (let n = 0; n < CLIENTS; n++) clients.push(client(n % 3 === 0 ? 0 : n % 40));
  return load;
}

/** One connection, until it closes. Resolves to the fault, or null. */
function converse(port: number, load: Load, pauseMs: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    let isWaiting = true;
    let isAnnounced = false;
    const ask = (): void => {
      text = '';
      isWaiting = true;
      socket.write(REQUEST);
    };
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/Content-Length: (\d+)/.exec(text)?.[1]);
      if (end < 0 || text.length < end + 4 + length) return;
      if (!text.startsWith('HTTP/1.1 200 ')) load.failures.push(text.slice(0, 100));
      isWaiting = false;
      load.answered++;
      if (/\r\nConnection: close\r\n/.test(text)) {
        isAnnounced = true;
        load.announced++;
        socket.end();
      } else if (pauseMs === 0) ask();
      // The client pauses between requests.
      else setTimeout(() => socket.writable && ask(), pauseMs);
    });
    let error = '';
    socket.on('error', (cause) => {
      error = cause.message;
    });
    socket.on('close', () => {
      if (isWaiting) resolve(`closed before an answer ${error}`);
      else resolve(isAnnounced || error === '' ? null : error);
    });
    ask();
  });
}

test(`no request fails when the service is ended ${ROUNDS} times under load`, async (t) => {
  let answered = 0;
  let announced = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const workers = round % 2 === 0 ? '1' : '2';
    const service = await startService(['--drain-seconds', `${DRAIN_SECONDS}`, '--workers', workers]);
    const load = startLoad(service.port);
    const unused = connect(service.port, '127.0.0.1').on('error', () => {});
    // The signal comes at different moments of the load.
    await delay(300 + (round % 7) * 30);
    const signalledMs = performance.now();
    service.child.kill(round % 3 === 2 ? 'SIGINT' : 'SIGTERM');
    const unusedClosed = new Promise<number>((resolve) =>
      unused.once('close', () => resolve(performance.now() - signalledMs)),
    );
    // A client sees the end at its next answer.
    await delay(NOTICED_MS);
    load.isOver = true;
    await Promise.all(load.clients);
    const { code, signal, stderr } = await service.ended;
    const tookMs = performance.now() - signalledMs;
    t.strictSame({ code, signal }, { code: 0, signal: null }, stderr);
    t.strictSame(load.failures, [], `round ${round}, ${workers} thread(s): ${load.answered} answered`);
    t.ok(load.announced >= CLIENTS, `${load.announced} answers announced the end`);
    t.ok(tookMs >= 1000 * DRAIN_SECONDS, `ended after ${tookMs.toFixed(0)} ms`);
    t.ok((await unusedClosed) <= tookMs, 'a connection without requests is closed');
    t.match(stderr, `"drainSeconds":${DRAIN_SECONDS},"msg":"closing"`);
    answered += load.answered;
    announced += load.announced;
  }
  t.comment(`${ROUNDS} ends: ${answered} requests answered, ${announced} with Connection: close, 0 failed`);
  if (HARD)
    recordFigure(
      'shutdown',
      `${t.passing() ? 'none' : 'NOT none'} of ${answered} in ${ROUNDS} ends; exit code 0`,
    );
});

test('a second signal ends the service at once, even while it drains', async (t) => {
  const service = await startService(['--drain-seconds', '600']);
  const socket = connect(service.port, '127.0.0.1');
  socket.on('error', () => {});
  let log = '';
  service.child.stderr?.on('data', (text: string) => {
    log += text;
  });
  service.child.kill('SIGTERM');
  await until(() => log.includes('"msg":"closing"'));
  socket.write(REQUEST);
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  t.match(chunk.toString('latin1'), /^HTTP\/1\.1 200 [\s\S]*\r\nConnection: close\r\n/, 'it still answers');
  const secondMs = performance.now();
  service.child.kill('SIGINT');
  const { code, signal } = await service.ended;
  t.strictSame({ code, signal }, { code: null, signal: 'SIGINT' });
  t.ok(performance.now() - secondMs < 300_000, 'the process ends before its time for draining is over');
});

for (const [name, fault, origin] of [
  ['an uncaught error', "throw new Error('out of order')", 'uncaughtException'],
  ['an unhandled rejection', "Promise.reject(new Error('out of order'))", 'unhandledRejection'],
] as const) {
  test(`${name} is logged and ends the service`, async (t) => {
    const script = `
      const { endOnFaults } = await import('./src/cli/faults.ts');
      const { pino } = await import('pino');
      endOnFaults(pino({ base: null }, pino.destination({ dest: 2, sync: true })));
      setInterval(() => {}, 1000);
      setTimeout(() => { ${fault} }, 10);`;
    // The process must end under any setting of --unhandled-rejections.
    const { ended } = startNode(['--unhandled-rejections=warn', '--input-type=module', '-e', script]);
    const { code, stderr } = await ended;
    t.equal(code, 1);
    t.match(JSON.parse(stderr), { level: 60, origin, err: { message: 'out of order' } });
  });
}

test('an internal fault ends the service, even with the log off', async (t) => {
  const inject = "data:text/javascript,process.on('SIGCONT',()=>{throw(new(Error)('out-of-order'))})";
  for (const level of ['info', 'silent']) {
    const port = await freePort();
    const { child, ended } = startNode(
      [
        '--import',
        inject,
        ...CLI,
        'serve',
        DEMO,
        '--port',
        `${port}`,
        '--workers',
        '2',
        '--log-level',
        level,
      ],
      { LECTERN_HS256_SECRET: SECRET },
    );
    await untilAnswered(`http://127.0.0.1:${port}/api/v1/schedule`, 401);
    child.kill('SIGCONT');
    const { code, stderr } = await ended;
    t.equal(code, 1);
    t.match(stderr, /out-of-order/);
    if (level === 'info') t.match(stderr, /"level":60.*"msg":"ended by an internal fault"/);
  }
});

/** Waits until an address gives that status: without a log, no other sign shows that the service has started. */
async function untilAnswered(url: string, status: number): Promise<void> {
  const answered = (): Promise<number | null> =>
    fetch(url).then(
      (response) => response.status,
      () => null,
    );
  await until(answered, (seen) => seen === status);
}
