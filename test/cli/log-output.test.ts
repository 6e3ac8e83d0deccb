/**
 * The log's output: a missing reader must not delay the service. Inside, because the pipe behind the log is
 * full.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'tap';
import { LOG_BYTES_MAX } from '../../src/base/limits.js';
import { LogOutput } from '../../src/cli/open-log.js';
import { scrape } from '../app/scrape.js';
import { get } from '../app/threads.js';
import { hs256, SECRET } from '../auth/tokens.js';
import { testFolder } from '../base/files/test-folder.js';
import { freePort } from '../hard/free-port.mjs';
import { until } from '../waiting/until.js';
import { CLI, ROOT } from './lectern.js';

const { O_NONBLOCK, O_RDWR, O_WRONLY } = constants;
const EVENT = {
  id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  time: '2024-09-02T08:00:00Z',
  endTime: '2024-09-02T09:00:00Z',
};
const exp = Math.floor(Date.now() / 1000) + 3600;
const headers = { authorization: `Bearer ${hs256({ sub: 'alice', exp })}` };

type Test = Parameters<Parameters<typeof test>[0]>[0];

/** A named pipe, with an open end for reading. */
function pipe(t: Test, folder: string = testFolder(t)): { readonly path: string; readonly reader: number } {
  const path = join(folder, 'pipe');
  spawnSync('mkfifo', [path]);
  const reader = openSync(path, O_RDWR | O_NONBLOCK);
  t.teardown(() => closeSync(reader));
  return { path, reader };
}

test('a log line holds no sequence for terminals, and the same value', (t) => {
  const { path, reader } = pipe(t);
  const output = new LogOutput(openSync(path, O_WRONLY | O_NONBLOCK));
  const reason = '\u009b2J\u007f\u202e\u{e0001}';
  output.write(`${JSON.stringify({ reason })}\n`);
  const text = readAll(reader);
  t.notMatch(text, /[^\P{Cc}\n]|\p{Cf}/u);
  t.strictSame(JSON.parse(text), { reason });
  t.end();
});

function readAll(fd: number): string {
  let text = '';
  const buffer = Buffer.alloc(65536);
  try {
    for (;;) text += buffer.toString('latin1', 0, readSync(fd, buffer));
  } catch {
    return text;
  }
}

test('unread lines wait, up to a bound; later lines are dropped, counted and reported', async (t) => {
  const { path, reader } = pipe(t);
  const fd = openSync(path, O_WRONLY | O_NONBLOCK);
  t.teardown(() => closeSync(fd));
  const output = new LogOutput(fd);
  const told: number[] = [];
  output.onResumed = (dropped) => {
    told.push(dropped);
    output.write(`dropped ${dropped}\n`);
  };
  const line = (n: number): string => `${String(n).padStart(7, '0')} ${'x'.repeat(990)}\n`;
  const lines = Math.ceil((1.5 * LOG_BYTES_MAX) / line(0).length);
  for (let n = 0; n < lines; n++) output.write(line(n));
  const { dropped } = output;
  t.ok(dropped > 300 && dropped < lines / 2, `${dropped} of ${lines}`);
  const beganMs = performance.now();
  output.flushSync();
  const flushedMs = performance.now() - beganMs;
  t.ok(flushedMs > 300, `a flush that is not read is given up after ${flushedMs} ms`);
  t.strictSame(told, []);
  let text = '';
  await until(
    () => {
      text += readAll(reader);
      return text;
    },
    (seen) => seen.includes('dropped'),
  );
  const whole = text.trimEnd().split('\n');
  t.strictSame(told, [dropped], 'told once');
  t.equal(whole.pop(), `dropped ${dropped}`);
  t.strictSame(
    whole,
    Array.from({ length: lines - dropped }, (_, n) => line(n).trimEnd()),
    'each whole, in order',
  );
  output.write('at once\n');
  t.equal(readAll(reader), 'at once\n');
});

