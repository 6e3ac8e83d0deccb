/**
 * Answers sent in one piece, bypassing Node's writing of heads, equal Node's own answers. Inside for heads of
 * every length.
 */
import { connect, type Socket } from 'node:net';
import { type Test, test } from 'tap';
import type { NormalisedEvent } from '../../../src/base/model/event.js';
import type { LaneHandler, RequestHandler } from '../../../src/http/handler.js';
import { viewOfEvents } from '../../answer/reading.js';
import { EVENTS, FIRST_MS, ROOM, serve, setUp, token, viewsOf } from '../harness.js';

const AUTHORIZATION = `Authorization: Bearer ${token({ studyGroup: 'A' })}\r\n`;

function get(target: string, more = ''): string {
  return `GET ${target} HTTP/1.1\r\nHost: a\r\n${AUTHORIZATION}${more}\r\n`;
}

/** One connection that stays open; answers are read as they arrive. */
class Connection {
  readonly socket: Socket;
  #received = '';
  #wake: () => void = () => {};

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('data', (chunk) => {
      this.#received += chunk.toString('latin1');
      this.#wake();
    });
    this.socket.on('error', () => {});
    this.socket.on('close', () => this.#wake());
  }

  send(bytes: string): void {
    this.socket.write(bytes, 'latin1');
  }

