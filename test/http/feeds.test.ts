/** Feeds: addresses that show one timetable without a token. */
import { randomBytes } from 'node:crypto';
import { type Test, test } from 'tap';
import { PresentAccess } from '../../src/auth/access.js';
import { parseRevocations } from '../../src/auth/feed-address.js';
import { parseEnrolments } from '../../src/auth/identity.js';
import { Meter } from '../../src/base/metrics/meter.js';
import { bearer, EVENTS, type Reply, ROOM, type SetUpOptions, serve, setUp, viewsOf } from './harness.js';

const SECRET = randomBytes(32);
const DAY_MS = 86_400_000;

function accessOf(more: object = {}): PresentAccess {
  return new PresentAccess({ feedSecrets: [SECRET], ...more });
}

interface Issued {
  readonly url: string;
  readonly webcal: string;
  readonly page: string;
  readonly expiresAt: string;
}

async function start(t: Test, options: SetUpOptions = {}) {
  const made = setUp({ access: accessOf(), feeds: {}, ...options });
  const client = await serve(t, made.handler);
  const issue = (query: string, claims: object = { studyGroup: 'A' }): Promise<Reply> =>
    client.send(`/api/v1/schedule/feed${query}`, { headers: bearer(claims) });
  const pathOf = async (query: string, claims?: object): Promise<string> =>
    new URL(((await issue(query, claims)).json() as Issued).url).pathname.replace(/\.\w+$/, '');
  return { ...made, ...client, issue, pathOf };
}

/** All fields except the date, which depends on the time. */
function comparable({ status, headers: { date: _, ...headers }, text }: Reply): object {
  return { status, headers, text };
}

test('a user with a token gets an address that shows the same events without a token', async (t) => {
  const { send, issue, port } = await start(t, { feeds: { now: () => Date.UTC(2026, 0, 1) } });
  for (const [query, list] of [
    ['?for=personal', '/personal'],
    ['?studyGroup=A', '?studyGroup=A'],
    [`?roomId=${ROOM.toUpperCase()}&type=Lab&type=Lecture`, `?roomId=${ROOM}`],
    [
      '?type=Lab&startTime=2024-09-02T10:00:00Z&endTime=2024-09-02T15:30:00%2B02:00',
      '?type=Lab&startTime=2024-09-02T10:00:00Z&endTime=2024-09-02T13:30:00Z',
    ],
    ['?for=personal&type=Lab', '/personal?type=Lab'],
    ['?for=personal&type!=Lab', '/personal?type=Lecture'],
    ['?studyGroup=A&type!=Lab&type!=Exam', '?studyGroup=A&type=Lecture'],
    [
      '?type=Lab&date=2024-09-02&timeZone=Europe/Berlin',
      '?type=Lab&startTime=2024-09-01T22:00:00Z&endTime=2024-09-02T22:00:00Z',
    ],
    ['?studyGroup=B+%26+%3CC%3E,+%22D%22', '?studyGroup=B+%26+%3CC%3E,+%22D%22'],
  ] as const) {
    const issued = await issue(query);
    t.equal(issued.status, 200, query);
    t.equal(issued.headers['cache-control'], 'no-store');
    const { url, webcal, page, expiresAt } = issued.json() as Issued;
    t.match(
      url,
      new RegExp(`^http://127\\.0\\.0\\.1:${port}/api/v1/feeds/[\\w-]+\\.[\\w-]{43}\\.(ics|json)$`),
    );
    t.equal(webcal, url.replace('http:', 'webcal:'));
    t.equal(page, url.replace(/\.\w+$/, '.html'));
    t.equal(expiresAt, new Date(Date.UTC(2026, 0, 1) + 400 * DAY_MS).toISOString());
    const feed = await send(new URL(url).pathname.replace(/\.\w+$/, '.json'));
    const expected = await send(`/api/v1/schedule${list}`, { headers: bearer({ studyGroup: 'A' }) });
    t.equal(feed.status, 200);
    t.equal(feed.text, expected.text, query);
    t.not(feed.text, '[]');
  }
});

