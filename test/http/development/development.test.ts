/** /login, /health and /docs, which exist only in development mode. */

import { test } from 'tap';
import { FIRST_MS, ROOM, serve, setUp, viewsOf } from '../harness.js';

const PATHS = [
  '/health',
  '/api/v1/login',
  '/api/v1/docs',
  '/api/v1/docs/openapi.json',
  '/api/v1/docs/swagger-ui.css',
];

function claimsOf(reply: { json(): unknown }): Record<string, unknown> {
  const { access_token: token } = reply.json() as { access_token: string };
  return JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString('utf8'));
}

test('in production none of the development resources exists', async (t) => {
  const { send } = await serve(t, setUp().handler);
  for (const path of PATHS) {
    t.match((await send(path)).json(), { code: 'not-found', status: 404 }, path);
    t.equal((await send(path, { method: 'POST' })).status, 404);
    t.equal((await send(path, { method: 'OPTIONS' })).status, 404);
  }
});

test('in development all of them exist, read-only', async (t) => {
  const { send } = await serve(t, setUp({ dev: true }).handler);
  for (const path of PATHS) {
    t.equal((await send(path)).status, 200, path);
    t.equal((await send(path, { method: 'POST' })).status, 405, path);
    t.equal((await send(path, { method: 'OPTIONS' })).status, 204, path);
  }
});

test('login gives a token whose user has events', async (t) => {
  const { send } = await serve(t, setUp({ dev: true }).handler);
  const reply = await send('/api/v1/login');
  t.equal(reply.headers['cache-control'], 'no-store');
  t.match(reply.json(), { token_type: 'Bearer', expires_in: 28_800 });
  const { access_token: token } = reply.json() as { access_token: string };
  const personal = await send('/api/v1/schedule/personal', { headers: { Authorization: `Bearer ${token}` } });
  t.equal(personal.status, 200);
  t.ok((personal.json() as unknown[]).length > 0);
});

test('the parameters of login become claims', async (t) => {
  const { send } = await serve(t, setUp({ dev: true }).handler);
  const query = `sub=bob&studyGroup=A&studyGroup=B&groupId=${ROOM.toUpperCase()}&lecturerId=${ROOM}`;
  t.match(claimsOf(await send(`/api/v1/login?${query}`)), {
    sub: 'bob',
    studyGroup: ['A', 'B'],
    groupId: ROOM,
    lecturerId: ROOM,
  });
  const subjectOnly = claimsOf(await send('/api/v1/login?sub=bob'));
  t.match(subjectOnly, { sub: 'bob' });
  t.notOk('studyGroup' in subjectOnly, 'nothing is added to what was asked for');
});

test('login follows the configured claim names', async (t) => {
  const claims = { studyGroup: ['groups'], courseId: ['courses'], lecturerId: ['sub'] };
  const { send } = await serve(t, setUp({ dev: true, claims }).handler);
  t.match(claimsOf(await send('/api/v1/login')), { groups: String });
  t.match(claimsOf(await send(`/api/v1/login?courseId=${ROOM}`)), { courses: ROOM, sub: 'developer' });
  t.match(claimsOf(await send(`/api/v1/login?lecturerId=${ROOM}&lecturerId=${ROOM}`)), { sub: ROOM });
});

test('login lists all unknown and faulty input at once', async (t) => {
  const { send } = await serve(t, setUp({ dev: true }).handler);
  const groups = Array.from({ length: 101 }, (_, i) => `studyGroup=${i}`).join('&');
  const reply = await send(
    `/api/v1/login?sub=a&sub=b&x=1&groupId=y&lecturerId=&roomId=${ROOM}&sub=%&${groups}`,
  );
  t.equal(reply.status, 400);
  const { errors } = reply.json() as { errors: { parameter: string; code: string }[] };
  t.same(
    errors.map(({ parameter, code }) => `${parameter} ${code}`),
    [
      'sub malformed-encoding',
      'sub repeated-parameter',
      'x unknown-parameter',
      'groupId malformed-identifier',
      'lecturerId empty-value',
      'roomId unknown-parameter',
      'studyGroup too-many-values',
    ],
  );
});

test('without a snapshot login is 503; without groups its token selects nothing', async (t) => {
  const views = viewsOf([]);
  const { send } = await serve(t, setUp({ dev: true, views }).handler);
  t.same(Object.keys(claimsOf(await send('/api/v1/login'))).sort(), ['exp', 'iat', 'sub']);
  views.view = null;
  const reply = await send('/api/v1/login');
  t.equal(reply.status, 503);
  t.ok(reply.headers['retry-after']);
});

