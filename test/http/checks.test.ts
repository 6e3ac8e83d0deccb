/** Every check, its problem document and header fields, and the documented order of checks. */
import { once } from 'node:events';
import { type Test, test } from 'tap';
import type { Read } from '../../src/answer/answer.js';
import type { KeySet } from '../../src/auth/key-set.js';
import { PROBLEMS, type ProblemCode } from '../../src/base/errors.js';
import { HEADER_FIELDS_MAX } from '../../src/base/limits.js';
import { createHandler } from '../../src/http/handler.js';
import { goodClaims, hs256 } from '../auth/tokens.js';
import { bearer, type Reply, ROOM, serve, setUp, token, USUAL, viewsOf } from './harness.js';

type Tap = Test;

function assertProblem(t: Tap, reply: Reply, code: ProblemCode, name: string): Record<string, unknown> {
  const problem = reply.json() as Record<string, unknown>;
  const { status, title } = PROBLEMS[code];
  t.equal(reply.status, status, `${name}: status`);
  t.equal(reply.headers['content-type'], 'application/problem+json', `${name}: content type`);
  t.equal(reply.headers['cache-control'], 'no-store', `${name}: not kept`);
  t.equal(reply.headers['content-length'], String(reply.body.length), `${name}: length`);
  t.match(problem, { type: `urn:lectern:problem:${code}`, title, status, code }, name);
  t.match(problem.detail, /^\S.*[.:;]?$/, `${name}: detail`);
  return problem;
}

const LONG = `/api/v1/schedule?studyGroup=${'x'.repeat(8192)}`;
const NO_GROUP = bearer();
const GOOD = bearer({ studyGroup: 'A' });
const BAD = { Authorization: `Bearer ${hs256(goodClaims(), { secret: 'x'.repeat(32) })}` };

test('the first failing check decides: 414, 404, 405, 401, 403, 406, 400, 304, 200', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const accept = { Accept: 'text/html' };
  const base = '/api/v1';
  const cases: [
    name: string,
    method: string,
    path: string,
    headers: Record<string, string>,
    code: ProblemCode,
  ][] = [
    ['414 before 404', 'GET', `/nowhere?${'x'.repeat(8192)}`, {}, 'request-target-too-long'],
    ['414 before 405', 'POST', LONG, {}, 'request-target-too-long'],
    ['404 before 405', 'POST', '/nowhere', {}, 'not-found'],
    ['404 before 401', 'GET', `${base}/nowhere`, {}, 'not-found'],
    ['405 before 401', 'POST', `${base}/schedule`, {}, 'method-not-allowed'],
    ['401 before 403', 'GET', `${base}/schedule/personal`, {}, 'credentials-missing'],
    ['401 before 406 and 400', 'GET', `${base}/schedule?x=1`, { ...BAD, ...accept }, 'token-invalid'],
    [
      '403 before 406 and 400',
      'GET',
      `${base}/schedule/personal?x=1`,
      { ...NO_GROUP, ...accept },
      'identity-not-mapped',
    ],
    ['406 before 400', 'GET', `${base}/schedule?x=1`, { ...GOOD, ...accept }, 'not-acceptable'],
    [
      '406 with a format that is none',
      'GET',
      `${base}/schedule?format=xml`,
      { ...GOOD, ...accept },
      'not-acceptable',
    ],
    ['406 alone', 'GET', `${base}/schedule`, { ...GOOD, ...accept }, 'not-acceptable'],
    ['406 before broken encoding', 'GET', `${base}/schedule?x=%`, { ...GOOD, ...accept }, 'not-acceptable'],
    [
      '406 before 304',
      'GET',
      `${base}/schedule`,
      { ...GOOD, ...accept, 'If-None-Match': '*' },
      'not-acceptable',
    ],
    [
      '400 where format overrides Accept',
      'GET',
      `${base}/schedule?format=json&x=1`,
      { ...GOOD, ...accept },
      'parameters-invalid',
    ],
    [
      '400 before 304',
      'GET',
      `${base}/schedule?x=1`,
      { ...GOOD, 'If-None-Match': '*' },
      'parameters-invalid',
    ],
  ];
  for (const [name, method, path, headers, code] of cases) {
    assertProblem(t, await send(path, { method, headers }), code, name);
  }
  const notModified = await send(`${base}/schedule?format=json`, {
    headers: { ...GOOD, ...accept, 'If-None-Match': '*' },
  });
  t.equal(notModified.status, 304);
  t.equal((await send(`${base}/schedule?format=json`, { headers: { ...GOOD, ...accept } })).status, 200);
});