test('the date of a feed is a day in the time zone of the service', async (t) => {
  const { send, pathOf } = await start(t, { timeZone: 'Pacific/Kiritimati' });
  const query = '?studyGroup=A&date=2024-09-02';
  const feed = await send(`${await pathOf(query)}.json`);
  const expected = await send(`/api/v1/schedule${query}`, { headers: bearer() });
  t.equal(feed.text, expected.text);
  t.equal((feed.json() as object[]).length, 1, 'the day ends at 10:00 UTC');
});

test('every issued address is good, even for days at the edge of the calendar', async (t) => {
  const { send, issue } = await start(t);
  for (const [date, timeZone, status] of [
    ['9999-12-31', 'America/New_York', 400],
    ['9999-12-31', 'UTC', 400],
    ['9999-12-31', 'Asia/Tokyo', 200],
    ['9999-12-30', 'America/New_York', 200],
    ['0000-01-01', 'Asia/Tokyo', 400],
    ['0000-01-01', 'America/New_York', 200],
    ['0000-01-02', 'Asia/Tokyo', 200],
  ] as const) {
    const query = `?studyGroup=A&date=${date}&timeZone=${timeZone}`;
    const issued = await issue(query);
    t.equal(issued.status, status, query);
    t.equal((await send(`/api/v1/schedule${query}`, { headers: bearer() })).status, status, 'and the list');
    if (status === 400) continue;
    const { url } = issued.json() as Issued;
    t.equal((await send(new URL(url).pathname)).status, 200, url);
  }
});

test('feeds have their header fields, 304, HEAD, OPTIONS and 412', async (t) => {
  const { send, pathOf } = await start(t);
  const path = `${await pathOf('?for=personal')}.json`;
  const full = await send(path);
  t.match(full.headers, { 'lectern-version': /^\d+\.[\w-]{22}$/ });
  const expected = {
    'cache-control': 'private, max-age=300',
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  };
  t.match(full.headers, expected);
  t.equal(full.headers['content-disposition'], 'inline; filename="timetable.json"');
  const tag = full.headers.etag as string;
  const same = await send(path, { headers: { 'If-None-Match': tag } });
  t.equal(same.status, 304);
  t.equal(same.text, '');
  t.match(same.headers, { ...expected, etag: tag });
  const head = await send(path, { method: 'HEAD' });
  t.equal(head.headers['content-length'], full.headers['content-length']);
  t.equal(head.text, '');
  t.equal((await send(`${path}/`)).status, 200, 'a slash at the end is ignored');
  t.equal((await send(`${path}?cache=no`)).status, 200, 'a query is ignored');
  for (const other of ['ics', 'csv']) {
    const { headers } = await send(path.replace('.json', `.${other}`));
    t.match(headers, { ...expected, 'content-disposition': `inline; filename="timetable.${other}"` });
    t.not(headers.etag, tag);
  }
  t.equal((await send(path, { headers: { 'If-Match': '"x"' } })).status, 412);
  const modified = full.headers['last-modified'] ?? '';
  t.ok(Date.parse(modified) <= Date.now());
  for (let round = 0; round < 2; round++) {
    t.equal((await send(path, { headers: { 'If-Modified-Since': modified } })).status, 304);
    t.equal(
      (await send(path.replace('.json', '.html'), { headers: { 'If-Modified-Since': modified } })).status,
      200,
    );
  }
  const old = { 'If-Unmodified-Since': 'Thu, 01 Jan 1970 00:00:00 GMT' };
  t.equal((await send(path, { headers: old })).status, 412);
  t.equal((await send(path, { method: 'OPTIONS' })).status, 204);
  t.equal((await send(path, { method: 'PUT' })).status, 405);
  t.equal((await send(path, { headers: { Authorization: 'Bearer nonsense' } })).status, 200);
});

