/** Answers to good requests: bodies, header fields, pages, conditional requests, all synchronous. */
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { decode } from '@msgpack/msgpack';
import { test } from 'tap';
import type { Read } from '../../src/answer/answer.js';
import type { Body } from '../../src/answer/body.js';
import { bearer, EVENTS, type Reply, serve, setUp, token, viewsOf } from './harness.js';

const GOOD = bearer({ studyGroup: 'A' });
const DIRECTORIES = ['/rooms', '/courses', '/groups', '/lecturers'];
const LISTS = ['', '/personal', '/all', '/types', '/conflicts', ...DIRECTORIES].map(
  (path) => `/api/v1/schedule${path}`,
);

function titles(reply: Reply): unknown[] {
  return (reply.json() as { title: string }[]).map((event) => event.title);
}

test('every list has its header fields and its length, and is an array', async (t) => {
  const { send } = await serve(t, setUp().handler);
  // The overlap is a clash of the room and of the lecturer.
  const counts = [11, 6, 11, 2, 2, 1, 0, 2, 1];
  for (const [i, path] of LISTS.entries()) {
    const reply = await send(path, { headers: GOOD });
    t.equal(reply.status, 200, path);
    t.equal((reply.json() as unknown[]).length, counts[i], path);
    t.match(reply.headers, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(reply.body.length),
      etag: /^W\/"[\x21\x23-\x7e]+"$/,
      'cache-control': 'private, no-cache',
      vary: 'Accept, Accept-Encoding, Authorization',
      'x-total-count': String(counts[i]),
      'last-modified': /GMT$/,
    });
    t.equal(reply.headers.link, undefined, 'there is no further page');
    t.equal(reply.headers['transfer-encoding'], undefined);
  }
});

test('HEAD answers like GET, without the body', async (t) => {
  const { send } = await serve(t, setUp({ dev: true }).handler);
  const paths = [...LISTS, `${LISTS[0]}?limit=2`, '/nowhere', `${LISTS[0]}?x=1`, '/health', '/api/v1/docs'];
  for (const path of paths) {
    const get = await send(path, { headers: GOOD });
    const head = await send(path, { method: 'HEAD', headers: GOOD });
    t.equal(head.status, get.status, path);
    t.equal(head.body.length, 0, path);
    const { date: _, ...wanted } = get.headers;
    const { date: __, ...found } = head.headers;
    if (path !== '/health') t.same(found, wanted, path);
    t.ok(Number(found['content-length']) > 0, path);
  }
});

test('the entity tag gives 304 without a body, and changes with its content', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const tags = new Set<string | undefined>();
  const asked: [path: string, headers: Record<string, string>][] = [
    ...LISTS.map((path): [string, Record<string, string>] => [path, GOOD]),
    [`${LISTS[0]}?limit=2`, GOOD],
    [`${LISTS[0]}?studyGroup=A`, GOOD],
    [LISTS[0] as string, { ...GOOD, Accept: 'application/msgpack' }],
    [LISTS[1] as string, bearer({ studyGroup: 'B & <C>, "D"' })],
  ];
  for (const [path, headers] of asked) {
    const first = await send(path, { headers });
    const etag = first.headers.etag as string;
    tags.add(etag);
    for (const condition of [etag, etag.slice(2), `"x", ${etag}`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const second = await send(path, { method, headers: { ...headers, 'If-None-Match': condition } });
        t.equal(second.status, 304, `${path} ${condition}`);
        t.equal(second.body.length, 0);
        t.equal(second.headers.etag, etag);
        t.equal(second.headers['cache-control'], 'private, no-cache');
        t.equal(second.headers.vary, first.headers.vary);
      }
    }
    t.equal((await send(path, { headers: { ...headers, 'If-None-Match': '"x"' } })).status, 200);
  }
  t.equal(tags.size, asked.length, 'all differ');
  const again = await serve(t, setUp().handler);
  t.equal(
    (await again.send(LISTS[0] as string, { headers: GOOD })).headers.etag,
    [...tags][0],
    'a replica agrees',
  );
});