test('every problem code that a request can cause occurs, with its header fields', async (t) => {
  const views = viewsOf();
  const starting = viewsOf();
  starting.view = null;
  const broken = viewsOf();
  const view = broken.view;
  if (view === null) throw new Error('no view');
  broken.view = Object.assign(Object.create(view), {
    schedule() {
      throw new Error('a defect with a secret in it');
    },
  });
  const away: KeySet = {
    name: 'remote',
    algorithms: ['HS256'],
    candidates: async () => ({ unavailable: 'no answer', retryAfterSeconds: 9 }),
  };
  const { send } = await serve(t, setUp({ views }).handler);
  const { send: sendStarting } = await serve(t, setUp({ views: starting }).handler);
  const failing = setUp({ views: broken });
  const { send: sendBroken } = await serve(t, failing.handler);
  const withoutKeys = setUp({ keySets: [away] });
  const { send: sendWithoutKeys } = await serve(t, withoutKeys.handler);
  const path = '/api/v1/schedule';
  const reached = new Set<string>();
  const check = (reply: Reply, code: ProblemCode) => {
    reached.add(code);
    return assertProblem(t, reply, code, code);
  };

  const notFound = check(await send('/api/v1/Schedule?secret=1'), 'not-found');
  t.equal(notFound.instance, '/api/v1/Schedule', 'the instance is the path without the query');
  const methods = await send(path, { method: 'DELETE', headers: GOOD });
  check(methods, 'method-not-allowed');
  t.equal(methods.headers.allow, 'GET, HEAD, OPTIONS');
  check(await send(LONG, { headers: GOOD }), 'request-target-too-long');

  const missing = await send(path);
  check(missing, 'credentials-missing');
  t.equal(missing.headers['www-authenticate'], 'Bearer realm="lectern"');
  const invalid = await send(path, { headers: BAD });
  check(invalid, 'token-invalid');
  t.equal(
    invalid.headers['www-authenticate'],
    'Bearer realm="lectern", error="invalid_token", error_description="The signature of the token is not valid."',
  );
  t.notMatch(invalid.text, BAD.Authorization.slice(10), 'no echo of the token');
  const malformed = await send(path, { headers: { Authorization: 'Bearer' } });
  check(malformed, 'invalid-request');
  t.match(
    malformed.headers['www-authenticate'],
    /^Bearer realm="lectern", error="invalid_request", error_description="/,
  );

  check(await send(`${path}/personal`, { headers: NO_GROUP }), 'identity-not-mapped');
  check(await send(path, { headers: { ...GOOD, Accept: 'text/html' } }), 'not-acceptable');
  check(await send(`${path}?limit=0`, { headers: GOOD }), 'parameters-invalid');

  const unavailable = await sendStarting(path, { headers: GOOD });
  check(unavailable, 'snapshot-unavailable');
  t.equal(unavailable.headers['retry-after'], '2');
  t.equal((await sendStarting(path)).status, 401, 'authentication comes before the snapshot');
  const stale = viewsOf();
  const { send: sendStale } = await serve(
    t,
    setUp({ views: { ...stale, summary: stale.summary, view: null } }).handler,
  );
  const tooOld = await sendStale(path, { headers: GOOD });
  check(tooOld, 'snapshot-stale');
  t.equal(tooOld.headers['retry-after'], '2');
  check(await send(`${path}/events/${'0'.repeat(36)}`, { headers: GOOD }), 'event-not-found');
  check(await send(`${path}/changes?since=${'x'.repeat(22)}`, { headers: GOOD }), 'snapshot-gone');
  check(await send(`${path}/changes?since=nothing`, { headers: GOOD }), 'parameters-invalid');
  check(await send(path, { headers: { ...GOOD, 'If-Match': '"a"' } }), 'precondition-failed');
  const keys = await sendWithoutKeys(path, { headers: GOOD });
  check(keys, 'keys-unavailable');
  t.equal(keys.headers['retry-after'], '9');
  t.match(withoutKeys.logged, [{ level: 'warn', fields: { reason: 'remote: no answer' } }]);
  t.equal(keys.headers['www-authenticate'], undefined);

  for (let i = 0; i < 2; i++) {
    // First with a promise, then from the token cache.
    const failed = await sendBroken(path, { headers: GOOD });
    check(failed, 'internal-error');
    t.notMatch(failed.text, /secret|Error|at /);
  }
  t.match(failing.logged, [
    { level: 'error', fields: { path } },
    { level: 'error', fields: { path } },
  ]);

  // Covered by tests of the server, raw requests, the admin listener, feeds, versions and event streams.
  reached
    .add('request-timeout')
    .add('headers-too-large')
    .add('method-not-implemented')
    .add('content-too-large');
  reached.add('overloaded').add('host-not-allowed').add('feed-too-long');
  reached.add('version-not-yet').add('streams-full');
  reached.add('transfer-coding-not-implemented').add('version-not-supported').add('expectation-failed');
  t.same([...reached].sort(), Object.keys(PROBLEMS).sort(), 'every code of the table');
});