  /** The next answer: head with its empty line, and body. */
  async next(): Promise<{ head: string; body: string }> {
    for (;;) {
      const end = this.#received.indexOf('\r\n\r\n') + 4;
      if (end >= 4) {
        const head = this.#received.slice(0, end);
        const length = /^HTTP\/1.1 [23]04/.test(head)
          ? 0
          : Number(/\r\nContent-Length: (\d+)/.exec(head)?.[1]);
        if (this.#received.length >= end + length) {
          const body = this.#received.slice(end, end + length);
          this.#received = this.#received.slice(end + length);
          return { head, body };
        }
      }
      if (this.socket.closed) throw new Error('the connection was closed before the whole answer');
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async ask(bytes: string): Promise<{ head: string; body: string }> {
    this.send(bytes);
    return this.next();
  }
}

function withoutDate(head: string): string {
  return head.replace(/\r\nDate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/, '\r\nDate: -\r\n');
}

const TARGETS = [
  '/api/v1/schedule',
  '/api/v1/schedule/personal',
  '/api/v1/schedule/types',
  '/api/v1/schedule/conflicts',
  '/api/v1/schedule?limit=2',
  '/api/v1/schedule?format=msgpack',
  '/api/v1/schedule?studyGroup=nobody',
  `/api/v1/schedule?roomId=${ROOM}&startTime=2024-09-02T09:00:00Z&endTime=2024-09-02T12:00:00Z`,
];

/** One timetable for all services, because its age is in Last-Modified. */
const VIEWS = viewsOf();

/** Pages of two origins that may read answers, of one that may not, and none. */
const PAGES = ['https://one.example', 'https://two.example:8443', 'https://other.example', null];

/** The same handler with Node's response for each request. */
function withResponses(handler: RequestHandler): RequestHandler {
  return (req, res) => handler(req, res);
}

test('bytes equal those of node:http for pages of several origins in turn', async (t) => {
  const corsOrigins = PAGES.slice(0, 2) as string[];
  const own = await serve(t, setUp({ views: VIEWS, corsOrigins }).handler);
  const plain = await serve(
    t,
    withResponses(setUp({ views: VIEWS, corsOrigins, ownsSocket: false }).handler),
  );
  const direct = new Connection(own.port);
  const ordinary = new Connection(plain.port);
  for (const target of TARGETS) {
    for (let n = 0; n < 4; n++) {
      for (const page of PAGES) {
        const request = get(target, page === null ? '' : `Origin: ${page}\r\n`);
        const [one, other] = await Promise.all([direct.ask(request), ordinary.ask(request)]);
        t.equal(withoutDate(one.head), withoutDate(other.head), `${target} for ${page}`);
        t.equal(one.body, other.body, target);
        const allowed = /\r\nAccess-Control-Allow-Origin: ([^\r]*)/.exec(one.head)?.[1];
        t.equal(allowed, page !== null && corsOrigins.includes(page) ? page : undefined);
        t.match(one.head, '\r\nVary: Origin\r\n');
      }
    }
  }
  direct.socket.destroy();
  ordinary.socket.destroy();
});

test('bytes equal those of node:http for new, kept and unmodified answers', async (t) => {
  const plain = await serve(t, withResponses(setUp({ views: VIEWS, ownsSocket: false }).handler));
  const own: [name: string, handler: RequestHandler][] = [
    ['alone', setUp({ views: VIEWS }).handler],
    ['in a response', withResponses(setUp({ views: VIEWS }).handler)],
    ['in a response that is made late', setUp({ views: VIEWS, ownsSocket: false }).handler],
  ];
  for (const [name, handler] of own) {
    const { port } = await serve(t, handler);
    const direct = new Connection(port);
    const ordinary = new Connection(plain.port);
    for (const target of TARGETS) {
      let tag = '';
      for (let n = 0; n < 4; n++) {
        const [one, other] = await Promise.all([direct.ask(get(target)), ordinary.ask(get(target))]);
        t.match(one.head, /^HTTP\/1.1 200 OK\r\n[\s\S]*\r\nDate: [^\r]{29}\r\n/);
        t.equal(withoutDate(one.head), withoutDate(other.head), `${target} ${name}`);
        t.ok(withoutDate(one.head) !== one.head);
        t.equal(one.body, other.body, target);
        tag = /ETag: (.*)\r/.exec(one.head)?.[1] ?? '';
      }
      const conditional = get(target, `If-None-Match: ${tag}\r\n`);
      const [one, other] = await Promise.all([direct.ask(conditional), ordinary.ask(conditional)]);
      t.match(one.head, /^HTTP\/1.1 304 Not Modified\r\n/);
      t.equal(withoutDate(one.head), withoutDate(other.head), `${target} ${name}`);
    }
    direct.socket.destroy();
    ordinary.socket.destroy();
  }
});

test('bytes equal those of node:http for faults', async (t) => {
  const plain = await serve(t, withResponses(setUp({ views: VIEWS, ownsSocket: false }).handler));
  const requests = [
    get('/api/v1/nowhere'),
    get('/api/v1/n%C3%B6where?%'),
    get('/api/v1/schedule?studyGroop=%C3%9C'),
    get('/api/v1/schedule?studyGroup=%FF&startTime=tomorrow'),
    get('/api/v1/schedule', 'Accept: text/html\r\n'),
    'GET /api/v1/schedule HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /api/v1/schedule HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a b\r\n\r\n',
    'GET /api/v1/schedule HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\n\r\n',
    'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n',
    `DELETE /api/v1/schedule HTTP/1.1\r\nHost: a\r\n\r\n`,
  ];
  for (const handler of [setUp({ views: VIEWS }).handler, withResponses(setUp({ views: VIEWS }).handler)]) {
    const { port } = await serve(t, handler);
    const direct = new Connection(port);
    const ordinary = new Connection(plain.port);
    for (const request of [...requests, ...requests]) {
      const [one, other] = await Promise.all([direct.ask(request), ordinary.ask(request)]);
      t.equal(withoutDate(one.head), withoutDate(other.head), request);
      t.equal(one.body, other.body, request);
    }
    direct.socket.destroy();
    ordinary.socket.destroy();
  }
});

test('requests that arrive together are answered in order', async (t) => {
  const { port } = await serve(t, setUp().handler);
  const connection = new Connection(port);
  const targets = [
    ...TARGETS,
    '/api/v1/nowhere',
    ...TARGETS.toReversed(),
    '/api/v1/schedule/all',
    ...TARGETS,
  ];
  const alone: string[] = [];
  for (const target of targets) alone.push((await connection.ask(get(target))).body);
  // Six answers that together fit into one connection.
  for (let from = 0; from < targets.length; from += 6) {
    const some = targets.slice(from, from + 6);
    connection.send(some.map((target) => get(target)).join(''));
    for (let n = 0; n < some.length; n++)
      t.equal((await connection.next()).body, alone[from + n], `answer ${from + n}`);
  }
  connection.socket.destroy();
});

test('the date of repeated answers advances', async (t) => {
  const { port } = await serve(t, setUp().handler);
  const connection = new Connection(port);
  const now = Date.now;
  t.teardown(() => {
    Date.now = now;
  });
  const base = now();
  for (const seconds of [0, 1, 59, 3600, -7200]) {
    Date.now = () => base + seconds * 1000;
    const expected = `Date: ${new Date(base + seconds * 1000).toUTCString()}\r\n`;
    for (let n = 0; n < 3; n++) {
      const { head, body } = await connection.ask(get('/api/v1/schedule?type=Lab'));
      t.ok(head.includes(expected), `${seconds} s`);
      t.equal((JSON.parse(body) as unknown[]).length, 4);
    }
  }
  connection.socket.destroy();
});

const DAY_MS = 86_400_000;
/** So many events, on two days, that a few answers of 55 KB fill the kernel's buffers of an unread connection. */
const MANY: NormalisedEvent[] = Array.from({ length: 300 }, (_, n) => ({
  ...(EVENTS[0] as NormalisedEvent),
  time: FIRST_MS + (n % 4 < 2 ? 0 : DAY_MS),
  endTime: FIRST_MS + (n % 4 < 2 ? 0 : DAY_MS) + 1000,
  id: `00000000-0000-4000-9000-${String(n).padStart(12, '0')}`,
  title: `Lesson ${n}`,
  type: n % 2 === 0 ? 'Lab' : 'Lecture',
}));

for (const way of ['alone', 'in a response']) {
  test(`a slow reader gets its whole answer, and no other client gets a part of it: ${way}`, (t) =>
    leaveUnread(t, way === 'alone'));
}

async function leaveUnread(t: Test, isAlone: boolean): Promise<void> {
  const views = viewsOf();
  views.view = viewOfEvents(MANY, 'uuid');
  const { handler } = setUp({ views });
  const sockets = new Set<Socket>();
  const noting: RequestHandler = (req, res) => {
    sockets.add(req.socket);
    handler(req, res);
  };
  const lane: LaneHandler['lane'] = (request) => {
    sockets.add(request.req.socket);
    handler.lane(request);
  };
  const { port } = await serve(t, isAlone ? Object.assign(noting, { lane }) : noting);
  const fast = new Connection(port);
  const target = '/api/v1/schedule?type=Lab';
  const second = new Date(FIRST_MS + DAY_MS).toISOString();
  const cases: [name: string, target: (n: number) => string][] = [
    ['an answer that is known', () => target],
    ['answers that are made', (n) => `${target}&startTime=2010-01-01T00:00:00.${100 + n}Z`],
    [
      'answers that are views of the snapshot',
      (n) => `/api/v1/schedule?startTime=2010-01-01T00:00:00.${100 + n}Z&endTime=${second}`,
    ],
    ['all there is', (n) => `/api/v1/schedule?startTime=2010-01-01T00:00:00.${100 + n}Z`],
  ];
  for (const [name, targetOf] of cases) {
    const expected = (await fast.ask(get(targetOf(0)))).body;
    t.equal(
      (JSON.parse(expected) as unknown[]).length,
      name === 'all there is' ? MANY.length : MANY.length / 2,
    );
    const slow = new Connection(port);
    slow.socket.pause();
    // Not asked by the handler: a request behind one whose answer waits is not handled.
    const isWaiting = (): boolean =>
      [...sockets].some((each) => each.remotePort === slow.socket.localPort && each.writableLength > 0);
    let asked = 0;
    // One after another without reading, until the kernel accepts no more; then three more.
    for (let more = 3; more > 0 && asked < 800; asked++) {
      if (isWaiting()) more--;
      slow.send(get(targetOf(asked)));
      t.equal((await fast.ask(get(targetOf(asked)))).body, expected);
    }
    t.ok(isWaiting(), `${name}: after ${asked} answers some waited`);
    for (let n = 0; n < 20; n++) t.equal((await fast.ask(get(targetOf(n)))).body, expected);
    slow.socket.resume();
    for (let n = 0; n < asked; n++) {
      const { head, body } = await slow.next();
      t.match(head, /\r\nDate: [^\r]{29}\r\n/);
      t.equal(body, expected, `${name}: answer ${n}`);
    }
    t.equal((await slow.ask(get(targetOf(0)))).body, expected, 'the connection goes on');
    slow.socket.destroy();
  }
  fast.socket.destroy();
}