test('pages are linked from the first to the last, for any query', async (t) => {
  const { send } = await serve(t, setUp({ basePath: '/a/b' }).handler);
  const query = `limit=2&studyGroup=${encodeURIComponent('B & <C>, "D"')}&startTime=2024-09-02T08:00:00+00:00`;
  let path: string | undefined = `/a/b/schedule/?${query}`;
  const seen: unknown[] = [];
  for (let pages = 0; path !== undefined; pages++) {
    const reply: Reply = await send(path, { headers: GOOD });
    t.equal(reply.status, 200, path);
    t.equal(reply.headers['x-total-count'], '5');
    seen.push(...titles(reply));
    const link: string | undefined = reply.headers.link as string | undefined;
    if (link === undefined) {
      t.equal(pages, 2);
      break;
    }
    t.match(link, /^<\/a\/b\/schedule\?[!-;=?-~]+>; rel="next"$/);
    path = link.slice(1, link.indexOf('>'));
  }
  t.same(seen, ['Lesson 1', 'Lesson 3', 'Lesson 5', 'Lesson 7', 'Lesson 9']);
});

test('Accept and format choose the format; the content type has its canonical form', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const cases: [query: string, accept: string, contentType: string][] = [
    ['', 'application/x-msgpack', 'application/vnd.msgpack'],
    ['', 'application/json;q=0.1, application/msgpack', 'application/vnd.msgpack'],
    ['?format=msgpack', 'application/json', 'application/vnd.msgpack'],
    ['?format=json', 'application/msgpack', 'application/json; charset=utf-8'],
    ['?format=json', 'text/html', 'application/json; charset=utf-8'],
    ['', 'text/html, */*;q=0.1', 'application/json; charset=utf-8'],
  ];
  for (const path of LISTS) {
    const json = (await send(path, { headers: GOOD })).json();
    for (const [query, accept, contentType] of cases) {
      const reply = await send(path + query, { headers: { ...GOOD, Accept: accept } });
      t.equal(reply.headers['content-type'], contentType, `${path}${query} ${accept}`);
      t.same(contentType.includes('msgpack') ? decode(reply.body) : reply.json(), json);
    }
  }
});

test('OPTIONS gives 204 and Allow without a token, also for the server as a whole', async (t) => {
  const { send, raw } = await serve(t, setUp().handler);
  for (const path of LISTS) {
    const reply = await send(path, { method: 'OPTIONS' });
    t.equal(reply.status, 204);
    t.equal(reply.headers.allow, 'GET, HEAD, OPTIONS');
  }
  const whole = await raw('OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  t.match(whole, /^HTTP\/1.1 204 [\s\S]*Allow: GET, HEAD, OPTIONS\r\n/);
  t.match(await raw('GET * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'), /^HTTP\/1.1 404 /);
  t.equal((await send('/nowhere', { method: 'OPTIONS' })).status, 404);
});

test('a trailing slash and encoded letters are the same path; other case or more slashes are not', async (t) => {
  const { send, raw } = await serve(t, setUp().handler);
  for (const [path, status] of [
    ['/api/v1/schedule/', 200],
    ['/api/v1/%73chedule', 200],
    ['/api/v1/schedule/all/', 200],
    ['/api/v1/schedule?', 200],
    ['/api/v1/schedule/?limit=1', 200],
    ['/api/v1/SCHEDULE', 404],
    ['/api/v1//schedule', 404],
    ['/api/v1/schedule%2Fall', 404],
    ['/api/v1/schedule;v=1', 404],
    ['/api/v1/schedule%00', 404],
    ['/api/v1/../v1/schedule', 404],
    ['/schedule', 404],
    ['/', 404],
  ] as const) {
    t.equal((await send(path, { headers: GOOD })).status, status, path);
  }
  const absolute = (target: string) =>
    raw(`GET ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token()}\r\nConnection: close\r\n\r\n`);
  t.match(await absolute('http://a.example:80/api/v1/schedule?limit=1'), /^HTTP\/1.1 200 /);
  t.match(await absolute('HTTPS://a.example/api/v1/schedule'), /^HTTP\/1.1 200 /);
  t.match(await absolute('http://a.example'), /^HTTP\/1.1 404 /);
  t.match(await absolute('http://a.example?x=1'), /^HTTP\/1.1 404 /);
  t.match(await absolute('/api/v1/schedule#x'), /^HTTP\/1.1 404 /);
});

test('an unencoded "+" of an offset, which arrives as a space, is read as a plus', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const reply = await send('/api/v1/schedule?endTime=2024-09-02T12:00:00+02:00', { headers: GOOD });
  t.same(titles(reply), ['Lesson 0', 'Lesson 1']);
});

