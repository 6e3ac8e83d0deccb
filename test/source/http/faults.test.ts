import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { pack } from 'msgpackr';
import { type Test, test } from 'tap';
import { LecternError } from '../../../src/base/errors.js';
import { RETRY_AFTER_MS_MAX } from '../../../src/base/limits.js';
import { parseRetryAfter } from '../../../src/source/http/call.js';
import { type HttpSpec, httpSource } from '../../../src/source/http.js';
import { collect, failureOf } from '../collect.js';
import { type Answer, allClosed, ndjson, records, shown, startUpstream } from './upstream.js';

const VALUES = records(100);
const LINES = ndjson(VALUES);
const HALF = LINES.slice(0, LINES.indexOf('\n', LINES.length / 2) + 1);
const PACKED = gzipSync(LINES);

const SECRETS: Omit<HttpSpec, 'kind' | 'url'> = { headers: { authorization: 'Bearer top-secret' } };

/** Loads from a failing upstream; the failure must be a LecternError without secrets. */
async function failingLoad(
  t: Test,
  answer: Answer,
  spec: Omit<HttpSpec, 'kind' | 'url'> = {},
): Promise<LecternError> {
  const upstream = await startUpstream(t, answer);
  const url = `${upstream.origin}/all?key=top-secret`;
  const failure = await failureOf(collect(httpSource({ kind: 'http', url, ...SECRETS, ...spec })));
  if (!(failure instanceof LecternError)) throw failure;
  t.notMatch(shown(failure), 'top-secret');
  t.ok(failure.message.includes(`${upstream.origin}/all?key=…: `), failure.message);
  t.notMatch(failure.message, '\n', 'one line');
  await allClosed(upstream);
  return failure;
}

test('every status except 200 is a failure with a name', async (t) => {
  const cases: [status: number, text: string][] = [
    [201, '201 Created'],
    [204, '204 No Content'],
    [206, '206 Partial Content'],
    [300, '300 Multiple Choices'],
    [400, '400 Bad Request'],
    [401, '401 Unauthorized'],
    [403, '403 Forbidden'],
    [404, '404 Not Found'],
    [500, '500 Internal Server Error'],
    [502, '502 Bad Gateway'],
    [799, '799'],
  ];
  for (const [status, text] of cases) {
    const failure = await failingLoad(t, (_, response) => {
      // The upstream chooses the reason phrase.
      response.writeHead(status, 'top-secret').end(status === 204 ? undefined : LINES);
    });
    t.equal(failure.code, 'source-unreadable');
    t.ok(failure.message.endsWith(`: the answer is ${text}; expected 200`), failure.message);
    t.equal(failure.retryAfterMs, null);
  }
});

test('Retry-After is reported', async (t) => {
  for (const status of [429, 503]) {
    const failure = await failingLoad(t, (_, response) => {
      response.writeHead(status, { 'retry-after': '120' }).end();
    });
    t.equal(failure.retryAfterMs, 120_000);
    t.match(failure.message, /; it asks to wait 120 s$/);
  }
  const nowMs = Date.UTC(2024, 8, 2, 8);
  const cases: [field: string, ms: number | null][] = [
    ['0', 0],
    [' 5 ', 5000],
    ['Mon, 02 Sep 2024 08:01:00 GMT', 60_000],
    ['Mon, 02 Sep 2024 07:00:00 GMT', 0],
    ['99999999999', RETRY_AFTER_MS_MAX],
    ['soon', null],
    ['', null],
  ];
  for (const [field, ms] of cases) t.equal(parseRetryAfter(field, nowMs), ms, field);
});

test('an upstream that hangs is given up', async (t) => {
  const limits = { headersMsMax: 5000, idleMsMax: 100, totalMsMax: 5000 };
  const part = (response: ServerResponse): void => void response.write(HALF);
  const cases: [what: string, answer: Answer, spec: Omit<HttpSpec, 'kind' | 'url'>, problem: RegExp][] = [
    ['before the headers', () => {}, { ...limits, headersMsMax: 150 }, /no answer came within 0\.15 s$/],
    [
      'before the body',
      (_, response) => response.flushHeaders(),
      limits,
      /nothing came for 0\.1 s, after 0 bytes$/,
    ],
    [
      'in the middle of the body',
      (_, response) => part(response),
      limits,
      new RegExp(`nothing came for 0\\.1 s, after ${HALF.length} bytes$`),
    ],
    [
      'in the middle of gzip data',
      (_, response) =>
        void response.writeHead(200, { 'content-encoding': 'gzip' }).write(PACKED.subarray(0, 99)),
      limits,
      /nothing came for 0\.1 s, after 99 bytes$/,
    ],
    ['for too long in all', () => {}, { ...limits, totalMsMax: 100 }, /not read whole within 0\.1 s$/],
  ];
  for (const [what, answer, spec, problem] of cases) {
    const failure = await failingLoad(t, answer, spec);
    t.equal(failure.code, 'source-unreadable', what);
    t.match(failure.message, problem, what);
  }
});

