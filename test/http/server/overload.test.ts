/** Overloads of a server. Inside, because its limit and the cost of an answer are set. */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Test, test } from 'tap';
import type { RequestHandler } from '../../../src/http/handler.js';
import { OVERLOAD_RECOVERY_MS, OVERLOAD_REQUESTS_MIN, Overload } from '../../../src/http/server/overload.js';
import { HttpServer } from '../../../src/http/server/server.js';
import { until } from '../../waiting/until.js';
import { setUp } from '../harness.js';

const BODY = 'answered';
const PAGE = 'https://timetable.example.org';
/** So many requests that even half of them make a long turn. */
const CROWD = 4 * OVERLOAD_REQUESTS_MIN;
const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

function busyFor(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

/** Milliseconds of the thread for each answer. */
function handlerOf(costMs: number): RequestHandler {
  return (_req, res) => {
    busyFor(costMs);
    res.writeHead(200, ['Content-Length', String(BODY.length)]);
    res.end(BODY);
  };
}

async function listen(
  t: Test,
  costMs: number,
  overloadMs: number,
  onOverload?: (isOverloaded: boolean) => void,
): Promise<{ server: HttpServer; port: number }> {
  const server = new HttpServer(handlerOf(costMs), { overloadMs, onOverload });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close({ deadlineMs: 0 }));
  return { server, port };
}

/** Clients that repeat their request after each answer until stopped. */
function crowd(port: number, clients: number): { stop(): void; statuses: Map<string, number> } {
  const statuses = new Map<string, number>();
  const sockets = Array.from({ length: clients }, () => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      const status = chunk.toString('latin1', 9, 12);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      socket.write(REQUEST);
    });
    socket.write(REQUEST);
    return socket;
  });
  return {
    statuses,
    stop() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** The received bytes, up to the given number of answers or the end of the connection. */
function exchange(socket: Socket, bytes: string, answers: number): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const over = (): void => {
      socket.off('data', onData);
      socket.off('close', over);
      resolve(text);
    };
    function onData(chunk: Buffer): void {
      text += chunk.toString('latin1');
      if (text.split('HTTP/1.1 ').length - 1 === answers && /(?:answered|\}|\r\n\r\n)$/.test(text)) over();
    }
    socket.on('data', onData);
    socket.once('close', over);
    socket.write(bytes);
  });
}

/** Sends requests until one answer is a refusal: the first request of a turn is never refused. */
async function refusalOf(port: number, bytes: string, answers = 1): Promise<string> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    const text = await exchange(socket, bytes, answers);
    socket.destroy();
    if (text.includes(' 503 ')) return text;
  }
  return 'never refused';
}

