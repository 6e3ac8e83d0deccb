/**
 * Ports, and the end. Inside: which versions of Node and systems divide connections, and the listening
 * socket.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'tap';
import { canReusePort, openListeningSocket } from '../../src/app/open-serving.js';
import { hs256, SECRET } from '../auth/tokens.js';
import { start } from '../cli/lectern.js';
import { SLOW } from '../hard/size.js';
import { fastTest, slowTest } from '../hard/slow-test.js';
import { MemorySource, openTimetable, startService } from '../refresh/built.js';
import { timeForAFault, until } from '../waiting/until.js';
import { get, openConnections, watchThreads } from './threads.js';

const RECORDS = [
  {
    id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
    time: '2024-09-02T08:00:00Z',
    endTime: '2024-09-02T09:00:00Z',
  },
];
const headers = {
  authorization: `Bearer ${hs256({ sub: 'alice', exp: Math.floor(Date.now() / 1000) + 3600 })}`,
};

function bytesUntilClosed(socket: Socket): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    socket.on('data', (chunk) => {
      bytes += chunk.length;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(bytes));
    socket.resume();
  });
}

async function messageOf(starting: Promise<unknown>): Promise<string> {
  return starting.then(
    () => 'it started',
    (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
  );
}

fastTest('a taken port is reported with several threads, too', async (t) => {
  const threads = watchThreads(t);
  const options = { source: RECORDS, hs256Secret: SECRET, dev: false } as const;
  const plain = createServer().listen(0, '127.0.0.1');
  await once(plain, 'listening');
  t.teardown(() => plain.close());
  const other = await startService({ ...options, source: new MemorySource(RECORDS), port: 0, workers: 2 });
  t.teardown(() => other.close());
  await other.ready;
  await until(() => threads.length === 2);
  for (const port of [(plain.address() as { port: number }).port, other.address.port]) {
    const source = new MemorySource(RECORDS);
    const expected = await messageOf(startService({ ...options, source, port }));
    t.match(expected, /^address-unavailable: cannot listen on 127\.0\.0\.1:\d+: the port is taken/);
    t.equal(await messageOf(startService({ ...options, source, port, workers: 2 })), expected);
  }
  const host = 'no-such-host.invalid';
  const source = new MemorySource(RECORDS);
  t.match(
    await messageOf(startService({ ...options, source, port: 0, host, workers: 2 })),
    /^address-unavailable: cannot listen on no-such-host\.invalid:0/,
  );
  t.equal(threads.length, 2, 'nothing is left behind');
});

fastTest('a listening reserves its port and accepts no connection', async (t) => {
  for (const reusePort of [true, false]) {
    const listening = await openListeningSocket({ host: '127.0.0.1', port: 0 }, reusePort);
    t.equal(listening.descriptor === null, reusePort);
    t.equal(listening.address.origin, `http://127.0.0.1:${listening.address.port}`);
    listening.close();
    await t.rejects(get(listening.address.origin), { code: 'ECONNREFUSED' });
  }
});

fastTest('some versions of Node can listen with reusePort', async (t) => {
  for (const version of ['v22.12.0', 'v22.20.1', 'v23.1.0', 'v24.0.0', 'v26.0.0']) {
    t.ok(canReusePort(version, 'linux'), version);
    t.notOk(canReusePort(version, 'darwin'), `${version} on a system that does not divide connections`);
  }
  for (const version of ['v20.20.2', 'v22.11.0', 'v23.0.0']) t.notOk(canReusePort(version, 'linux'), version);
});

slowTest('SIGTERM under load lets started requests finish, and the process exits with 0', async (t) => {
  const { child, ended, ready } = start(
    ['serve', 'fixtures/demo.ndjson.gz', '--port', '0', '--workers', '3'],
    { LECTERN_HS256_SECRET: SECRET },
  );
  t.teardown(() => child.kill('SIGKILL'));
  const { url: base, workers } = await ready();
  t.equal(workers, 3);
  const { port } = new URL(base);
  const complete = (await get(`${base}/schedule/all`, headers)).body.length;
  const idle = await openConnections(20, Number(port), '/nothing');
  const asked = `GET /api/v1/schedule/all HTTP/1.1\r\nHost: a\r\nAuthorization: ${headers.authorization}\r\n\r\n`;
  // More than the buffers of both kernels hold; the client does not read yet.
  const slow = Array.from({ length: 6 }, () => {
    const socket = connect(Number(port), '127.0.0.1').pause();
    socket.write(asked.repeat(5));
    return socket;
  });
  // The requests of a connection arrive together, so all are there when the first answer begins.
  await Promise.all(slow.map((socket) => once(socket, 'readable')));
  child.kill('SIGTERM');
  await until(() => idle.size === 0);
  await timeForAFault(100);
  t.equal(child.exitCode, null, 'it waits for those who read slowly');
  for (const bytes of await Promise.all(slow.map(bytesUntilClosed))) {
    t.ok(bytes > 5 * complete && bytes < 5 * complete + 10_000, `${bytes} bytes are 5 whole answers`);
  }
  const { code, signal, stderr } = await ended;
  t.strictSame([code, signal], [0, null]);
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string; workers?: number });
  t.equal(lines.find(({ msg }) => msg === 'listening')?.workers, 3);
  t.equal(lines.at(-1)?.msg, 'closed');
  t.notOk(stderr.includes('lost'));
});

test('a signal while threads start ends the service', async (t) => {
  for (const ms of SLOW ? [100, 250, 400, 600] : [250]) {
    const { child, ended } = start(['serve', '-', '--port', '0', '--workers', '3'], {
      LECTERN_HS256_SECRET: SECRET,
    });
    t.teardown(() => child.kill('SIGKILL'));
    // The signal comes at different moments of the start.
    await delay(ms);
    child.kill('SIGTERM');
    const { code, signal } = await ended;
    t.ok(code === 0 || signal === 'SIGTERM', `after ${ms} ms: ${code} ${signal}`);
  }
});

fastTest('a timetable is served by its own threads, which end with it', async (t) => {
  const threads = watchThreads(t);
  const timetable = openTimetable({ source: new MemorySource(RECORDS) });
  t.teardown(() => timetable.close());
  const auth = { hs256Secret: SECRET };
  await t.rejects(timetable.serve({ port: 0 } as never), { code: 'key-missing' });
  await t.rejects(timetable.serve({ auth: {}, port: 0 }), { code: 'key-missing' });
  await t.rejects(timetable.serve({ auth, port: 0, workers: 0 }), { code: 'option-invalid' });
  await t.rejects(timetable.serve({ auth, port: 0, threads: 2 } as never), { code: 'option-invalid' });
  await t.rejects(timetable.serve({ auth: { hs256Secret: 'short' }, port: 0 }), { code: 'option-invalid' });
  await t.rejects(timetable.serve({ auth, port: 0, basePath: 'a b', workers: 2 }), {
    code: 'option-invalid',
  });
  await t.rejects(timetable.serve({ auth, port: 70_000, workers: 2 }), { code: 'option-invalid' });
  await timetable.ready;
  const here = await timetable.serve({ auth, port: 0 });
  const there = await timetable.serve({ auth, port: 0, workers: 2, basePath: '/there' });
  await until(() => threads.length === 2);
  t.strictSame([here.workers, there.workers], [1, 2]);
  const one = await get(`${here.address.origin}/api/v1/schedule`, headers);
  const two = await get(`${there.address.origin}/there/schedule`, headers);
  t.equal(one.status, 200);
  t.ok(one.body.equals(two.body));
  await here.close();
  await t.rejects(get(here.address.origin), { code: 'ECONNREFUSED' });
  await timetable.close();
  await t.rejects(get(there.address.origin), { code: 'ECONNREFUSED' });
  t.equal(threads.length, 0);
  await t.rejects(timetable.serve({ auth, port: 0 }), { code: 'closed' });
});
