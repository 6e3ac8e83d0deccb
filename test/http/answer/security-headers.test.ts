/** Header fields for browsers in every answer, even to unreadable messages. */
import { test } from 'tap';
import { bearer, serve, setUp, viewsOf } from '../harness.js';

const POLICY = "default-src 'none'; frame-ancestors 'none'";

test('every answer forbids browsers to guess types, run scripts and frame it', async (t) => {
  const { handler } = setUp({ dev: true });
  const { send, raw } = await serve(t, handler);
  const { etag = '' } = (await send('/api/v1/schedule', { headers: bearer() })).headers;
  const cases: [status: number, path: string, method: string, headers: Record<string, string>][] = [
    [200, '/api/v1/schedule', 'GET', bearer()],
    [200, '/api/v1/schedule', 'GET', bearer()],
    [200, '/api/v1/schedule/personal', 'GET', bearer({ studyGroup: 'A' })],
    [200, '/api/v1/schedule', 'HEAD', bearer()],
    [304, '/api/v1/schedule', 'GET', { ...bearer(), 'If-None-Match': etag }],
    [204, '/api/v1/schedule', 'OPTIONS', {}],
    [400, '/api/v1/schedule?limit=0', 'GET', bearer()],
    [401, '/api/v1/schedule', 'GET', {}],
    [404, '/', 'GET', {}],
    [405, '/api/v1/schedule', 'PUT', {}],
    [200, '/api/v1/login', 'GET', {}],
    [200, '/health', 'GET', {}],
  ];
  for (const [status, path, method, headers] of cases) {
    const answer = await send(path, { method, headers });
    t.equal(answer.status, status, `${method} ${path}`);
    t.equal(answer.headers['x-content-type-options'], 'nosniff', `${method} ${path}`);
    t.equal(answer.headers['content-security-policy'], POLICY, `${method} ${path}`);
  }
  for (const bytes of [
    'nonsense\r\n\r\n',
    'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET / HTTP/3.0\r\n\r\n',
  ]) {
    const answer = await raw(bytes);
    t.match(answer, '\r\nX-Content-Type-Options: nosniff\r\n', bytes);
    t.match(answer, `\r\nContent-Security-Policy: ${POLICY}\r\n`, bytes);
  }
  const views = viewsOf();
  views.view = null;
  const empty = await serve(t, setUp({ views }).handler);
  const { status, headers } = await empty.send('/api/v1/schedule', { headers: bearer() });
  t.strictSame([status, headers['x-content-type-options']], [503, 'nosniff']);
});

test('the docs page has exactly one policy, its own', async (t) => {
  const { raw } = await serve(t, setUp({ dev: true }).handler);
  for (const path of ['/api/v1/docs', '/api/v1/docs/initializer.js', '/api/v1/docs/openapi.json']) {
    const answer = await raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    const head = answer.slice(0, answer.indexOf('\r\n\r\n'));
    t.equal(head.match(/Content-Security-Policy/g)?.length, 1, path);
    t.match(head, "script-src 'self'", path);
    t.equal(head.match(/X-Content-Type-Options: nosniff/g)?.length, 1, path);
  }
});