test('excess requests get the constant refusal until the load falls', async (t) => {
  const changes: boolean[] = [];
  const { server, port } = await listen(t, 1, 10, (isOverloaded) => changes.push(isOverloaded));
  const clients = crowd(port, CROWD);
  t.teardown(() => clients.stop());
  await until(() => server.load.isOverloaded);

  const refused = await refusalOf(port, REQUEST);
  const [head = '', body = ''] = refused.split('\r\n\r\n');
  t.match(head, /^HTTP\/1\.1 503 Service Unavailable\r\n/);
  t.match(head, /\r\nContent-Type: application\/problem\+json\r\n/);
  t.match(head, /\r\nRetry-After: 1\r\n/);
  t.match(head, /\r\nDate: \w{3}, .* GMT\r\n/);
  t.match(head, /\r\nConnection: keep-alive\r\n/);
  t.notMatch(head, /\r\n(?:Vary|Access-Control)/, 'nothing of origins where none is allowed');
  t.match(JSON.parse(body), { type: 'urn:lectern:problem:overloaded', status: 503, code: 'overloaded' });
  t.equal(/Content-Length: (\d+)/.exec(head)?.[1], String(body.length));

  const headOnly = await refusalOf(port, REQUEST.replace('GET', 'HEAD'));
  t.match(headOnly, /^HTTP\/1\.1 503 [^{]*\r\n\r\n$/, 'HEAD gets no body');
  const old = await refusalOf(port, 'GET / HTTP/1.0\r\nHost: a\r\n\r\n');
  t.match(old, /^HTTP\/1\.1 503 [\s\S]*Connection: close[\s\S]*\}$/, 'HTTP/1.0');
  const last = await refusalOf(port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  t.match(last, /Connection: close/);
  const withBody = await refusalOf(port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc');
  t.match(withBody, /^HTTP\/1\.1 503 [\s\S]*Connection: close/, 'the body is not read');
  const pipelined = await refusalOf(port, REQUEST.repeat(5), 5);
  t.equal(pipelined.split(/HTTP\/1\.1 (?:200 OK|503 Service Unavailable)\r\n/).length - 1, 5, 'five answers');

  t.ok((clients.statuses.get('200') ?? 0) > 50, 'others are answered meanwhile');
  t.ok(server.load.refused > 100, `${server.load.refused} refused`);
  clients.stop();
  await until(() => !server.load.isOverloaded);
  t.same(changes, [true, false]);
  t.equal(server.load.overloads, 1);
  const { refused: before } = server.load;
  const socket = connect(port, '127.0.0.1');
  for (let n = 0; n < 20; n++) t.match(await exchange(socket, REQUEST, 1), /^HTTP\/1\.1 200 /);
  socket.destroy();
  t.equal(server.load.refused, before);
});

test('an allowed page can read a refusal, and its preflights are answered', async (t) => {
  // Its head is too long to be sent directly.
  const long = `https://${'long.'.repeat(300)}example`;
  const corsOrigins = [PAGE, long];
  const { handler } = setUp({ corsOrigins });
  const server = new HttpServer(
    (req, res) => {
      if (req.method === 'GET') busyFor(1);
      handler(req, res);
    },
    { overloadMs: 10, corsOrigins },
  );
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close({ deadlineMs: 0 }));
  const clients = crowd(port, CROWD);
  t.teardown(() => clients.stop());
  await until(() => server.load.isOverloaded);

  const request = (method: string, origin: string, more = '', version = '1.1'): string =>
    `${method} /api/v1/schedule HTTP/${version}\r\nHost: a\r\nOrigin: ${origin}\r\n${more}\r\n`;
  for (const text of [
    request('GET', PAGE),
    request('HEAD', PAGE),
    request('GET', PAGE).repeat(2),
    request('GET', PAGE, '', '1.0'),
    request('POST', PAGE, 'Content-Length: 0\r\n'),
    request('GET', long),
  ]) {
    const answers = text.split('HTTP/1.').length - 1;
    const refused = await refusalOf(port, text, answers);
    const head = /HTTP\/1\.1 503 [\s\S]*?\r\n\r\n/.exec(refused)?.[0] ?? '';
    const origin = text.includes(long) ? long : PAGE;
    t.ok(head.includes(`\r\nAccess-Control-Allow-Origin: ${origin}\r\n`), text.slice(0, 60));
    t.match(head, /\r\nAccess-Control-Expose-Headers: .*Retry-After/);
    t.match(head, /\r\nVary: Origin\r\n/);
    t.match(head, /\r\nRetry-After: 1\r\n/);
    t.match(head, /\r\nX-Content-Type-Options: nosniff\r\n/);
  }
  for (const text of [request('GET', 'https://other.example.org'), REQUEST]) {
    const refused = await refusalOf(port, text);
    t.match(refused, /^HTTP\/1\.1 503 [\s\S]*\r\nVary: Origin\r\n/);
    t.notMatch(refused, /access-control/i);
  }

  const asking = 'Access-Control-Request-Method: GET\r\n';
  const { refused: before } = server.load;
  for (let n = 0; n < 20; n++) {
    const socket = connect(port, '127.0.0.1');
    const answer = await exchange(socket, request('OPTIONS', PAGE, asking), 1);
    socket.destroy();
    if (!answer.startsWith('HTTP/1.1 204 ')) t.fail(answer);
    else if (n === 0) t.match(answer, /\r\nAccess-Control-Allow-Methods: GET, HEAD\r\n/);
  }
  t.ok(server.load.refused > before, 'while others were refused');
  t.match(await refusalOf(port, request('OPTIONS', 'https://other.example.org', asking)), /^HTTP\/1\.1 503 /);
});

test('with the limit 0, no request is ever refused', async (t) => {
  const { server, port } = await listen(t, 1, 0);
  const clients = crowd(port, CROWD);
  t.teardown(() => clients.stop());
  await until(
    () => clients.statuses.get('200') ?? 0,
    (seen) => seen >= 300,
  );
  clients.stop();
  t.same([...clients.statuses.keys()], ['200']);
  t.match(server.load, { isOverloaded: false, refused: 0 });
});

test('long turns are no overload while few requests wait', async (t) => {
  const { server, port } = await listen(t, 0.05, 50);
  let answered = 0;
  let wrong = 0;
  const sockets = Array.from({ length: 60 }, () => {
    const socket = connect(port, '127.0.0.1');
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1');
      answered += text.split('HTTP/1.1 200 ').length - 1;
      wrong += text.split('HTTP/1.1 503 ').length - 1;
    });
    return socket;
  });
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
  });
  // All clients send right before the thread is blocked, and again during the block.
  for (let round = 0; round < 2; round++) {
    for (const socket of sockets) socket.write(REQUEST);
    busyFor(150);
    await until(
      () => answered + wrong,
      (seen) => seen === 60 * (round + 1),
    );
  }
  t.equal(wrong, 0);
  t.match(server.load, { isOverloaded: false, refused: 0, overloads: 0 });
});

