/**
 * Each Node internal is hidden in turn: answers stay right, and slow readers are still cut off. This test has
 * its own folder, because it changes every server of its process.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Test, test } from 'tap';
import {
  INTERNALS,
  type Internal,
  missingInternals,
  probeInternals,
  useInternals,
} from '../../../../src/http/node/internals.js';
import { openTimetable } from '../../../../src/index.js';
import { parseMetrics } from '../../../app/scrape.js';
import { get } from '../../../app/threads.js';
import { CLI, startNode } from '../../../cli/lectern.js';
import { until } from '../../../waiting/until.js';
import { EVENTS, serve, setUp, token, viewsOf } from '../../harness.js';
import { rawCases, sendRaw } from '../../raw-cases.js';
import { startTakingAway } from './take-away.js';

// Slow readers and starting services take long on a busy machine.
const AUTHORIZATION = `Authorization: Bearer ${token()}\r\n`;
const PATIENCE = {
  lookMs: 20,
  readerWindowMs: 400,
  readerBytesMin: 64 * 1024,
  idleMsMax: 10_000,
  lingerMsMax: 100,
};
/** At least a sixteenth of 32 MB in the checks of a window. */
const STEP_BYTES = 256 * 1024;
/** JSON of at least 12 MB, more than the system buffers for a connection. */
const MANY = Array.from({ length: 40_000 }, (_, n) => ({
  ...(EVENTS[0] as (typeof EVENTS)[number]),
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  title: `Lesson ${n}`,
}));

const taken = startTakingAway();
const manyViews = viewsOf(MANY);

async function takeAway(t: Test, part: Internal | null, instead: unknown): Promise<void> {
  taken.part = part;
  taken.instead = instead;
  useInternals(await probeInternals());
  t.same(missingInternals(), part === null ? [] : [part], `${part} as ${String(instead)}`);
}

/** The rest of a packet is unknown, so the connection closes after an Upgrade. */
const CLOSES_BEHIND_UPGRADE: readonly (Internal | null)[] = [
  'parser.constructor',
  'parser.onIncoming',
  'parser.incoming',
  'request.upgrade',
  'parser.getCurrentBuffer',
  'handle.bytesWritten',
  'handle.writeQueueSize',
];

async function assertAnswers(t: Test, part: Internal | null): Promise<void> {
  const { port } = await serve(t, setUp().handler);
  const cases = rawCases(AUTHORIZATION);
  const outcomes = await Promise.all(cases.map((each) => sendRaw(port, each)));
  for (const [n, { name, statuses, code, closes }] of cases.entries()) {
    const outcome = outcomes[n];
    if (part?.startsWith('error.') && closes) {
      // The status is less exact, but still an error.
      t.match(outcome, { statuses: [/^[245]/], closes, areProblems: true }, name);
    } else if (CLOSES_BEHIND_UPGRADE.includes(part) && /Upgrade/.test(name) && !closes) {
      const isIgnored = name === 'Connection: upgrade without Upgrade';
      const isHere = name === 'Upgrade without Connection' && part === 'parser.getCurrentBuffer';
      t.match(outcome, { statuses, code, closes: !isIgnored && !isHere, areProblems: true }, name);
    } else t.same(outcome, { statuses, code, closes, saysClose: closes, areProblems: true }, name);
  }
}

async function assertReaders(t: Test, format: string): Promise<void> {
  const { port, server } = await serve(t, setUp({ views: manyViews }).handler, { bounds: PATIENCE });
  const open = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(`GET /api/v1/schedule/all?format=${format} HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}\r\n`);
    return socket;
  };
  const steady = await open();
  let bytes = 0;
  let read = 0;
  let expected = Number.POSITIVE_INFINITY;
  steady.on('data', (chunk: Buffer) => {
    if (bytes === 0) {
      const head = chunk.toString('latin1').split('\r\n\r\n')[0] ?? '';
      expected = head.length + 4 + Number(/Content-Length: (\d+)/.exec(head)?.[1]);
    }
    bytes += chunk.length;
    // A client that reads steadily, but slowly. Where the loop is late, one check may come with each step, and a full
    // buffer of 32 MB takes nothing until a sixteenth of it was read.
    if (bytes - read < STEP_BYTES) return;
    read = bytes;
    steady.pause();
    setTimeout(() => steady.resume(), 10);
  });
  const stalled = await open();
  stalled.pause();
  await until(
    () => server.counts.slowReaders,
    (seen) => seen === 1,
  );
  await until(() => bytes === expected || steady.destroyed);
  t.equal(bytes, expected, 'the one that reads has all of it');
  t.equal(server.counts.slowReaders, 1);
  steady.destroy();
  stalled.destroy();
}