test('a body that cannot be written becomes a 500 with the header fields of a problem only', async (t) => {
  const views = viewsOf();
  const view = views.view as NonNullable<typeof views.view>;
  const read: Read = {
    format: 'json',
    isRelative: false,
    modifiedMs: 0,
    entityTag: () => 'W/"broken"',
    execute: () => ({ total: 1, count: 1, nextCursor: null, body: { byteLength: 9, makeChunks: failing } }),
  };
  const broken = new Proxy(view, {
    get: (of, name) => (name === 'personal' ? () => ({ read }) : Reflect.get(of, name, of)),
  });
  const { send } = await serve(
    t,
    setUp({ views: { ...views, summary: views.summary, view: broken } }).handler,
  );
  const reply = await send('/api/v1/schedule/personal', { headers: GOOD });
  assertProblem(t, reply, 'internal-error', 'a failing body');
  t.equal(reply.headers['lectern-version'], undefined);
  t.equal(reply.headers.vary, undefined);
});

function failing(): never {
  throw new Error('this body cannot be written');
}

test('a callback of the embedding program that throws causes one 500', async (t) => {
  const fail = (): never => {
    throw new Error('a mistake with a secret in it');
  };
  const log = { info: fail, warn: fail, error: fail };
  const options = { ...USUAL, log, identify: fail };
  const { send } = await serve(t, createHandler(viewsOf(), options));
  for (let i = 0; i < 2; i++) {
    const problem = assertProblem(t, await send('/api/v1/schedule/types'), 'internal-error', 'identify');
    t.notMatch(JSON.stringify(problem), /secret/);
  }
});

test('all parameter faults are listed together, broken encoding first', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const query = [
    'type=%ff',
    'unknown=1',
    'studygroup=A',
    'roomId=x',
    'courseId=',
    `lecturerId=${ROOM}`,
    'startTime=2024-02-30T00:00:00Z',
    'limit=1',
    'limit=2',
    'cursor=!',
    'format=xml',
    ...Array.from({ length: 101 }, (_, i) => `studyGroup=${i}`),
  ].join('&');
  const reply = await send(`/api/v1/schedule?${query}`, { headers: GOOD });
  const problem = assertProblem(t, reply, 'parameters-invalid', 'many faults');
  const told = (problem.errors as { parameter: string; code: string; detail: string }[]).map(
    ({ parameter, code }) => `${parameter} ${code}`,
  );
  t.equal(told[0], 'type malformed-encoding');
  t.same(told.sort(), [
    'courseId empty-value',
    'cursor malformed-cursor',
    'format unknown-value',
    'limit repeated-parameter',
    'roomId malformed-identifier',
    'startTime malformed-time',
    'studyGroup too-many-values',
    'studygroup unknown-parameter',
    'type malformed-encoding',
    'unknown unknown-parameter',
  ]);
  for (const [query, code] of [
    ['startTime=2024-09-02T08:00:00Z&endTime=2024-09-02T08:00:00Z', 'empty-window'],
    ['limit=10001', 'malformed-limit'],
  ]) {
    t.match((await send(`/api/v1/schedule?${query}`, { headers: GOOD })).json(), { errors: [{ code }] });
  }
});

