import { test } from 'tap';
import { collect, failureOf, isUnchanged, sourceOf } from '../collect.js';
import { type Answer, allClosed, ndjson, records, startUpstream } from './upstream.js';

const BODY = ndjson(records(3));
const DATE = 'Mon, 02 Sep 2024 08:00:00 GMT';

/** Answers like an upstream that supports conditional requests. */
function withEntityTag(state: { etag: string }): Answer {
  return (request, response) => {
    response.setHeader('etag', state.etag);
    if (request.headers['if-none-match'] === state.etag) response.writeHead(304).end();
    else response.end(BODY);
  };
}

test('data with an unchanged entity tag is not read again', async (t) => {
  for (const etag of ['"one"', 'W/"one"', '""', '"with\\and-é"']) {
    const state = { etag };
    const upstream = await startUpstream(t, withEntityTag(state));
    const source = sourceOf({ kind: 'http', url: `${upstream.origin}/all` });
    const { version } = (await collect(source)).summary;
    t.type(version, 'string', etag);
    t.ok(await isUnchanged(source, version), etag);
    await allClosed(upstream);

    state.etag = '"two"';
    t.notOk(await isUnchanged(source, version));
    const next = (await collect(source, { previous: version })).summary.version;
    t.not(next, version);
    t.ok(await isUnchanged(source, next));
    t.notOk(await isUnchanged(source, null), 'and it is read if no version is given');
  }
});

test('unchanged data is not read again even if the upstream ignores If-None-Match', async (t) => {
  const upstream = await startUpstream(t, (_, response) => {
    response.setHeader('etag', '"one"').write(BODY);
    // It never ends: the body is not awaited.
  });
  const source = sourceOf({ kind: 'http', url: upstream.origin });
  t.ok(await isUnchanged(source, versionFor(upstream.origin)));
  await allClosed(upstream);
});

test('without an entity tag, the date of the last change counts if it is older than the answer', async (t) => {
  const cases: [lastModified: string | null, date: string | null, isUsed: boolean][] = [
    ['Mon, 02 Sep 2024 07:59:59 GMT', DATE, true],
    ['Sun, 01 Sep 2024 08:00:00 GMT', DATE, true],
    ['Mon, 02 Sep 2024 08:00:00 GMT', DATE, false],
    ['Mon, 02 Sep 2024 08:00:05 GMT', DATE, false],
    ['yesterday', DATE, false],
    ['Sun, 01 Sep 2024 08:00:00 GMT', null, false],
    [null, DATE, false],
  ];
  for (const [lastModified, date, isUsed] of cases) {
    const upstream = await startUpstream(t, (request, response) => {
      response.sendDate = false;
      if (lastModified !== null) response.setHeader('last-modified', lastModified);
      if (date !== null) response.setHeader('date', date);
      if (request.headers['if-modified-since'] === lastModified) response.writeHead(304).end();
      else response.end(BODY);
    });
    const source = sourceOf({ kind: 'http', url: upstream.origin });
    const { version } = (await collect(source)).summary;
    const about = `${lastModified} at ${date}`;
    t.equal(version !== null, isUsed, about);
    t.equal(await isUnchanged(source, version), isUsed, about);
  }
});

test('the version of one address is not used for another', async (t) => {
  const upstream = await startUpstream(t, withEntityTag({ etag: '"one"' }));
  const at = (path: string) => sourceOf({ kind: 'http', url: upstream.origin + path });
  const { version } = (await collect(at('/a?term=fall'))).summary;
  t.notOk(await isUnchanged(at('/a?term=spring'), version), 'the same entity tag means something else there');
  t.equal(upstream.requests.at(-1)?.headers['if-none-match'], undefined);
  t.ok(await isUnchanged(at('/a?term=fall#part'), version));
  t.notMatch(version, /term|fall/, 'and does not show it');
});

test('a redirected address has the version of its target', async (t) => {
  let target = '/one';
  const upstream = await startUpstream(t, {
    '/': (request, response) => {
      t.equal(request.headers['if-none-match'], undefined);
      response.writeHead(302, { location: target }).end();
    },
    '/one': withEntityTag({ etag: '"same"' }),
    '/two': withEntityTag({ etag: '"same"' }),
  });
  const source = sourceOf({ kind: 'http', url: upstream.origin });
  const { version } = (await collect(source)).summary;
  t.ok(await isUnchanged(source, version));
  target = '/two';
  t.notOk(await isUnchanged(source, version));
});

test('versions of other addresses are not sent', async (t) => {
  const upstream = await startUpstream(t, (_, response) => response.end(BODY));
  const source = sourceOf({ kind: 'http', url: upstream.origin });
  const { url } = JSON.parse(versionFor(upstream.origin)) as { url: string };
  for (const previous of [
    '',
    'null',
    '[]',
    '{"url":1}',
    '65024-1-2-3',
    JSON.stringify({ url, etag: '"a"\r\nx: y' }),
    JSON.stringify({ url, lastModified: 'x\r\ny: z' }),
  ]) {
    t.notOk(await isUnchanged(source, previous), previous);
    const headers = upstream.requests.at(-1)?.headers;
    t.notOk(headers?.['if-none-match'] ?? headers?.['if-modified-since'] ?? headers?.x, previous);
  }
});

test('an unexpected 304 is a failure', async (t) => {
  const upstream = await startUpstream(t, (_, response) => response.writeHead(304).end());
  const source = sourceOf({ kind: 'http', url: upstream.origin });
  const message = `cannot read ${upstream.origin}/: the answer is 304 Not Modified; expected 200`;
  t.match(await failureOf(collect(source)), { code: 'source-unreadable', message });
  t.match(await failureOf(collect(source, { previous: 'of another address' })), { message });
});

test('a set in pages has no version', async (t) => {
  const rels = ['next', 'prev', 'previous', 'first', 'last'];
  for (const rel of rels) {
    const upstream = await startUpstream(t, (request, response) => {
      response.setHeader('etag', '"one"');
      if (request.url === '/') response.setHeader('link', `</2>; rel="${rel}"`);
      response.end(BODY);
    });
    const read = await collect(sourceOf({ kind: 'http', url: upstream.origin }));
    t.equal(read.summary.version, null, rel);
  }
  const upstream = await startUpstream(t, (_, response) => {
    response.setHeader('etag', '"one"').setHeader('link', '</style.css>; rel=stylesheet').end(BODY);
  });
  t.type((await collect(sourceOf({ kind: 'http', url: upstream.origin }))).summary.version, 'string');
});

test('an unchanged first page with new further pages is read again with them', async (t) => {
  let pages = 1;
  const upstream = await startUpstream(t, (request, response) => {
    const isFirst = request.url === '/';
    // The body of the first page, and so its tag, are the same with and without a second page.
    if (isFirst) response.setHeader('etag', '"first"');
    if (isFirst && pages > 1) response.setHeader('link', '</2>; rel="next"');
    if (isFirst && request.headers['if-none-match'] === '"first"') response.writeHead(304).end();
    else response.end(BODY);
  });
  const source = sourceOf({ kind: 'http', url: upstream.origin });
  const { version } = (await collect(source)).summary;
  t.ok(await isUnchanged(source, version));
  pages = 2;
  const read = await collect(source, { previous: version });
  t.equal(read.records.length, 6);
  t.equal(read.summary.version, null);
});

/** A version as from a load of the address. */
function versionFor(origin: string): string {
  const url = sourceOf({ kind: 'http', url: origin }).id?.slice('address '.length);
  return JSON.stringify({ url, etag: '"one"' });
}