test('health reports the served snapshot and the state of the source', async (t) => {
  const views = viewsOf();
  const { send } = await serve(t, setUp({ dev: true, views }).handler);
  const healthy = await send('/health');
  t.equal(healthy.status, 200);
  t.equal(healthy.headers['cache-control'], 'no-store');
  t.match(healthy.json(), {
    status: 'ok',
    version: '1.2.3',
    snapshot: {
      events: 11,
      rejected: 0,
      origin: 'source',
      ageSeconds: Number,
      builtAt: /Z$/,
      id: String,
    },
    source: { state: 'loaded', lastSuccess: new Date(FIRST_MS).toISOString(), lastError: null },
  });
  t.equal((await send('/health/')).status, 200);
  t.equal((await send('/api/v1/health')).status, 404, 'outside the base path');

  Object.assign(views, {
    status: 'degraded',
    source: { ...views.source, name: 'x', state: 'failed', lastSuccessMs: null, lastError: 'gone "away"\n' },
  });
  t.match((await send('/health')).json(), { status: 'degraded', source: { lastError: 'gone "away"\n' } });
  t.equal((await send('/health')).status, 200, 'there is still something to serve');

  views.view = null;
  views.status = 'starting';
  const starting = await send('/health');
  t.equal(starting.status, 503);
  t.ok(starting.headers['retry-after']);
  t.match(starting.json(), { status: 'starting', snapshot: null });
});

test('the docs page works with or without a trailing slash, and loads nothing from other origins', async (t) => {
  const { send } = await serve(t, setUp({ dev: true, basePath: '/x' }).handler);
  for (const path of ['/x/docs', '/x/docs/']) {
    const page = await send(path);
    t.equal(page.headers['content-type'], 'text/html; charset=utf-8');
    t.equal(page.headers['x-content-type-options'], 'nosniff');
    t.match(page.headers['content-security-policy'], /^default-src 'none'; script-src 'self'; /);
    t.match(page.text, /<title>Lectern<\/title>/);
    t.notMatch(page.text, /https?:|<script>|<style| on[a-z]+=/, 'nothing inline, nothing from elsewhere');
    const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] as string);
    t.equal(links.length, 6);
    for (const link of links) {
      const asset = await send(new URL(link, `http://a${path}`).pathname);
      t.equal(asset.status, 200, `${path} ${link}`);
      t.equal(asset.headers['x-content-type-options'], 'nosniff');
    }
  }
  const initializer = (await send('/x/docs/initializer.js')).text;
  t.match(initializer, /preauthorizeApiKey\('bearerAuth'/);
  t.doesNotThrow(() => new Function(initializer), 'it is a program');
});

test('behind a proxy that adds a prefix, the docs page and its operations work', async (t) => {
  const { handler } = setUp({ dev: true });
  const PREFIX = '/timetable';
  const { send } = await serve(t, (req, res) => {
    if (req.url?.startsWith(`${PREFIX}/`)) req.url = req.url.slice(PREFIX.length);
    else req.url = '/outside';
    handler(req, res);
  });
  const page = `http://proxy.example${PREFIX}/api/v1/docs`;
  const pathOf = (reference: string, base: string): string => {
    const { pathname } = new URL(reference, base);
    return pathname;
  };
  const script = new URL('./docs/initializer.js', page).href;
  const login = await send(pathOf('../login', script));
  const { access_token: token } = login.json() as { access_token: string };
  const address = new URL('openapi.json', script).href;
  const { servers, paths } = (await send(pathOf('', address))).json() as {
    servers: { url: string }[];
    paths: Record<string, { servers?: { url: string }[] }>;
  };
  for (const path of ['/schedule', '/schedule/types', '/login', '/docs', '/health']) {
    const [server] = paths[path]?.servers ?? servers;
    const found = pathOf(server?.url ?? '', address).replace(/\/$/, '') + path;
    t.ok(found.startsWith(PREFIX), found);
    t.equal((await send(found, { headers: { Authorization: `Bearer ${token}` } })).status, 200, found);
  }
});

test('an unknown path names the paths of the timetable and its documentation', async (t) => {
  for (const basePath of ['/api/v1', '/']) {
    const base = basePath === '/' ? '' : basePath;
    for (const [dev, detail] of [
      [true, `The timetable is at ${base}/schedule, its documentation at ${base}/docs.`],
      [false, `The timetable is at ${base}/schedule.`],
    ] as const) {
      const { send } = await serve(t, setUp({ dev, basePath }).handler);
      for (const path of ['/', '/nowhere']) {
        const problem = (await send(path)).json();
        t.match(problem, { status: 404, detail: `There is nothing at this path. ${detail}` });
      }
    }
  }
});