test('a flush writes the waiting lines as soon as there is room', (t) => {
  const { path, reader } = pipe(t);
  const fd = openSync(path, O_WRONLY | O_NONBLOCK);
  t.teardown(() => closeSync(fd));
  const output = new LogOutput(fd);
  // A whole pipe of text, and a little more.
  for (let n = 0; n < 66; n++) output.write(`${'x'.repeat(1023)}\n`);
  readAll(reader);
  output.flushSync();
  t.equal(readAll(reader).length, 2 * 1024);
  t.equal(output.dropped, 0);
  t.end();
});

interface Unread {
  readonly child: ChildProcess;
  readonly origin: string;
  readonly admin: string;
  readonly ended: Promise<number | null>;
}

function fillPipe(fd: number): void {
  const bytes = Buffer.alloc(4096, '\n');
  try {
    for (;;) writeSync(fd, bytes);
  } catch {
    // It is full.
  }
}

/** The service with an unread standard error: a full pipe, or a socket as from systemd. */
async function startUnread(
  t: Test,
  kind: 'pipe' | 'socket',
  argv: readonly string[],
  nodeOptions: readonly string[] = [],
): Promise<Unread> {
  const folder = testFolder(t, { 'events.ndjson': `${JSON.stringify(EVENT)}\n` });
  const source = join(folder, 'events.ndjson');
  let stderr: 'pipe' | number = 'pipe';
  if (kind === 'pipe') {
    const { path, reader } = pipe(t, folder);
    fillPipe(reader);
    stderr = openSync(path, O_WRONLY);
  }
  // On a busy machine, eight clients with eight requests each look like an overload.
  const [port, adminPort] = [await freePort(), await freePort()];
  const listening = [
    '--port',
    `${port}`,
    '--admin-port',
    `${adminPort}`,
    '--access-log',
    '1',
    '--overload-ms',
    '0',
  ];
  const child = spawn(process.execPath, [...nodeOptions, ...CLI, 'serve', source, ...listening, ...argv], {
    cwd: ROOT,
    env: { ...process.env, LECTERN_HS256_SECRET: SECRET },
    stdio: ['ignore', 'pipe', stderr],
  });
  if (typeof stderr === 'number') closeSync(stderr);
  t.teardown(() => child.kill('SIGKILL'));
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const admin = `http://127.0.0.1:${adminPort}`;
  // Its output cannot be read.
  await until(async () => (await fetch(`${admin}/ready`).catch(() => null))?.status === 200);
  return { child, ended, origin: `http://127.0.0.1:${port}/api/v1`, admin };
}

/** Sends requests until log lines are dropped. */
async function fill({ origin, admin }: Unread): Promise<number> {
  const { port, pathname } = new URL(origin);
  const one = `GET ${pathname}/schedule HTTP/1.1\r\nHost: a\r\nAuthorization: ${headers.authorization}\r\n\r\n`;
  const sockets = Array.from({ length: 8 }, () => connect(Number(port), '127.0.0.1'));
  let answered = 0;
  for (const socket of sockets) {
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      if (text.split('HTTP/1.1 200 ').length <= 8) return;
      text = '';
      answered += 8;
      socket.write(one.repeat(8));
    });
    socket.write(one.repeat(8));
  }
  let dropped = 0;
  await until(async () => {
    dropped = (await scrape(admin)).get('lectern_log_lines_dropped_total') ?? 0;
    return dropped > 0 || answered >= 60_000;
  });
  for (const socket of sockets) socket.destroy();
  return dropped;
}

for (const [workers, kind] of [
  ['1', 'socket'],
  ['2', 'pipe'],
] as const) {
  test(`a ${kind} that is not read delays nothing, not even the exit: ${workers} serving threads`, async (t) => {
    const service = await startUnread(t, kind, ['--workers', workers]);
    t.ok((await fill(service)) > 0, 'lines were dropped');
    t.equal((await get(`${service.admin}/live`)).status, 200);
    t.equal((await get(`${service.origin}/schedule`, headers)).status, 200);
    service.child.kill('SIGTERM');
    t.equal(await service.ended, 0);
  });
}

test('a fault ends the service even if its log is not read', async (t) => {
  const inject = "data:text/javascript,process.on('SIGCONT',()=>{throw(new(Error)('out-of-order'))})";
  const service = await startUnread(t, 'pipe', [], ['--import', inject]);
  service.child.kill('SIGCONT');
  t.equal(await service.ended, 1);
});