test('a feed is available in every format', async (t) => {
  const { send, issue, pathOf } = await start(t);
  t.match(((await issue('?for=personal')).json() as Issued).url, /\.ics$/);
  const path = await pathOf('?for=personal&type=Lab&clashes=mark');
  const list = '/api/v1/schedule/personal?type=Lab&clashes=mark';
  const listed = async (format: string): Promise<Reply> =>
    send(`${list}&format=${format}`, { headers: bearer({ studyGroup: 'A' }) });
  for (const format of ['json', 'csv']) {
    t.equal((await send(`${path}.${format}`)).text, (await listed(format)).text, format);
  }
  const calendar = await send(`${path}.ics`);
  t.equal(calendar.headers['content-type'], 'text/calendar; charset=utf-8');
  const head = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Lectern//Lectern//EN',
    'NAME:Timetable: Lab',
    'X-WR-CALNAME:Timetable: Lab',
    'REFRESH-INTERVAL;VALUE=DURATION:PT15M',
    'X-PUBLISHED-TTL:PT15M',
  ];
  t.same(calendar.text.split('\r\n').slice(0, head.length), head);
  const events = (text: string): string => text.slice(text.indexOf('BEGIN:VEVENT'));
  t.equal(events(calendar.text), events((await listed('ics')).text));
  t.match(calendar.text, /END:VEVENT\r\nEND:VCALENDAR\r\n$/);
  const odd = await send(`${await pathOf('?studyGroup=B+%26+%3CC%3E,+%22D%22')}.ics`);
  t.match(odd.text, '\r\nX-WR-CALNAME:Timetable: B & <C>\\, "D"\r\n');
  const byRoom = await send(`${await pathOf(`?roomId=${ROOM}`)}.ics`);
  t.match(byRoom.text, '\r\nNAME:Timetable\r\n');
  t.notMatch(calendar.text, path.slice(20, 60), 'the address is not in it');
});

test('/schedule/feed refuses invalid requests', async (t) => {
  const { send, issue } = await start(t);
  const cases = [
    ['', 400, 'missing-parameter'],
    ['?startTime=2024-09-02T10:00:00Z', 400, 'missing-parameter'],
    ['?for=me', 400, 'unknown-value'],
    ['?for=personal&for=personal', 400, 'repeated-parameter'],
    ['?studyGroup=A&limit=3', 400, 'unknown-parameter'],
    ['?studyGroup=A&cursor=x', 400, 'unknown-parameter'],
    ['?studyGroup=A&format=ics', 400, 'unknown-parameter'],
    ['?studygroup=A', 400, 'unknown-parameter'],
    ['?roomId=x', 400, 'malformed-identifier'],
    ['?studyGroup=%ff', 400, 'malformed-encoding'],
  ] as const;
  for (const [query, status, code] of cases) {
    const reply = await issue(query);
    t.equal(reply.status, status, query);
    const { errors } = reply.json() as { errors: { code: string }[] };
    t.ok(
      errors.some((each) => each.code === code),
      `${query}: ${code}`,
    );
  }
  t.match((await issue('?for=personal', {})).json(), { status: 403, code: 'identity-not-mapped' });
  t.equal((await issue('?studyGroup=A', {})).status, 200, 'filters need no mapped user');
  t.match((await send('/api/v1/schedule/feed?for=personal')).json(), { code: 'credentials-missing' });
  t.match((await send('/api/v1/schedule/feed', { method: 'POST' })).json(), { status: 405 });
  const ids = Array.from({ length: 90 }, (_, n) => EVENTS[0]?.id.replace(/\d\d$/, String(n + 10)));
  const many = ids.map((id) => `roomId=${id}&courseId=${id}`).join('&');
  t.match((await issue(`?${many}`)).json(), { status: 400, code: 'feed-too-long' });
});