test('at most a hundred faults are listed', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const query = Array.from({ length: 150 }, (_, i) => `${i}=%`).join('&');
  const reply = await send(`/api/v1/schedule?${query}`, { headers: GOOD });
  t.equal((reply.json() as { errors: unknown[] }).errors.length, 100);
});

test('unknown parameters are skipped on request, but broken encoding is not', async (t) => {
  const { send } = await serve(t, setUp({ unknownParameters: 'ignore' }).handler);
  t.equal((await send('/api/v1/schedule?utm_source=x', { headers: GOOD })).status, 200);
  // A name or value that cannot be decoded could belong to a filter.
  for (const query of ['utm_source=%', 'utm_source=%ff', '%=x', 'utm%ff=x', '%', 'st%udyGroup=A']) {
    t.match((await send(`/api/v1/schedule?${query}`, { headers: GOOD })).json(), {
      status: 400,
      errors: [{ code: 'malformed-encoding' }],
    });
  }
});

test('repeated or malformed credentials and hosts are refused', async (t) => {
  const { raw } = await serve(t, setUp().handler);
  const good = `Authorization: Bearer ${token()}`;
  const cases: [name: string, head: string, status: string, code: string][] = [
    ['a repeated Authorization', `HTTP/1.1\r\nHost: a\r\n${good}\r\n${good}`, '400', 'invalid-request'],
    ['two Host fields', `HTTP/1.1\r\nHost: a\r\nhost: a\r\n${good}`, '400', 'invalid-request'],
    ['two Host fields, one empty', `HTTP/1.1\r\nHost: a\r\nHost:\r\n${good}`, '400', 'invalid-request'],
    ['no Host', `HTTP/1.1\r\n${good}`, '400', 'invalid-request'],
    ['a Host with a space', `HTTP/1.1\r\nHost: a b\r\n${good}`, '400', 'invalid-request'],
    ['a Host with a path', `HTTP/1.1\r\nHost: a/b\r\n${good}`, '400', 'invalid-request'],
    ['a Host with a user', `HTTP/1.1\r\nHost: a@b\r\n${good}`, '400', 'invalid-request'],
    ['a Host with a port of letters', `HTTP/1.1\r\nHost: a:b\r\n${good}`, '400', 'invalid-request'],
    ['a list of Hosts', `HTTP/1.1\r\nHost: a, b\r\n${good}`, '400', 'invalid-request'],
    ['a malformed Host in HTTP/1.0', `HTTP/1.0\r\nHost: a b\r\n${good}`, '400', 'invalid-request'],
  ];
  for (const [name, head, status, code] of cases) {
    // Resolves because the server closes the connection.
    const reply = await raw(`GET /api/v1/schedule ${head}\r\n\r\n`);
    t.match(reply, new RegExp(`^HTTP/1.1 ${status} `), name);
    t.match(reply, /\r\nConnection: close\r\n/, name);
    t.match(reply, new RegExp(`"code":"${code}"`), name);
  }
  const send = (head: string) => raw(`GET /api/v1/schedule ${head}\r\nConnection: close\r\n\r\n`);
  for (const head of ['Host: a\r\nAuthorization: Basic YTpi', 'Host: a']) {
    const reply = await send(`HTTP/1.1\r\n${head}`);
    t.match(reply, /^HTTP\/1.1 401 [\s\S]*"code":"credentials-missing"/, head);
  }
  t.match(await send(`HTTP/1.0\r\n${good}`), /^HTTP\/1.1 200 /, 'HTTP/1.0 needs no Host');
  for (const host of [
    '',
    'a:',
    'a.example:80',
    'under_score',
    '127.0.0.1:3000',
    '[::1]',
    '[::1]:80',
    'a%2Db',
  ]) {
    t.match(await send(`HTTP/1.1\r\nHost: ${host}\r\n${good}`), /^HTTP\/1.1 200 /, `Host: ${host}`);
  }
});

