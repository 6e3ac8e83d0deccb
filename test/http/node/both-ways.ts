/** Compares answers on the lane with answers through Node's response: bytes, and lines of the log. */
import { connect } from 'node:net';
import fc from 'fast-check';
import type { Test } from 'tap';
import { ROOM, serve, setUp, token, viewsOf } from '../harness.js';
import { rawCases } from '../raw-cases.js';

/** Connections at a time. */
const TOGETHER = 16;

/** The pieces that a client sends on one connection. */
export type Script = readonly Buffer[];

/** Time in which a server in this process reads what was sent. */
async function turns(): Promise<void> {
  for (let n = 0; n < 4; n++) await new Promise((resolve) => setImmediate(resolve));
}

interface Received {
  /** Without the dates. */
  readonly text: string;
  /** A connection that the service closed before it read everything may be reset, which drops the end of its answers. */
  readonly wasReset: boolean;
}

/** Everything that is received after the pieces were sent and the sending side was closed. */
function received(port: number, script: Script): Promise<Received> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    const chunks: Buffer[] = [];
    let wasReset = false;
    // Only a test that fails waits so long.
    const timer = setTimeout(() => socket.destroy(new Error('neither answered nor closed')), 20_000);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      wasReset = true;
      if (error.code === undefined) reject(error);
    });
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      clearTimeout(timer);
      const text = Buffer.concat(chunks).toString('latin1');
      const date = /\r\nDate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/g;
      resolve({ text: text.replace(date, '\r\nDate: -\r\n'), wasReset });
    });
    socket.on('connect', async () => {
      await turns();
      for (const piece of script) {
        if (!socket.writable) return;
        socket.write(piece);
        await turns();
      }
      socket.end();
    });
  });
}

interface Outcome {
  /** Of each connection. */
  readonly received: readonly Received[];
  /** Method, route, status and bytes of each answer, sorted. */
  readonly log: string[];
}

/**
 * The refusal of malformed bytes, at the end. Behind an answer that is still being made, it is sent or not, as the service
 * closes the connection before or after that answer.
 */
const LATE_REFUSAL =
  /(?<=[\s\S])HTTP\/1\.1 (?:4|5)\d\d [^\r]*\r\nContent-Type: application\/problem\+json\r\n(?:(?!Date)[^\r]+\r\n)+\r\n\{[^\r\n]*\}$/;

function isSame(a: Received, b: Received): boolean {
  if (a.wasReset && b.text.startsWith(a.text)) return true;
  if (b.wasReset && a.text.startsWith(b.text)) return true;
  return a.text.replace(LATE_REFUSAL, '') === b.text.replace(LATE_REFUSAL, '');
}

/** One timetable both ways, because its age is in Last-Modified. */
const VIEWS = viewsOf();

async function outcomeOf(t: Test, scripts: readonly Script[], isOnLane: boolean): Promise<Outcome> {
  const { handler, logged } = setUp({
    views: VIEWS,
    accessLog: 1,
    // Compressed answers depend on time.
    compression: false,
    corsOrigins: ['https://one.example'],
    ownsSocket: isOnLane,
  });
  // Without its lane, the handler gets a response of Node for each request.
  const { port, server } = await serve(t, isOnLane ? handler : (req, res) => handler(req, res));
  // The usual token is known from now on. While a token is verified, requests behind it are handled or not.
  await received(port, [
    Buffer.from(`GET ${PATH}/types HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${AUTHORIZATION}\r\n`),
  ]);
  const all: Received[] = new Array(scripts.length);
  let next = 0;
  const client = async (): Promise<void> => {
    for (let n = next++; n < scripts.length; n = next++) all[n] = await received(port, scripts[n] as Script);
  };
  await Promise.all(Array.from({ length: TOGETHER }, client));
  await server.close({ deadlineMs: 0 });
  const log = logged.map(({ level, fields, message }) => {
    const { method, route, status, bytes } = fields as Record<string, unknown>;
    return [level, message, method, route, status, bytes].join(' ');
  });
  return { received: all, log: log.sort() };
}

export async function assertSameBothWays(t: Test, scripts: readonly Script[]): Promise<void> {
  const lane = await outcomeOf(t, scripts, true);
  const node = await outcomeOf(t, scripts, false);
  for (const [n, script] of scripts.entries()) {
    const [one, other] = [lane.received[n] as Received, node.received[n] as Received];
    if (isSame(one, other)) continue;
    t.equal(one.text, other.text, JSON.stringify(script.map((piece) => piece.toString('latin1'))));
    if (t.counts.fail > 3) return;
  }
  const resets = lane.received.filter(({ wasReset }) => wasReset).length;
  t.ok(resets < scripts.length / 10, `${resets} of ${scripts.length} connections were reset`);
  t.same(lane.log, node.log, 'the log');
  t.ok(lane.log.length > 0, `${lane.log.length} answers`);
}