for (const part of [null, ...INTERNALS]) {
  test(`${part ? `without ${part}` : 'with every internal'}: every raw request gets its answer`, async (t) => {
    await takeAway(t, part, 'something else');
    if (part?.startsWith('handle.')) await takeAway(t, part, Number.NaN);
    await takeAway(t, part, undefined);
    await assertAnswers(t, part);
  });
}

const READERS: readonly (readonly [Internal | null, string])[] = [
  [null, 'json'],
  ...INTERNALS.map((part) => [part, 'json'] as const),
  ['handle.writeQueueSize', 'msgpack'],
];
for (const [part, format] of READERS) {
  test(`${part ? `without ${part}` : 'with every internal'}: a client that does not read ${format} is cut off`, async (t) => {
    await takeAway(t, part, undefined);
    await assertReaders(t, format);
  });
}

test('the log and the metrics name every missing part; several servers of a process warn once', async (t) => {
  await using timetable = openTimetable({ source: 'fixtures/demo.ndjson.gz' });
  await timetable.ready;
  for (const part of INTERNALS) {
    await takeAway(t, part, undefined);
    const warnings: { readonly parts?: readonly string[] }[] = [];
    const log = { info() {}, error() {}, debug() {}, warn: (record: object) => warnings.push(record) };
    const options = { auth: { hs256Secret: 'x'.repeat(32) }, port: 0, admin: { port: 0 }, log };
    const servers = [await timetable.serve(options), await timetable.serve(options)];
    t.same(warnings, [{ parts: [part], node: process.version }], `${part}: warnings`);
    const text = (await get(`${servers[0]?.adminAddress?.origin}/metrics`)).body.toString();
    const metrics = parseMetrics(text);
    const missing = INTERNALS.filter(
      (each) => metrics.get(`lectern_node_internals_missing{part="${each}"}`) === 1,
    );
    t.same(missing, [part], `${part}: gauge`);
    for (const server of servers) await server.close();
  }
});

test('before the check no Node internal is used, and answers are right', async (t) => {
  taken.part = null;
  useInternals(INTERNALS);
  const { send } = await serve(t, setUp().handler);
  for (let i = 0; i < 3; i++) {
    const { status } = await send('/api/v1/schedule/all', {
      headers: { Authorization: `Bearer ${token()}` },
    });
    t.equal(status, 200);
  }
});

async function assertTold(t: Test, workers: number): Promise<void> {
  const args = ['--host', '127.0.0.1', '--port', '0', '--admin-port', '0', '--workers', String(workers)];
  const running = startNode(
    [
      ...[
        '--import',
        './test/http/node/internals/take-away-preload.ts',
        ...CLI.filter((each) => !/^(--import|tsx)$/.test(each)),
      ],
      ...['serve', 'fixtures/demo.ndjson.gz', ...args],
    ],
    { TAKE_AWAY: 'handle.writeQueueSize', LECTERN_HS256_SECRET: 'x'.repeat(32) },
  );
  t.teardown(() => running.child.kill('SIGKILL'));
  const { url, admin } = await running.ready();
  t.equal((await get(`${new URL(url).origin}/nowhere`)).status, 404);
  const metrics = parseMetrics((await get(`${new URL(admin ?? '').origin}/metrics`)).body.toString());
  const gauge = (part: Internal) => metrics.get(`lectern_node_internals_missing{part="${part}"}`);
  t.equal(gauge('handle.writeQueueSize'), 1);
  t.equal(gauge('parser.onIncoming'), 0);
  running.child.kill('SIGTERM');
  const { stderr } = await running.ended;
  const lines = stderr.split('\n').filter((line) => line.includes('parts of Node'));
  t.equal(lines.length, 1, stderr);
  t.match(JSON.parse(lines[0] ?? '{}'), { parts: ['handle.writeQueueSize'] });
}

test('a missing internal is reported once, in the log and in the metrics', async (t) => {
  await Promise.all([1, 2].map((workers) => assertTold(t, workers)));
});