/** Sends a byte at a time until the connection is closed. */
function trickle(everyMs: number): Answer {
  return (_, response) => {
    let at = 0;
    const timer = setInterval(() => response.write(LINES.charAt(at++ % LINES.length)), everyMs);
    response.on('close', () => clearInterval(timer));
  };
}

test('a slow answer is read unless it is too slow or takes too long', async (t) => {
  const upstream = await startUpstream(t, (_, response) => {
    const lines = LINES.slice(0, 40).match(/.*\n/g) ?? [];
    const timer = setInterval(() => {
      const line = lines.shift();
      if (line === undefined) clearInterval(timer);
      if (line === undefined) response.end();
      else response.write(line);
    }, 40);
  });
  const spec = { idleMsMax: 1000, totalMsMax: 5000 };
  t.equal((await collect(httpSource({ kind: 'http', url: upstream.origin, ...spec }))).records.length, 5);

  const slow = await failingLoad(t, trickle(250), { idleMsMax: 100, totalMsMax: 5000 });
  t.match(slow.message, /nothing came for 0\.1 s/);
  const long = await failingLoad(t, trickle(20), { idleMsMax: 1000, totalMsMax: 300 });
  t.match(long.message, /it was not read whole within 0\.3 s$/);
});

test('a slow reader does not count as a slow upstream', async (t) => {
  const body = ndjson(records(60_000));
  const upstream = await startUpstream(t, (_, response) => response.end(body));
  let count = 0;
  const source = httpSource({ kind: 'http', url: upstream.origin, idleMsMax: 200 });
  await source.load({
    row() {
      const untilMs = performance.now() + (++count % 20_000 === 0 ? 500 : 0);
      while (performance.now() < untilMs);
    },
    fault() {},
  });
  t.equal(count, 60_000);
});

