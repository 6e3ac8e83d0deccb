/**
 * The clock is set while the service runs under load: forward and back, by a minute, an hour and a day.
 * Tokens follow the clock, because their times are times of day. Ages and pauses do not follow it.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import { hs256, SECRET } from '../auth/tokens.js';
import { start } from '../cli/lectern.js';
import { recordFigure } from '../hard/figures.mjs';
import { HARD, size } from '../hard/size.js';
import { timeForAFault, until } from '../waiting/until.js';

const SHIM = fileURLToPath(new URL('./clock-shim.cjs', import.meta.url));
const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;
/** One after another, from the true time: there and back, then in both directions at once. */
const JUMPS_S: readonly number[] = HARD
  ? [MINUTE_S, -MINUTE_S, 0, HOUR_S, 0, -HOUR_S, 0, DAY_S, 0, -DAY_S, 0, DAY_S, -DAY_S, 0]
  : [MINUTE_S, 0, DAY_S, -DAY_S, 0];
const JUMP_MS = size(700, 5000);
const CLIENTS = size(8, 16);
/** Much longer than the pause between two loads, and shorter than the shortest jump. */
const STALE_SECONDS = 45;
const EVENT = {
  id: '00000000-0000-4000-8000-000000000001',
  time: '2024-09-02T08:00:00Z',
  endTime: '2024-09-02T09:00:00Z',
  title: 'Lesson',
};

interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface Service {
  readonly port: number;
  readonly adminPort: number;
  /** Sets the clock of the service, in seconds from the true time, and waits until all threads follow. */
  set(offsetSeconds: number): Promise<void>;
  ask(path: string, token?: string, agent?: Agent): Promise<Reply>;
  logLines(): readonly Record<string, unknown>[];
  end(): Promise<number | null>;
}

const epochSeconds = (): number => Math.floor(Date.now() / 1000);

/** Valid for two days before and after now, so on either side of every jump. */
function longToken(subject: string): string {
  return hs256({ sub: subject, nbf: epochSeconds() - 2 * DAY_S, exp: epochSeconds() + 2 * DAY_S });
}

async function startService(t: Test, source: string, options: readonly string[]): Promise<Service> {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-clock-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'offset');
  writeFileSync(file, '0\n');
  const argv = ['serve', source, '--port', '0', ...options];
  const service = start(argv, {
    LECTERN_HS256_SECRET: SECRET,
    LECTERN_LOG_LEVEL: 'info',
    NODE_OPTIONS: `--require ${SHIM}`,
    CLOCK_OFFSET_FILE: file,
  });
  t.teardown(() => service.child.kill('SIGKILL'));
  let log = '';
  service.child.stderr?.on('data', (text: string) => {
    log += text;
  });
  // Development reports it as text, production as a log record.
  const isDevelopment = options.includes('development') || options.includes('--dev');
  const text = isDevelopment ? await service.printed('loaded in') : '';
  const { url, admin = '' } = isDevelopment
    ? { url: / at (http:\/\/\S+)/.exec(text)?.[1] ?? '', admin: /Admin listener: (\S+)/.exec(text)?.[1] }
    : await service.ready();
  const port = Number(new URL(url).port);
  const lines = (): Record<string, unknown>[] =>
    log
      .slice(0, log.lastIndexOf('\n') + 1)
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : []));
  const adminPort = Number(admin === '' ? Number.NaN : new URL(admin).port);
  return {
    port,
    adminPort,
    logLines: lines,
    async set(offsetSeconds) {
      writeFileSync(file, `${offsetSeconds * 1000}\n`);
      // The service reads the file every 10 ms.
      await delay(30);
    },
    ask: (path, token, agent) =>
      ask(path.startsWith('/metrics') || path === '/ready' ? adminPort : port, path, token, agent),
    async end() {
      service.child.kill('SIGTERM');
      return (await service.ended).code;
    },
  };
}

function ask(port: number, path: string, token?: string, agent?: Agent): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const req = request(
      { host: '127.0.0.1', port, path, headers, ...(agent === undefined ? {} : { agent }) },
      (res) => {
        let text = '';
        res.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        res
          .on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, text }))
          .on('error', reject);
      },
    );
    req.on('error', reject).end();
  });
}