test('requests that wait within the limit are not refused, even on a busy thread', async (t) => {
  const { server, port } = await listen(t, 1, 2000);
  const clients = crowd(port, 20);
  t.teardown(() => clients.stop());
  await until(
    () => clients.statuses.get('200') ?? 0,
    (seen) => seen >= 100,
  );
  clients.stop();
  t.same([...clients.statuses.keys()], ['200']);
  t.equal(server.load.refused, 0);
});

test('a few clients are never refused, even if their answers are late', async (t) => {
  const { server, port } = await listen(t, 20, 10);
  const clients = crowd(port, OVERLOAD_REQUESTS_MIN - 2);
  t.teardown(() => clients.stop());
  await until(
    () => clients.statuses.get('200') ?? 0,
    (seen) => seen >= 40,
  );
  clients.stop();
  t.same([...clients.statuses.keys()], ['200']);
  t.match(server.load, { isOverloaded: false, refused: 0, overloads: 0 });
});

/** Requests of 1 ms, all in one turn; returns how many are refused. */
function crowdedTurn(overload: Overload, requests: number): number {
  let refused = 0;
  for (let n = 0; n < requests; n++) {
    if (overload.refuses()) {
      overload.count();
      refused++;
    } else busyFor(1);
  }
  return refused;
}

test('an overload is detected within one turn, and lasts while most requests are refused', async (t) => {
  const overload = new Overload(50);
  overload.start();
  t.teardown(() => overload.stop());
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  for (let n = 0; n < OVERLOAD_REQUESTS_MIN; n++) overload.refuses();
  busyFor(20);
  await turn();
  t.ok(overload.isWatching);
  // It would end after a second.
  const refused = crowdedTurn(overload, 1000);
  t.ok(overload.counts.isOverloaded);
  t.ok(refused > 500, `${refused} refused in the same turn`);
  await turn();
  // The thread is idle after each turn because it refuses so many, although the load is three times the capacity.
  const endMs = performance.now() + 2 * OVERLOAD_RECOVERY_MS;
  // The load is measured in real time, so it must last.
  while (performance.now() < endMs) {
    crowdedTurn(overload, 15);
    // The thread rests between the turns.
    await delay(2);
  }
  t.equal(overload.counts.isOverloaded, true);
  // The same with fewer.
  const fittingMs = performance.now() + 4 * OVERLOAD_RECOVERY_MS;
  while (performance.now() < fittingMs && overload.counts.isOverloaded) {
    crowdedTurn(overload, 2);
    // Requests refused for another reason do not prolong the overload.
    for (let n = 0; n < 5; n++) overload.count();
    // The thread rests between the turns.
    await delay(2);
  }
  t.equal(overload.counts.isOverloaded, false);
  t.equal(overload.counts.overloads, 1);
});

test('turns are timed only after a long turn with many requests, and for a limited time', async (t) => {
  const overload = new Overload(100);
  overload.start();
  t.teardown(() => overload.stop());
  /** Runs one turn: first its requests, then other work for `ms`. */
  const turn = async (requests: number, ms: number): Promise<boolean> => {
    for (let n = 0; n < requests; n++) overload.refuses();
    busyFor(ms);
    await new Promise((resolve) => setImmediate(resolve));
    return overload.isWatching;
  };
  t.equal(await turn(OVERLOAD_REQUESTS_MIN - 1, 60), false, 'few requests');
  t.equal(await turn(1, 0), false, 'a short turn');
  t.equal(await turn(OVERLOAD_REQUESTS_MIN, 60), true, 'a long turn');
  await until(() => !overload.isWatching);
  // A turn without an end: the next sampled request notices it.
  for (let n = 0; n < OVERLOAD_REQUESTS_MIN; n++) overload.refuses();
  busyFor(60);
  for (let n = 0; n < OVERLOAD_REQUESTS_MIN; n++) overload.refuses();
  t.equal(overload.isWatching, true, 'within the turn');
  overload.stop();
  t.equal(overload.isWatching, false);
  t.equal(await turn(OVERLOAD_REQUESTS_MIN, 60), false, 'nor after its end');
});