test('body chunks arrive in order and whole, gathered or not', async (t) => {
  for (const size of [1, 100, 3000, 100_000]) {
    const chunks = Array.from({ length: 40 }, (_, i) => {
      // Shared memory, like a snapshot's: a view into its middle.
      const memory = new Uint8Array(new SharedArrayBuffer(size + 2), 1, size);
      return memory.fill(65 + (i % 26));
    });
    const body: Body = { byteLength: 40 * size, makeChunks: () => chunks };
    const views = viewsOf();
    const read: Read = {
      format: null,
      isRelative: false,
      modifiedMs: null,
      entityTag: () => 'W/"x"',
      execute: () => ({ total: 40, count: 40, nextCursor: null, body }),
    };
    views.view = Object.assign(Object.create(views.view), { schedule: () => ({ read }) });
    const { send } = await serve(t, setUp({ views }).handler);
    const reply = await send('/api/v1/schedule', { headers: GOOD });
    t.ok(reply.body.equals(Buffer.concat(chunks)), `${size} bytes a chunk`);
    t.equal(reply.headers['content-length'], String(body.byteLength));
  }
});

test('a request takes its snapshot once', async (t) => {
  const views = viewsOf();
  let taken = 0;
  const counting = {
    status: views.status,
    changes: null,
    listen: views.listen,
    source: views.source,
    publication: views.publication,
    summary: views.summary,
    get view() {
      taken++;
      return views.view;
    },
  };
  const { send } = await serve(t, setUp({ views: counting }).handler);
  for (const path of LISTS) await send(path, { headers: GOOD });
  t.equal(taken, LISTS.length);
});

test('for a known token, the answer is written before the handler returns', async (t) => {
  const { handler } = setUp();
  const credential = `Bearer ${token()}`;
  const call = () => {
    const req = new IncomingMessage(new Socket());
    req.method = 'GET';
    req.url = '/api/v1/schedule';
    req.httpVersion = '1.1';
    req.httpVersionMajor = 1;
    req.rawHeaders = ['Host', 'a', 'Authorization', credential];
    const res = new ServerResponse(req);
    handler(req, res);
    return res;
  };
  const first = call();
  t.equal(first.headersSent, false, 'the token is verified first');
  while (!first.headersSent) await new Promise((resolve) => setImmediate(resolve));
  const second = call();
  t.equal(second.headersSent, true);
  t.equal(second.writableEnded, true);
  t.equal(second.statusCode, 200);
});

test('an empty timetable is an empty array everywhere', async (t) => {
  const { send } = await serve(t, setUp({ views: viewsOf([]) }).handler);
  for (const path of LISTS) {
    const reply = await send(path, { headers: GOOD });
    t.equal(reply.text, '[]', path);
    t.equal(reply.headers['x-total-count'], '0');
  }
  t.equal(EVENTS.length, 11, 'the other tests have events');
});

