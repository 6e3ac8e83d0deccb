import { test } from 'tap';
import { UPSTREAM_REDIRECTS_MAX } from '../../../src/base/limits.js';
import { collect, failureOf, sourceOf } from '../collect.js';
import { CERTIFICATE } from './certificate.js';
import { type Answer, allClosed, shown, startUpstream } from './upstream.js';

const BODY: Answer = (_, response) => response.end('{"n":1}\n');
const to =
  (location: string, status = 302): Answer =>
  (_, response) =>
    response.writeHead(status, { location }).end('elsewhere');

const HEADERS = { Authorization: 'Bearer top-secret', 'X-Api-Key': 'top-secret' };

test('redirects on the same origin are followed with the header fields', async (t) => {
  for (const status of [301, 302, 303, 307, 308]) {
    const upstream = await startUpstream(t, {
      '/': to('/a/b?c=d', status),
      '/a/b': to('../e', status),
      '/e': BODY,
    });
    const read = await collect(sourceOf({ kind: 'http', url: upstream.origin, headers: HEADERS }));
    t.equal(read.records.length, 1);
    t.strictSame(upstream.paths, ['/', '/a/b?c=d', '/e']);
    t.equal(upstream.requests[2]?.headers.authorization, 'Bearer top-secret');
    await allClosed(upstream);
  }
});

test('a redirect to another origin drops configured header fields, even if it leads back', async (t) => {
  const other = await startUpstream(t, { '/': (_, response) => to(`${upstream.origin}/back`)(_, response) });
  const upstream = await startUpstream(t, {
    '/': to(other.origin.replace('://', '://eve:password@')),
    '/back': BODY,
  });
  await collect(sourceOf({ kind: 'http', url: upstream.origin, headers: HEADERS }));
  const [first, back] = upstream.requests;
  t.equal(first?.headers.authorization, 'Bearer top-secret');
  for (const request of [other.requests[0], back]) {
    t.equal(request?.headers['x-api-key'], undefined);
    t.equal(request?.headers.authorization, undefined, 'nor one that the redirect came with');
    t.equal(request?.headers['accept-encoding'], 'gzip', 'but what every request has');
  }
});

test('user and password of the address go to no other origin', async (t) => {
  const other = await startUpstream(t, BODY);
  const upstream = await startUpstream(t, to(other.origin));
  await collect(sourceOf({ kind: 'http', url: upstream.origin.replace('://', '://user:top-secret@') }));
  t.match(upstream.requests[0]?.headers.authorization, /^Basic /);
  t.equal(other.requests[0]?.headers.authorization, undefined);
});

test('if another origin requires header fields, the failure says why they were not sent', async (t) => {
  const other = await startUpstream(t, (_, response) => response.writeHead(401).end());
  const upstream = await startUpstream(t, to(`${other.origin}/all`));
  const failure = await failureOf(
    collect(sourceOf({ kind: 'http', url: upstream.origin, headers: HEADERS })),
  );
  t.equal(
    failure.message,
    `cannot read ${other.origin}/all: the answer is 401 Unauthorized; expected 200; ` +
      'the configured headers were not sent, because a redirect led to another origin',
  );
  t.notMatch(shown(failure), 'top-secret');
});

test('redirects are bounded, form no circles, and lead only to http and https', async (t) => {
  const chain = (length: number): Record<string, Answer> =>
    Object.fromEntries(
      Array.from({ length: length + 1 }, (_, i) => [`/${i}`, i === length ? BODY : to(`/${i + 1}`)]),
    );
  const cases: [what: string, answers: Record<string, Answer>, problem: string | null][] = [
    ['as many as are allowed', chain(UPSTREAM_REDIRECTS_MAX), null],
    ['one more', chain(UPSTREAM_REDIRECTS_MAX + 1), `it redirects more than ${UPSTREAM_REDIRECTS_MAX} times`],
    ['to itself', { '/0': to('/0') }, 'its redirects form a loop at ORIGIN/0'],
    ['a loop', { '/0': to('/1'), '/1': to('/0') }, 'its redirects form a loop at ORIGIN/0'],
    ['a file', { '/0': to('file:///etc/passwd') }, 'it redirects to an address of the scheme file'],
    ['data', { '/0': to('data:,{}') }, 'it redirects to an address of the scheme data'],
    ['no address', { '/0': to('http://[') }, 'it redirects to an invalid address'],
    ['nowhere', { '/0': (_, response) => response.writeHead(302).end() }, 'does not say where to go'],
  ];
  for (const [what, answers, problem] of cases) {
    const upstream = await startUpstream(t, answers);
    const load = collect(sourceOf({ kind: 'http', url: `${upstream.origin}/0` }));
    if (problem === null) {
      t.equal((await load).records.length, 1, what);
    } else {
      const failure = await failureOf(load);
      t.equal(failure.code, 'source-unreadable', what);
      t.match(failure.message, problem.replace('ORIGIN', upstream.origin), what);
    }
    await allClosed(upstream);
  }
});

test('secrets in the address of a redirect are hidden', async (t) => {
  const upstream = await startUpstream(t, {
    '/': to('/signed?signature=top-secret'),
    '/signed': (_, response) => response.writeHead(500).end(),
  });
  const failure = await failureOf(collect(sourceOf({ kind: 'http', url: upstream.origin })));
  t.match(failure.message, `cannot read ${upstream.origin}/signed?signature=…: the answer is 500`);
  t.notMatch(shown(failure), 'top-secret');
});

test('https works with the given certificate authority, and never falls back to http', async (t) => {
  const plain = await startUpstream(t, BODY);
  const secure = await startUpstream(t, { '/': BODY, '/down': to(plain.origin) }, { secure: true });
  const url = secure.origin;
  t.equal((await collect(sourceOf({ kind: 'http', url, ca: CERTIFICATE }))).records.length, 1);

  const untrusted = await failureOf(collect(sourceOf({ kind: 'http', url })));
  t.match(untrusted, {
    code: 'source-unreadable',
    message: `cannot read ${url}/: its certificate is self-signed`,
  });

  const failure = await failureOf(
    collect(sourceOf({ kind: 'http', url: `${url}/down`, ca: CERTIFICATE, headers: HEADERS })),
  );
  const problem = `it redirects from https to ${plain.origin}/, which is not encrypted`;
  t.match(failure, { code: 'source-unreadable', message: `cannot read ${url}/down: ${problem}` });
  t.equal(plain.requests.length, 0);

  const up = await startUpstream(t, to(url));
  t.equal((await collect(sourceOf({ kind: 'http', url: up.origin, ca: CERTIFICATE }))).records.length, 1);
});