test('all bad addresses get the same 404', async (t) => {
  let nowMs = Date.UTC(2026, 0, 1);
  const revocations = parseRevocations({ bob: '2026-01-01T00:00:00.001Z' }, 'x');
  const { send, pathOf } = await start(t, {
    access: accessOf({ feedRevocations: revocations }),
    feeds: { now: () => nowMs },
  });
  const good = await pathOf('?studyGroup=A');
  const revoked = await pathOf('?studyGroup=A', { sub: 'bob', studyGroup: 'A' });
  t.equal((await send(`${good}.json`)).status, 200);
  const [payload = '', mac = ''] = (good.split('/').at(-1) as string).split('.');
  const folder = '/api/v1/feeds/';
  const bad: Record<string, string> = {
    revoked: `${revoked}.json`,
    'other mac': `${folder}${payload}.${mac.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))}.json`,
    'spare bits of the mac': `${folder}${payload}.${mac.slice(0, -1)}${String.fromCharCode(mac.charCodeAt(42) + 1)}.json`,
    'longer mac': `${folder}${payload}.${mac}A.json`,
    'cut mac': `${folder}${payload}.${mac.slice(0, -1)}.json`,
    'cut payload': `${folder}${payload.slice(0, -1)}.${mac}.json`,
    'no mac': `${folder}${payload}.json`,
    'no payload': `${folder}.${mac}.json`,
    'other key': `${folder}AAAA${payload.slice(4)}.${mac}.json`,
    'other format': `${good}.xml`,
    'page with an other mac': `${folder}${payload}.${mac.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))}.html`,
    'revoked page': `${revoked}.html`,
    'no format': good,
    'a percent-encoded letter': `${folder}${payload}.${mac}.json`
      .replace(/e(?=eds)/, 'e')
      .replace(payload, `%${payload.charCodeAt(0).toString(16)}${payload.slice(1)}`),
    nothing: `${folder}x`,
    'not even that': `${folder}.`,
    long: `${folder}${'A'.repeat(8000)}.json`,
  };
  const first = comparable(await send(bad.revoked as string));
  t.match(first, { status: 404, text: /"code":"not-found"/, headers: { 'referrer-policy': 'no-referrer' } });
  t.notMatch(first, /instance/);
  for (const [what, path] of Object.entries(bad)) t.same(comparable(await send(path)), first, what);
  nowMs += 400 * DAY_MS - 1;
  t.equal((await send(`${good}.json`)).status, 200, 'until it expires');
  nowMs += 1;
  t.same(comparable(await send(`${good}.json`)), first, 'expired, though it was known');
});

test('a revocation takes effect at once, and only for earlier addresses', async (t) => {
  let nowMs = Date.UTC(2026, 0, 1);
  const access = accessOf();
  const { send, pathOf } = await start(t, { access, feeds: { now: () => nowMs } });
  const old = await pathOf('?studyGroup=A');
  t.equal((await send(`${old}.json`)).status, 200);
  nowMs += 1000;
  const young = await pathOf('?studyGroup=A');
  access.change({ feedRevocations: parseRevocations({ alice: new Date(nowMs).toISOString() }, 'x') });
  t.equal((await send(`${old}.json`)).status, 404);
  t.equal((await send(`${young}.json`)).status, 200);
  access.change({ feedRevocations: parseRevocations({}, 'x') });
  t.equal((await send(`${old}.json`)).status, 200);
});

test('after a rotation the earlier secret verifies addresses but signs none', async (t) => {
  const access = accessOf();
  const { send, pathOf } = await start(t, { access });
  const old = await pathOf('?studyGroup=A');
  const next = randomBytes(32);
  access.change({ feedSecrets: [next, SECRET] });
  const young = await pathOf('?studyGroup=A');
  t.equal((await send(`${old}.json`)).status, 200);
  t.equal((await send(`${young}.json`)).status, 200);
  access.change({ feedSecrets: [next] });
  t.equal((await send(`${old}.json`)).status, 404);
  t.equal((await send(`${young}.json`)).status, 200);
  access.change({ feedSecrets: [SECRET] });
  t.equal((await send(`${young}.json`)).status, 404);
  access.change({ feedSecrets: null });
  t.equal((await send(`${old}.json`)).status, 404);
  t.equal((await send('/api/v1/schedule/feed?studyGroup=A', { headers: bearer() })).status, 404);
});

test('a feed uses the present enrolments and the claims of its token', async (t) => {
  const enrolled = (json: object) => parseEnrolments(json, 'uuid', 'map');
  const access = accessOf({ enrolments: enrolled({ alice: { studyGroup: ['A'] } }) });
  const { send, pathOf } = await start(t, { access });
  const groupsOf = async (path: string): Promise<unknown> => {
    const events = (await send(`${path}.json`)).json() as { studyGroup: string }[];
    return [...new Set(events.map((each) => each.studyGroup))].sort();
  };
  const b = 'B & <C>, "D"';
  const byEnrolment = await pathOf('?for=personal', {});
  const byClaim = await pathOf('?for=personal', { studyGroup: b });
  t.same(await groupsOf(byEnrolment), ['A']);
  t.same(await groupsOf(byClaim), ['A', b]);
  const tag = (await send(`${byEnrolment}.json`)).headers.etag as string;
  access.change({ enrolments: enrolled({ alice: { studyGroup: [b] } }) });
  t.equal((await send(`${byEnrolment}.json`, { headers: { 'If-None-Match': tag } })).status, 200);
  t.same(await groupsOf(byEnrolment), [b]);
  t.same(await groupsOf(byClaim), [b]);
  access.change({ enrolments: enrolled({}) });
  t.same(await groupsOf(byEnrolment), [], 'enrolled nowhere any more');
  t.same(await groupsOf(byClaim), [b]);
  const { status } = await send('/api/v1/schedule/personal', { headers: bearer() });
  t.equal(status, 403, '/schedule/personal knows it, too');
});