test('If-Match and If-Unmodified-Since that fail give 412, for new and for kept answers', async (t) => {
  const views = viewsOf(EVENTS);
  const { send } = await serve(t, setUp({ views }).handler);
  const builtAtMs = views.view?.summary.builtAtMs ?? 0;
  const secondOf = (plus: number): string => new Date(builtAtMs + 1000 * plus).toUTCString();
  const path = '/api/v1/schedule/all';
  const { etag = '' } = (await send(path, { headers: GOOD })).headers;
  const strong = etag.slice(2);
  const old = 'Thu, 01 Jan 1970 00:00:00 GMT';
  const cases: [fields: Record<string, string | string[]>, status: number][] = [
    [{ 'If-Match': '*' }, 200],
    [{ 'If-Match': ' * ' }, 200],
    [{ 'If-Match': etag }, 412],
    [{ 'If-Match': strong }, 412],
    [{ 'If-Match': `"x", ${etag}` }, 412],
    [{ 'If-Match': '' }, 412],
    [{ 'If-Match': '*', 'If-None-Match': etag }, 304],
    [{ 'If-Match': etag, 'If-None-Match': etag }, 412],
    [{ 'If-Unmodified-Since': old }, 412],
    [{ 'If-Unmodified-Since': old, 'If-None-Match': etag }, 412],
    [{ 'If-Unmodified-Since': secondOf(-1) }, 412],
    [{ 'If-Unmodified-Since': secondOf(0) }, 200],
    [{ 'If-Unmodified-Since': secondOf(0), 'If-None-Match': etag }, 304],
    [{ 'If-Unmodified-Since': secondOf(9) }, 200],
    [{ 'If-Unmodified-Since': 'Sunday, 06-Nov-94 08:49:37 GMT' }, 412],
    [{ 'If-Unmodified-Since': 'Sun Nov  6 08:49:37 1994' }, 412],
    // No dates of RFC 9110 section 5.6.7, or two of them.
    [{ 'If-Unmodified-Since': '1970-01-01T00:00:00Z' }, 200],
    [{ 'If-Unmodified-Since': 'Sat, 31 Feb 1970 00:00:00 GMT' }, 200],
    [{ 'If-Unmodified-Since': '0' }, 200],
    [{ 'If-Unmodified-Since': '' }, 200],
    [{ 'If-Unmodified-Since': [old, old] }, 200],
    [{ 'If-Match': '*', 'If-Unmodified-Since': old }, 200],
  ];
  for (let round = 0; round < 3; round++) {
    for (const [fields, status] of cases) {
      const reply = await send(path, { headers: { ...GOOD, ...fields } });
      t.equal(reply.status, status, JSON.stringify(fields));
      if (status === 412) t.match(reply.json(), { code: 'precondition-failed' });
    }
  }
  const { status, body } = await send(path, { method: 'HEAD', headers: { ...GOOD, 'If-Match': etag } });
  t.same([status, body.length], [412, 0]);
  t.equal(
    (await send(path, { headers: { 'If-Match': etag } })).status,
    401,
    'it comes after the other checks',
  );
  t.equal((await send(`${path}?x=1`, { headers: { ...GOOD, 'If-Match': etag } })).status, 400);
  t.equal((await send(`${path}?x=1`, { headers: { ...GOOD, 'If-Unmodified-Since': old } })).status, 400);
});