export const PATH = '/api/v1/schedule';
export const AUTHORIZATION: string = `Authorization: Bearer ${token({ studyGroup: 'A' })}\r\n`;

/** The corpus without requests that take long. */
export const CASES: readonly Buffer[] = rawCases(AUTHORIZATION)
  .filter(({ bytes }) => bytes.length < 3000)
  .map(({ bytes }) => Buffer.from(bytes, 'latin1'));

const TARGETS = [
  PATH,
  `${PATH}?limit=2`,
  `${PATH}?format=msgpack`,
  `${PATH}?format=csv&type=Lab`,
  `${PATH}?format=ics`,
  `${PATH}?studyGroup=nobody`,
  `${PATH}?roomId=${ROOM}&startTime=2024-09-02T09:00:00Z&endTime=2024-09-02T12:00:00Z`,
  `${PATH}?type=Lab&startTime=tomorrow&%FF=1`,
  `${PATH}/personal`,
  `${PATH}/conflicts?roomId=${ROOM}`,
  `${PATH}/types`,
  `${PATH}/all`,
  `${PATH}/events/00000000-0000-4000-8000-000000000001`,
  `${PATH}/`,
  '/api/v1/nowhere',
  `http://b${PATH}?type=Lab`,
  '*',
  `/${'x'.repeat(9000)}`,
];

const FIELDS = [
  'Accept: application/vnd.msgpack',
  'accept: text/csv;q=0.5, */*;q=0.1',
  'Accept: image/png',
  'If-None-Match: *',
  'If-None-Match: "a", W/"b"',
  'If-Match: "a"',
  'If-Unmodified-Since: Mon, 02 Sep 2019 08:00:00 GMT',
  'Origin: https://one.example',
  'Origin: https://other.example',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: Upgrade\r\nUpgrade: websocket',
  'Content-Length: 0',
  'Content-Length: 3',
  'Transfer-Encoding: chunked',
  'Expect: 100-continue',
  'Expect: x',
  'Host: b',
  'X-Request-Id: 1',
  'Lectern-Min-Version: x',
  'a: b\r\n'.repeat(40).trim(),
  'a: b\r\n'.repeat(120).trim(),
];

/** Some tokens are known after their first request. */
const CREDENTIALS = [
  AUTHORIZATION,
  AUTHORIZATION,
  AUTHORIZATION,
  '',
  'Authorization: Bearer a b\r\n',
  'Authorization: Bearer a\r\n',
  'Authorization: Basic a\r\n',
  AUTHORIZATION + AUTHORIZATION,
  ...Array.from({ length: 8 }, (_, n) => `Authorization: Bearer ${token({ sub: `visitor ${n}` })}\r\n`),
];

const usually = <Value>(value: Value, ...others: Value[]): fc.Arbitrary<Value> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant(value) },
    { weight: 2, arbitrary: fc.constantFrom(...others) },
  );

const request: fc.Arbitrary<Buffer> = fc
  .tuple(
    usually('GET', 'HEAD', 'OPTIONS', 'POST', 'TRACE', 'FOO'),
    fc.constantFrom(...TARGETS),
    usually('HTTP/1.1', 'HTTP/1.0', 'HTTP/1.2'),
    usually('Host: a\r\n', '', 'Host: a/b\r\n'),
    fc.constantFrom(...CREDENTIALS),
    fc.oneof(fc.constant<string[]>([]), fc.subarray(FIELDS, { maxLength: 3 })),
  )
  .map(([method, target, version, host, credentials, fields]) =>
    Buffer.from(
      `${method} ${target} ${version}\r\n${host}${credentials}${fields.map((field) => `${field}\r\n`).join('')}\r\n`,
      'latin1',
    ),
  );

/** Position, number of removed bytes, and the inserted bytes. */
const edit = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(4), fc.uint8Array({ maxLength: 6 }));

const damaged: fc.Arbitrary<Buffer> = fc
  .tuple(fc.constantFrom(...CASES), fc.array(edit, { maxLength: 2 }))
  .map(([bytes, edits]) =>
    edits.reduce((before, [where, gone, come]) => {
      const at = Math.floor(where * before.length);
      return Buffer.concat([before.subarray(0, at), come, before.subarray(at + gone)]);
    }, bytes),
  );

/** One to five requests behind each other, in up to four pieces. */
export const script: fc.Arbitrary<Script> = fc
  .tuple(
    fc.array(fc.oneof({ weight: 4, arbitrary: request }, { weight: 1, arbitrary: damaged }), {
      minLength: 1,
      maxLength: 5,
    }),
    fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 }),
  )
  .map(([requests, places]) => {
    const bytes = Buffer.concat(requests);
    const cuts = places.map((place) => Math.floor(place * bytes.length)).sort((a, b) => a - b);
    const ends = [...cuts, bytes.length];
    return ends
      .map((end, n) => bytes.subarray(n === 0 ? 0 : ends[n - 1], end))
      .filter(({ length }) => length > 0);
  });