test('in development, the path of feeds says that they need a secret', async (t) => {
  for (const path of ['/api/v1/schedule/feed', '/api/v1/schedule/feed/?for=personal']) {
    const development = await serve(t, setUp({ dev: true }).handler);
    const detail =
      'Feeds need a secret: start the service with --feed-secret-file (in a program: the option feed).';
    t.match((await development.send(path)).json(), { status: 404, code: 'not-found', detail }, path);
    const production = await serve(t, setUp({ dev: false }).handler);
    t.match((await production.send(path)).json(), { status: 404, detail: /^There is nothing at/ }, path);
  }
});

test('login skips unknown parameters on request, but never broken encoding', async (t) => {
  const views = viewsOf();
  const { send: reject } = await serve(t, setUp({ dev: true, views }).handler);
  const options = { dev: true, views, unknownParameters: 'ignore' } as const;
  const { send: ignore } = await serve(t, setUp(options).handler);
  const cases: [query: string, rejected: number, ignored: number][] = [
    ['studyGroup=A', 200, 200],
    ['utm_source=x', 400, 200],
    ['utm_source=x&studyGroup=A', 400, 200],
    ['utm_source=', 400, 200],
    ['sub=a&sub=b', 400, 400],
    ['utm_source=%ff', 400, 400],
  ];
  for (const [query, rejected, ignored] of cases) {
    t.equal((await reject(`/api/v1/login?${query}`)).status, rejected, `reject ${query}`);
    t.equal((await ignore(`/api/v1/login?${query}`)).status, ignored, `ignore ${query}`);
  }
  t.match(claimsOf(await ignore('/api/v1/login?utm_source=x&studyGroup=B')), { studyGroup: 'B' });
  t.same(
    claimsOf(await ignore('/api/v1/login?utm_source=x')).studyGroup,
    claimsOf(await ignore('/api/v1/login')).studyGroup,
    'what is skipped counts as not given',
  );
});

test('exactly the listed assets exist, with types and strong entity tags', async (t) => {
  const { send } = await serve(t, setUp({ dev: true }).handler);
  for (const [name, contentType] of [
    ['swagger-ui.css', 'text/css; charset=utf-8'],
    ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
    ['favicon-32x32.png', 'image/png'],
    ['lectern.css', 'text/css; charset=utf-8'],
    ['initializer.js', 'text/javascript; charset=utf-8'],
    ['openapi.json', 'application/json; charset=utf-8'],
  ] as const) {
    const asset = await send(`/api/v1/docs/${name}`);
    t.equal(asset.status, 200, name);
    t.equal(asset.headers['content-type'], contentType);
    const etag = asset.headers.etag as string;
    t.match(etag, /^"[\w-]{22}"$/);
    const again = await send(`/api/v1/docs/${name}`, { headers: { 'If-None-Match': etag } });
    t.equal(again.status, 304);
    t.equal(again.body.length, 0);
  }
  for (const name of [
    'package.json',
    '../login',
    '..%2f..%2fpackage.json',
    '%2e%2e/package.json',
    'swagger-ui.js',
  ]) {
    t.equal((await send(`/api/v1/docs/${name}`)).status, 404, name);
  }
});

test('a web page that rebinds its name to this machine gets no token', async (t) => {
  const { send, port } = await serve(t, setUp({ dev: true }).handler);
  for (const path of PATHS) {
    for (const Host of ['127.0.0.1', '[::1]:3000', 'localhost', `LOCALHOST:${port}`, '192.168.1.5:3000'])
      t.equal((await send(path, { headers: { Host } })).status, 200, `${path} at ${Host}`);
    for (const Host of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example', 'localhost.evil']) {
      const reply = await send(path, { headers: { Host } });
      t.match(reply.json(), { code: 'host-not-allowed', status: 421 }, `${path} at ${Host}`);
      t.notMatch(reply.text, 'access_token');
    }
  }
  t.match((await send('http://evil.example/api/v1/login')).json(), { status: 421 });
  t.equal((await send('/api/v1/schedule', { headers: { Host: 'evil.example' } })).status, 401);
});

test('login lists at most 100 faults', async (t) => {
  const { send } = await serve(t, setUp({ dev: true }).handler);
  const reply = await send(`/api/v1/login?${'a=1&'.repeat(1900)}`);
  t.equal((reply.json() as { errors: unknown[] }).errors.length, 100);
});