test('every list has Last-Modified, and If-Modified-Since counts without If-None-Match', async (t) => {
  const views = viewsOf(EVENTS);
  const { send } = await serve(t, setUp({ views }).handler);
  Object.assign(views.view?.summary ?? {}, { modifiedMs: Date.UTC(2026, 2, 1, 10, 0, 0, 700) });
  const date = 'Sun, 01 Mar 2026 10:00:00 GMT';
  for (const path of [...LISTS, '/api/v1/schedule/free?by=room&date=2024-09-02']) {
    for (const format of ['json', 'msgpack']) {
      const reply = await send(`${path}${path.includes('?') ? '&' : '?'}format=${format}`, { headers: GOOD });
      t.equal(reply.headers['last-modified'], date, path);
    }
  }
  const path = '/api/v1/schedule/all';
  const { etag = '' } = (await send(path, { headers: GOOD })).headers;
  const cases: [fields: Record<string, string | string[]>, status: number][] = [
    [{ 'If-Modified-Since': date }, 304],
    [{ 'If-Modified-Since': 'Sun, 01 Mar 2026 10:00:01 GMT' }, 304],
    [{ 'If-Modified-Since': 'Sun, 01 Mar 2026 09:59:59 GMT' }, 200],
    [{ 'If-Modified-Since': date, 'If-None-Match': '"x"' }, 200],
    [{ 'If-Modified-Since': 'Sun, 01 Mar 2026 09:59:59 GMT', 'If-None-Match': etag }, 304],
    [{ 'If-Modified-Since': date, 'If-Unmodified-Since': date }, 304],
    [{ 'If-Modified-Since': date, 'If-Match': etag }, 412],
    [{ 'If-Modified-Since': 'yesterday' }, 200],
    [{ 'If-Modified-Since': [date, date] }, 200],
  ];
  for (let round = 0; round < 3; round++) {
    for (const [fields, status] of cases) {
      const reply = await send(path, { headers: { ...GOOD, ...fields } });
      t.equal(reply.status, status, JSON.stringify(fields));
      if (status !== 412) t.equal(reply.headers.etag, etag);
    }
  }
  // Of these, more than the content decides: the token, the clock.
  const since = { 'If-Modified-Since': 'Sun, 01 Mar 2037 10:00:00 GMT' };
  for (const other of ['/personal', '?endTime=now', '?date=today']) {
    const reply = await send(`/api/v1/schedule${other}`, { headers: { ...GOOD, ...since } });
    t.equal(reply.status, 200, other);
  }
  t.equal(
    (await send('/api/v1/schedule?endTime=now', { headers: GOOD })).headers['last-modified'],
    undefined,
  );
});

test('Last-Modified is never in the future', async (t) => {
  const views = viewsOf(EVENTS);
  const { send } = await serve(t, setUp({ views }).handler);
  Object.assign(views.view?.summary ?? {}, { modifiedMs: Date.now() + 3_600_000 });
  const { date = '', 'last-modified': modified = '' } = (await send(LISTS[0] ?? '', { headers: GOOD }))
    .headers;
  t.ok(Date.parse(modified) <= Date.parse(date), `${modified}, ${date}`);
  const since = { ...GOOD, 'If-Modified-Since': modified };
  t.equal((await send(LISTS[0] ?? '', { headers: since })).status, 200);
});

test('the access log has traceparent and X-Request-Id of a request, shortened and without special characters', async (t) => {
  const { handler, logged } = setUp({ accessLog: 1 });
  const { send } = await serve(t, handler);
  const trace = `00-${'4bf92f3577b34da6a3ce929d0e0e4736'}-00f067aa0ba902b7-01`;
  const idsOf = async (headers: Record<string, string | string[]>): Promise<object> => {
    await send('/api/v1/schedule', { headers: { ...bearer(), ...headers } });
    const { traceparent, requestId } = (logged.at(-1) ?? { fields: {} }).fields as Record<string, unknown>;
    return { traceparent, requestId };
  };
  const none = { traceparent: undefined, requestId: undefined };
  t.same(await idsOf({}), none);
  t.same(await idsOf({ traceparent: trace, 'X-Request-Id': 'a-1' }), {
    traceparent: trace,
    requestId: 'a-1',
  });
  t.same(await idsOf({ 'x-request-id': ['one', 'two'] }), { ...none, requestId: 'one' });
  t.same(await idsOf({ 'x-request-id': '' }), none);
  const odd = 'a b\t"\\{}\u00e9\u0080;<';
  t.same(await idsOf({ 'x-request-id': odd }), { ...none, requestId: `a?b${'?'.repeat(9)}` });
  t.same(await idsOf({ 'x-request-id': 'a'.repeat(9000) }), { ...none, requestId: 'a'.repeat(64) });
  for (const bad of [`${trace}-00`, trace.toUpperCase(), '00-0-0-01', 'x'.repeat(9000)])
    t.same(await idsOf({ traceparent: bad }), none, bad.slice(0, 60));
});