test('an answer cut short never counts as whole', async (t) => {
  const close: (sent: string | Buffer, headers: Record<string, string | number>) => Answer =
    (sent, headers) => (_, response) => {
      response.writeHead(200, headers);
      response.write(sent, () => response.destroy());
    };
  const array = JSON.stringify(VALUES);
  const cases: [what: string, answer: Answer, problem: RegExp][] = [
    [
      'with a length, between two records',
      close(HALF, { 'content-length': LINES.length }),
      new RegExp(`the connection was closed, after ${HALF.length} of ${LINES.length} bytes of the answer$`),
    ],
    [
      'in chunks, between two records',
      close(HALF, {}),
      /the connection was closed, after \d+ bytes of the answer$/,
    ],
    ['in the middle of a record', close(LINES.slice(0, 500), {}), /the connection was closed/],
    ['in the middle of an array', close(array.slice(0, 500), {}), /the connection was closed/],
    [
      'in the middle of gzip data',
      close(PACKED.subarray(0, 99), { 'content-encoding': 'gzip' }),
      /was closed/,
    ],
    [
      'by a proxy that ends the gzip data early and the message well',
      (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(PACKED.subarray(0, 99)),
      /the gzip data ends early, after 99 bytes/,
    ],
    [
      'an array that ends early',
      (_, response) => response.end(array.slice(0, 500)),
      /the source ends inside/,
    ],
    ['before the first byte', (_, response) => response.destroy(), /the connection was closed$/],
  ];
  for (const [what, answer, problem] of cases) {
    const failure = await failingLoad(t, answer);
    t.match(failure.code, /^source-(unreadable|malformed)$/, what);
    t.match(failure.message, problem, what);
  }
});

/** Answers every connection with the given bytes and closes it. */
async function startBareServer(t: Test, answer: string | Buffer): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {}).on('data', () => socket.end(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('an answer that ends with its connection is accepted only if the data marks its own end', async (t) => {
  const head = 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n';
  const cases: [what: string, body: string | Buffer, isTaken: boolean][] = [
    ['lines', LINES, false],
    ['a sequence', Buffer.concat(VALUES.map((value) => pack(value))), false],
    ['an array', JSON.stringify(VALUES), true],
    ['a MessagePack array', pack(VALUES), true],
    ['a gzipped file of lines', PACKED, true],
  ];
  for (const [what, body, isTaken] of cases) {
    const url = await startBareServer(t, Buffer.concat([Buffer.from(head), Buffer.from(body)]));
    const load = collect(httpSource({ kind: 'http', url }));
    if (isTaken) t.equal((await load).records.length, VALUES.length, what);
    else t.match((await failureOf(load)).message, /it may be cut: the transfer has no length/, what);
  }
  const encoded = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n`;
  const url = await startBareServer(t, Buffer.concat([Buffer.from(encoded), PACKED]));
  t.equal(
    (await collect(httpSource({ kind: 'http', url }))).records.length,
    VALUES.length,
    'lines, gzip on the way',
  );
});

test('content of another kind is malformed, and the message names the kind', async (t) => {
  const cases: [what: string, answer: Answer, problem: RegExp][] = [
    ['nothing', (_, response) => response.end(), /the source is empty/],
    ['white space', (_, response) => response.end(' \n'), /empty but for white space/],
    [
      'a page for people',
      (_, response) =>
        response.setHeader('content-type', 'application/json').end('<!doctype html><p>Sign in'),
      /found HTML or XML; expected NDJSON/,
    ],
    ['bytes', (_, response) => response.end(Buffer.alloc(5000, 0x07)), /found the bytes 07 07 07 07/],
    ['no gzip data', (_, response) => response.setHeader('content-encoding', 'gzip').end(LINES), /corrupt/],
  ];
  for (const [what, answer, problem] of cases) {
    const failure = await failingLoad(t, answer);
    t.equal(failure.code, 'source-malformed', what);
    t.match(failure.message, problem, what);
  }
});

test('an unrequested encoding is a failure', async (t) => {
  for (const encoding of ['br', 'zstd', 'gzip, gzip']) {
    const failure = await failingLoad(t, (_, response) => {
      response.setHeader('content-encoding', encoding).end(LINES);
    });
    const problem = `its Content-Encoding is "${encoding}"; expected gzip or none`;
    t.ok(failure.message.endsWith(problem), failure.message);
  }
});

test('more bytes than allowed are a failure', async (t) => {
  const failure = await failingLoad(t, (_, response) => response.end(LINES), { bytesMax: LINES.length - 1 });
  t.match(failure, { code: 'source-too-large', message: `it has more than ${LINES.length - 1} bytes` });
});

test('an upstream that is unreachable or does not speak HTTP is a failure', async (t) => {
  const closed = createServer();
  closed.listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  const url = `http://127.0.0.1:${port}`;
  const refused = await failureOf(collect(httpSource({ kind: 'http', url })));
  const message = `cannot read ${url}/: the connection was refused`;
  t.match(refused, { code: 'source-unreadable', message });

  const other = await startBareServer(t, '220 mail.example.org ESMTP\r\n');
  const failure = await failureOf(collect(httpSource({ kind: 'http', url: other })));
  t.match(failure, { code: 'source-unreadable', message: /its answer is not valid HTTP \(HPE_/ });

  const tls = await failureOf(collect(httpSource({ kind: 'http', url: other.replace('http:', 'https:') })));
  t.equal(tls.code, 'source-unreadable');

  const long = `HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(100_000)}\r\n\r\n`;
  const headers = await failureOf(collect(httpSource({ kind: 'http', url: await startBareServer(t, long) })));
  t.match(headers.message, /the header fields of the answer are too large$/);
});

test('a load after a failure starts afresh', async (t) => {
  const faults: Answer[] = [
    (_, response) => response.writeHead(503).end(),
    () => {},
    (_, response) => response.destroy(),
    (_, response) => void response.write(HALF, () => response.destroy()),
    (_, response) => response.end('<html>'),
  ];
  let fault: Answer | undefined;
  const upstream = await startUpstream(t, (request, response) => {
    if (fault === undefined) response.setHeader('etag', '"one"').end(LINES);
    else fault(request, response);
  });
  const source = httpSource({ kind: 'http', url: upstream.origin, headersMsMax: 1000 });
  for (fault of faults) {
    await failureOf(collect(source));
    fault = undefined;
    t.equal((await collect(source)).records.length, VALUES.length);
  }
  await allClosed(upstream);
});

test('gzip data that unpacks to too many bytes, or for too long, is given up', async (t) => {
  const packed = gzipSync(Buffer.concat([Buffer.from('{}'), Buffer.alloc(64 * 1024 * 1024, '\n')]));
  for (const encoding of ['gzip', 'identity']) {
    const answer: Answer = (_, response) => {
      response.writeHead(200, { 'content-encoding': encoding, 'content-length': packed.length }).end(packed);
    };
    const tooLarge = await failingLoad(t, answer, { bytesMax: 1024 * 1024 });
    t.equal(tooLarge.code, 'source-too-large');
    t.match(tooLarge.message, /it has more than 1048576 bytes, unpacked from \d+$/);
    const tooLong = await failingLoad(t, answer, { totalMsMax: 100 });
    t.equal(tooLong.code, 'source-unreadable');
    t.match(tooLong.message, /it was not read whole within 0\.1 s$/);
  }
});