test('a forged Host header cannot lead an address elsewhere', async (t) => {
  const { send, port } = await start(t);
  const issue = (Host: string) =>
    send('/api/v1/schedule/feed?studyGroup=A', { headers: { ...bearer(), Host } });
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
    t.match((await issue(host)).json(), { url: `http://${host}/api/v1/feeds/` }, host);
  }
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    '127.0.0.1',
    '127.0.0.1:1',
    `192.0.2.1:${port}`,
    `[::1]:${port}`,
  ]) {
    t.match((await issue(host)).json(), { status: 421, code: 'host-not-allowed' }, host);
  }
});

test('with --public-url, every address begins with it', async (t) => {
  for (const publicUrl of [
    'https://timetable.example.org/university',
    'https://timetable.example.org/university/',
  ]) {
    const { send } = await start(t, { feeds: { publicUrl } });
    const headers = { ...bearer(), Host: 'evil.example' };
    const { url, webcal, page } = (
      await send('/api/v1/schedule/feed?studyGroup=A', { headers })
    ).json() as Issued;
    t.match(url, /^https:\/\/timetable\.example\.org\/university\/api\/v1\/feeds\//);
    t.match(webcal, /^webcal:\/\/timetable\.example\.org\/university\/api\/v1\/feeds\//);
    t.match(page, /^https:\/\/timetable\.example\.org\/university\/api\/v1\/feeds\/.*\.html$/);
  }
});

test('without a snapshot a good address gets 503, a bad one 404', async (t) => {
  const views = viewsOf(EVENTS);
  const { send, pathOf, issue } = await start(t, { views });
  const good = await pathOf('?studyGroup=A');
  views.view = null;
  t.equal((await send(`${good}.json`)).status, 503);
  t.equal((await send('/api/v1/feeds/x.json')).status, 404);
  t.equal((await issue('?studyGroup=A')).status, 503);
});

test('without feeds, no resource or header mentions them', async (t) => {
  const { send } = await serve(t, setUp().handler);
  t.equal((await send('/api/v1/feeds/x.json')).status, 404);
  t.equal((await send('/api/v1/schedule/feed', { headers: bearer() })).status, 404);
});

test('no address appears in the log or in a metric, even when an answer fails', async (t) => {
  const views = viewsOf(EVENTS);
  const meter = new Meter();
  const { send, pathOf, logged } = await start(t, { views, meter, accessLog: 1 });
  const good = await pathOf('?studyGroup=A');
  await send(`${good}.json`);
  await send(`${good}x.json`);
  await send(`${good}.json`, { method: 'DELETE' });
  const { view } = views;
  views.view = new Proxy(view as NonNullable<typeof view>, {
    get(target, name) {
      if (name === 'schedule') throw new Error('a bug');
      return Reflect.get(target, name);
    },
  });
  t.match((await send(`${good}.json`)).json(), { status: 500 });
  const text = JSON.stringify(logged);
  t.match(text, '"route":"/feeds","status":200');
  t.match(text, '"route":"/feeds","status":404');
  t.match(text, '"path":"/feeds"');
  t.notMatch(text, good.slice(14, 40));
});

test('a feed keeps its window, so it takes neither now nor today', async (t) => {
  const { issue } = await start(t);
  for (const [query, parameter] of [
    ['?for=personal&startTime=now', 'startTime'],
    ['?for=personal&date=today', 'date'],
  ]) {
    const reply = await issue(query as string);
    t.equal(reply.status, 400);
    t.match(reply.json(), { errors: [{ parameter, detail: /a feed keeps its window/ }] });
  }
  t.equal((await issue('?type!=Lab')).status, 400, 'leaving events out selects no timetable');
});