test('too many header fields are refused with 431', async (t) => {
  const { raw } = await serve(t, setUp().handler);
  const good = `Authorization: Bearer ${token()}\r\n`;
  const send = (fields: number) =>
    raw(
      `GET /api/v1/schedule HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${'a:\r\n'.repeat(fields - 3)}${good}\r\n`,
    );
  for (const fields of [3, 99, HEADER_FIELDS_MAX]) {
    t.match(await send(fields), /^HTTP\/1.1 200 /, `${fields} fields`);
  }
  for (const fields of [HEADER_FIELDS_MAX + 1, 1999, 2000, 2001, 2500]) {
    const reply = await send(fields);
    t.match(reply, /^HTTP\/1.1 431 [\s\S]*\r\nConnection: close\r\n/, `${fields} fields`);
    t.match(reply, /Content-Type: application\/problem\+json\r\n/);
    // From 2,000 on, node itself refuses some, depending on its version.
    t.match(reply, /"detail":"[^"]* more than 100 header fields[^"]*","code":"headers-too-large"/);
  }
  const kept = await raw(`GET /nowhere HTTP/1.1\r\nHost: a\r\n${'a:\r\n'.repeat(100)}\r\n`);
  t.match(kept, /^HTTP\/1.1 431 [\s\S]*\r\nConnection: close\r\n/, 'the server closes the connection');
});

test('a description with quotes stays one quoted string', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const noExpiry = { Authorization: `Bearer ${hs256({ sub: 'a' })}` };
  const reply = await send('/api/v1/schedule', { headers: noExpiry });
  t.match(reply.headers['www-authenticate'], /error_description="[^"\\]*'exp'[^"\\]*"$/);
});

test('an enrolment without claims is enough for the personal timetable', async (t) => {
  const enrolments = { alice: { studyGroup: ['A'] }, carol: {} };
  const { send } = await serve(t, setUp({ enrolments }).handler);
  const personal = async (headers: Record<string, string>) => {
    const reply = await send('/api/v1/schedule/personal', { headers });
    return reply.status === 200 ? (reply.json() as unknown[]).length : reply.status;
  };
  t.equal(await personal(bearer()), 6);
  t.equal(await personal(bearer({ studyGroup: 'B & <C>, "D"' })), 11, 'the union');
  t.equal(await personal(bearer({ sub: 'carol' })), 0);
  t.equal(await personal(bearer({ sub: 'dave' })), 403);
});

test('the instance of a problem is a valid URI reference for any target', async (t) => {
  const { raw } = await serve(t, setUp().handler);
  for (const target of ['/%FC', '/%', '/a"<>\\^`{|}', '/a#b?c', '//host/%41']) {
    const reply = await raw(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    t.match(reply, /^HTTP\/1.1 404 /, target);
    const { instance } = JSON.parse(reply.slice(reply.indexOf('\r\n\r\n'))) as { instance: string };
    t.match(instance, /^\/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*$/, target);
  }
});

test('a base path may be the root, and may end with a slash', async (t) => {
  for (const [basePath, path] of [
    ['/', '/schedule'],
    ['/a/b/', '/a/b/schedule'],
  ] as const) {
    const { send } = await serve(t, setUp({ basePath }).handler);
    t.equal((await send(path, { headers: GOOD })).status, 200, basePath);
  }
});

test('without a log, a fault of the service becomes a process warning', async (t) => {
  const broken = Object.defineProperty(viewsOf(), 'view', {
    get() {
      throw new Error('the view is broken');
    },
  });
  const handler = createHandler(broken, { ...USUAL, identify: () => null });
  const { send } = await serve(t, handler);
  const warned = once(process, 'warning');
  t.equal((await send('/api/v1/schedule')).status, 500);
  const [warning] = (await warned) as [Error];
  t.equal(warning.name, 'LecternWarning');
  t.match(warning.message, /^a request failed: Error: the view is broken/);
});
