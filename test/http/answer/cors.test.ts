/** Pages of other origins: their permissions and their preflights. */
import { test } from 'tap';
import { bearer, serve, setUp, token } from '../harness.js';

const PAGE = 'https://timetable.example.org';
const OTHER = 'https://other.example.org';
const PREFLIGHT = {
  'Access-Control-Request-Method': 'GET',
  'Access-Control-Request-Headers': 'authorization',
};

test('a preflight needs no token, and succeeds only for allowed pages', async (t) => {
  const { send } = await serve(t, setUp({ corsOrigins: [PAGE] }).handler);
  for (const path of ['/api/v1/schedule', '/api/v1/schedule/personal?limit=1', '/nowhere']) {
    const allowed = await send(path, { method: 'OPTIONS', headers: { Origin: PAGE, ...PREFLIGHT } });
    t.match(allowed, {
      status: 204,
      headers: {
        'access-control-allow-origin': PAGE,
        'access-control-allow-methods': 'GET, HEAD',
        'access-control-allow-headers':
          /^Authorization, Accept, If-None-Match, Last-Event-ID, Lectern-Min-Version$/,
        'access-control-max-age': '7200',
        vary: 'Origin',
      },
      text: '',
    });
    t.notOk('access-control-allow-credentials' in allowed.headers);
  }
  for (const Origin of [OTHER, 'null', `${PAGE}.evil.example`, PAGE.toUpperCase(), `${PAGE}/`]) {
    const { status, headers } = await send('/api/v1/schedule', {
      method: 'OPTIONS',
      headers: { Origin, ...PREFLIGHT },
    });
    t.strictSame([status, headers.allow], [204, 'GET, HEAD, OPTIONS']);
    t.notOk('access-control-allow-origin' in headers, Origin);
    t.notOk('access-control-allow-methods' in headers, Origin);
    t.equal(headers.vary, 'Origin');
  }
  // An OPTIONS request that is not a preflight gets the usual answer.
  const plain = await send('/api/v1/schedule', { method: 'OPTIONS', headers: { Origin: PAGE } });
  t.match(plain, {
    status: 204,
    headers: { allow: 'GET, HEAD, OPTIONS', 'access-control-allow-origin': PAGE },
  });
  t.notOk('access-control-max-age' in plain.headers);
});

test('an allowed page can read every answer, and answers vary by origin', async (t) => {
  const { send } = await serve(t, setUp({ corsOrigins: [PAGE], dev: true }).handler);
  const tag = (await send('/api/v1/schedule', { headers: bearer() })).headers.etag ?? '';
  const cases: [status: number, path: string, method: string, headers: Record<string, string>][] = [
    [200, '/api/v1/schedule', 'GET', bearer()],
    [200, '/api/v1/schedule', 'HEAD', bearer()],
    [304, '/api/v1/schedule', 'GET', { ...bearer(), 'If-None-Match': tag }],
    [200, '/api/v1/schedule/all?limit=2', 'GET', bearer()],
    [400, '/api/v1/schedule?limit=0', 'GET', bearer()],
    [401, '/api/v1/schedule', 'GET', {}],
    [401, '/api/v1/schedule', 'GET', { Authorization: `Bearer ${token()}x` }],
    [404, '/api/v1/nowhere', 'GET', {}],
    [405, '/api/v1/schedule', 'DELETE', {}],
    [406, '/api/v1/schedule', 'GET', { ...bearer(), Accept: 'text/html' }],
    [414, `/api/v1/schedule?${'a'.repeat(9000)}`, 'GET', bearer()],
    [200, '/api/v1/login', 'GET', {}],
    [200, '/api/v1/docs', 'GET', {}],
    [200, '/health', 'GET', {}],
  ];
  for (const [status, path, method, headers] of cases) {
    const answer = await send(path, { method, headers: { ...headers, Origin: PAGE } });
    const name = `${method} ${path.slice(0, 40)} ${status}`;
    t.equal(answer.status, status, name);
    t.equal(answer.headers['access-control-allow-origin'], PAGE, name);
    t.match(
      answer.headers['access-control-expose-headers'],
      /ETag, Link, X-Total-Count, Lectern-Version, Retry-After/,
      name,
    );
    t.match(answer.headers.vary, /(^|, )Origin$/, name);
    for (const more of [{ Origin: OTHER }, {}]) {
      const refused = await send(path, { method, headers: { ...headers, ...more } });
      t.equal(refused.status, status, name);
      t.notOk('access-control-allow-origin' in refused.headers, name);
      t.match(refused.headers.vary, /(^|, )Origin$/, name);
    }
  }
});

test('answers to unreadable messages vary by origin, too', async (t) => {
  const { handler } = setUp({ corsOrigins: [PAGE] });
  const { raw } = await serve(t, handler, { corsOrigins: [PAGE] });
  const without = await serve(t, setUp().handler);
  for (const bytes of [
    'GARBAGE\r\n\r\n',
    `FOO / HTTP/1.1\r\nHost: a\r\nOrigin: ${PAGE}\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: a\r\nOrigin: ${PAGE}\r\na: ${'x'.repeat(17_000)}\r\n\r\n`,
    `CONNECT a:443 HTTP/1.1\r\nHost: a\r\nOrigin: ${PAGE}\r\n\r\n`,
  ]) {
    const answer = await raw(bytes);
    t.match(answer, /^HTTP\/1\.1 [45]\d\d /);
    t.match(answer, /\r\nVary: Origin\r\n/, bytes.slice(0, 20));
    t.notMatch(answer, /access-control/i);
    t.notMatch(await without.raw(bytes), /\r\nVary:/);
  }
});

test('a preflight is answered before the length check, so that the page can read the 414', async (t) => {
  const { send } = await serve(t, setUp({ corsOrigins: [PAGE] }).handler);
  const path = `/api/v1/schedule?${'a'.repeat(9000)}`;
  const preflight = await send(path, { method: 'OPTIONS', headers: { Origin: PAGE, ...PREFLIGHT } });
  t.equal(preflight.status, 204);
  const answer = await send(path, { headers: { Origin: PAGE } });
  t.match(answer, { status: 414, headers: { 'access-control-allow-origin': PAGE } });
});

test('without an allowed origin answers do not mention origins', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const { headers } = await send('/api/v1/schedule', { headers: { ...bearer(), Origin: PAGE } });
  t.equal(headers.vary, 'Accept, Accept-Encoding, Authorization');
  t.notOk(Object.keys(headers).some((name) => name.startsWith('access-control-')));
  const preflight = await send('/api/v1/schedule', {
    method: 'OPTIONS',
    headers: { Origin: PAGE, ...PREFLIGHT },
  });
  t.strictSame([preflight.status, preflight.headers.vary], [204, undefined]);
});