/** An upstream that can fail. */
async function startUpstream(t: Test) {
  const state = { fails: false, asked: 0 };
  const server = createServer((_req, res) => {
    state.asked++;
    if (state.fails) res.writeHead(500).end();
    else res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify([EVENT]));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

function metric(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

for (const workers of [1, 2]) {
  test(`the service stays right when the clock is set under load, ${workers} serving threads`, async (t) => {
    const { state, url } = await startUpstream(t);
    const options = [
      '--admin-port',
      '0',
      '--drain-seconds',
      '2',
      '--refresh-seconds',
      '1',
      '--stale-seconds-max',
      String(STALE_SECONDS),
      '--workers',
      String(workers),
    ];
    const service = await startService(t, url, options);
    const failures: string[] = [];
    let answered = 0;
    let isOver = false;
    const clients = Array.from({ length: CLIENTS }, async (_, n) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (let asked = 0; !isOver; asked++) {
        const reply = await service.ask('/api/v1/schedule', longToken(`user ${n} ${asked % 5}`), agent);
        answered++;
        if (reply.status !== 200) failures.push(`${reply.status} ${reply.text}`);
        // A pause of the client, so that all get processor time.
        if (asked % 7 === 0) await delay(3);
      }
      agent.destroy();
    });
    for (const jump of JUMPS_S) {
      await service.set(jump);
      const told = `clock off by ${jump} s`;
      const reply = await service.ask('/api/v1/schedule', longToken('alice'));
      t.equal(reply.status, 200, told);
      const shownMs = Date.parse(reply.headers.date ?? '') - jump * 1000;
      t.ok(Math.abs(shownMs - Date.now()) < 20_000, `Date is what the clock says, ${told}`);
      const short = hs256({ sub: 'alice', nbf: epochSeconds() - 30, exp: epochSeconds() + 30 });
      const expected = Math.abs(jump) <= 30 ? 200 : 401;
      t.equal((await service.ask('/api/v1/schedule', short)).status, expected, `a token of now, ${told}`);
      const ofThen = hs256({ sub: 'alice', exp: epochSeconds() + jump + 30 });
      t.equal((await service.ask('/api/v1/schedule', ofThen)).status, 200, `a token of then, ${told}`);
      await timeForAFault(JUMP_MS);
      const metrics = (await service.ask('/metrics')).text;
      const age = metric(metrics, 'lectern_snapshot_age_seconds');
      t.ok(age >= 0 && age < 400, `the snapshot is ${age} s old, ${told}`);
      t.equal((await service.ask('/ready')).status, 200, `ready, ${told}`);
    }
    isOver = true;
    await Promise.all(clients);
    t.same(failures.slice(0, 3), [], `none of ${answered} requests failed`);
    t.ok(answered > 50, `${answered} answered`);
    if (HARD) {
      recordFigure(
        workers === 1 ? 'clock-jumps' : 'clock-jumps-threads',
        `${failures.length === 0 ? 'none' : failures.length} of ${answered} requests failed in ${JUMPS_S.length} jumps`,
        { jumpsSeconds: JUMPS_S, clients: CLIENTS },
      );
    }
    const regular = state.asked + 2;
    t.ok(await until(() => state.asked >= regular), 'the source is asked as before');
    for (const { buildMs } of service.logLines()) {
      if (buildMs !== undefined)
        t.ok(Number(buildMs) >= 0 && Number(buildMs) < 60_000, `built in ${buildMs} ms`);
    }
    const beganMs = performance.now();
    const ended = service.end();
    await service.set(DAY_S);
    t.equal(await ended, 0, 'drained and ended');
    t.ok(performance.now() - beganMs < 60_000, 'in time, where a drain by the clock would take a day');
  });
}

for (const jump of [DAY_S, -DAY_S]) {
  test(`a snapshot becomes stale by its age, not by the clock: clock set by ${jump} s`, async (t) => {
    const { state, url } = await startUpstream(t);
    const options = [
      '--admin-port',
      '0',
      '--refresh-seconds',
      '1',
      '--stale-seconds-max',
      '10',
      '--workers',
      '2',
    ];
    const service = await startService(t, url, options);
    const token = longToken('alice');
    const statusOf = async (path: string): Promise<number> => (await service.ask(path, token)).status;
    state.fails = true;
    await service.set(jump);
    t.equal(await statusOf('/api/v1/schedule'), 200, 'it was confirmed a moment ago');
    t.equal(await statusOf('/ready'), 200);
    t.ok(await until(async () => (await statusOf('/api/v1/schedule')) === 503), 'then it is too old');
    t.match((await service.ask('/api/v1/schedule', token)).text, 'snapshot-stale');
    t.equal(await statusOf('/ready'), 503);
    state.fails = false;
    t.ok(await until(async () => (await statusOf('/api/v1/schedule')) === 200), 'loaded again');
    t.equal(await service.end(), 0);
  });
}

test('in development /health and tokens of /login stay right when the clock is set', async (t) => {
  const service = await startService(t, 'fixtures/demo.ndjson.gz', ['--dev']);
  const login = async (): Promise<string> =>
    (JSON.parse((await service.ask('/api/v1/login')).text) as { access_token: string }).access_token;
  const before = await login();
  for (const jump of [MINUTE_S, -MINUTE_S, HOUR_S, -HOUR_S, DAY_S, -DAY_S]) {
    await service.set(jump);
    const health = JSON.parse((await service.ask('/health')).text) as {
      status: string;
      snapshot: { ageSeconds: number };
    };
    t.equal(health.status, 'ok');
    t.ok(
      health.snapshot.ageSeconds >= 0 && health.snapshot.ageSeconds < 55,
      `${health.snapshot.ageSeconds} s old at ${jump} s`,
    );
    t.equal(
      (await service.ask('/api/v1/schedule?limit=1', await login())).status,
      200,
      `a new token at ${jump} s`,
    );
    const isOver = jump >= DAY_S;
    t.equal(
      (await service.ask('/api/v1/schedule?limit=1', before)).status,
      isOver ? 401 : 200,
      `one of before at ${jump} s`,
    );
  }
});
