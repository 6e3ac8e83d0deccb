import { test } from 'tap';
import type { LoadProgress } from '../../../src/source/source.js';
import { collect, failureOf, sourceOf } from '../collect.js';
import { type Answer, allClosed, ndjson, records, shown, startUpstream } from './upstream.js';

/** Three records a page, starting with 3 × page. */
function page(number: number, link: string | null, format: 'array' | 'lines' = 'lines'): Answer {
  return (_, response) => {
    if (link !== null) response.setHeader('link', link);
    const values = records(3, 3 * number);
    response.end(format === 'array' ? JSON.stringify(values) : ndjson(values));
  };
}

const next = (target: string): string => `<${target}>; rel="next"`;

test('next links are followed, relative or absolute, over one connection', async (t) => {
  const upstream = await startUpstream(t, {
    '/v1/all': (request, response) => {
      const cursor = new URL(request.url ?? '', 'http://h').searchParams.get('cursor') ?? '0';
      const links: Record<string, string | null> = {
        '0': `</v1/all>; rel="first", ${next('?cursor=1')}`,
        '1': next('all?cursor=2'),
        '2': next('/v1/all?cursor=3'),
        '3': next(`//${request.headers.host}/v1/all?cursor=4`),
        '4': next(`http://${request.headers.host}/v1/all?cursor=5#part`),
        '5': '</v1/all>; rel="first"',
      };
      page(Number(cursor), links[cursor] ?? null)(request, response);
    },
  });
  const source = sourceOf({
    kind: 'http',
    url: `${upstream.origin}/v1/all`,
    headers: { authorization: 'Bearer x' },
  });
  const read = await collect(source);
  t.strictSame(
    read.records.map(({ value }) => value),
    records(18),
  );
  t.strictSame(
    upstream.paths.slice(1),
    ['1', '2', '3', '4', '5'].map((cursor) => `/v1/all?cursor=${cursor}`),
  );
  t.ok(upstream.requests.every(({ headers }) => headers.authorization === 'Bearer x'));
  t.equal(upstream.connections.opened, 1);
  await allClosed(upstream);
});

test('records are numbered across all pages, and name the page of their line', async (t) => {
  const upstream = await startUpstream(t, {
    '/': (_, response) => response.setHeader('link', next('/2')).end('{"n":0}\n{"n":\n'),
    '/2': (_, response) => response.end('\n{"n":2}\n{"n":\n'),
  });
  const read = await collect(sourceOf({ kind: 'http', url: upstream.origin }));
  t.strictSame(
    read.records.map(({ position }) => position),
    [
      { record: 1, line: 1 },
      { record: 3, line: 2, page: 2 },
    ],
  );
  t.match(read.rejections, [
    { position: { record: 2, line: 2 } },
    { position: { record: 4, line: 3, page: 2 } },
  ]);
});

test('the rows of a record with several values have the number of their record, on each page', async (t) => {
  const lesson = (...studyGroup: string[]): string =>
    `${JSON.stringify({ id: studyGroup[0], studyGroup })}\n`;
  const upstream = await startUpstream(t, {
    '/': (_, response) => response.setHeader('link', next('/2')).end(lesson('A', 'B') + lesson('C')),
    '/2': (_, response) => response.end(lesson('D', 'E') + lesson('F')),
  });
  const rules = { identifiers: 'any' } as const;
  const read = await collect(sourceOf({ kind: 'http', url: upstream.origin }), {
    rules,
    onRecord: undefined,
  });
  t.strictSame(
    read.records.map(({ position: { record, page } }) => [record, page]),
    [
      [1, undefined],
      [1, undefined],
      [2, undefined],
      [3, 2],
      [3, 2],
      [4, 2],
    ],
  );
});

test('pages of different formats form one set; sizes and progress cover all pages', async (t) => {
  const upstream = await startUpstream(t, { '/': page(0, next('/2')), '/2': page(1, null, 'array') });
  const progress: LoadProgress[] = [];
  const source = sourceOf({ kind: 'http', url: upstream.origin });
  const read = await collect(source, { onProgress: (p) => progress.push(p) });
  const bytesRead = ndjson(records(3)).length + JSON.stringify(records(3)).length;
  t.strictSame(read.summary, { format: 'mixed', gzipped: false, bytesRead, version: null });
  t.strictSame(progress.at(-1), { bytesRead, bytesTotal: null, records: 6 });
});

test('a missing page or a broken link fails the whole load', async (t) => {
  const other = await startUpstream(t, page(1, null));
  const cases: [what: string, answers: Record<string, Answer>, problem: RegExp][] = [
    ['not found', { '/': page(0, next('/2')) }, /\/2: the answer is 404 Not Found; expected 200$/],
    [
      'an empty page',
      { '/': page(0, next('/2')), '/2': (_, response) => response.end() },
      /\/2: the source is empty/,
    ],
    ['itself', { '/': page(0, next('')) }, /its next links form a loop at http/],
    ['a loop', { '/': page(0, next('/2')), '/2': page(1, next('/')) }, /\/2: its next links form a loop/],
    [
      'another origin',
      { '/': page(0, next(`${other.origin}/2?key=top-secret`)) },
      /is on another origin, http/,
    ],
    [
      'another scheme',
      { '/': page(0, next('file:///etc/passwd')) },
      /next page leads to an address of the scheme file/,
    ],
    ['no address', { '/': page(0, next('http://[')) }, /its next page leads to an invalid address/],
    ['what is no link', { '/': page(0, '/2; rel=next') }, /its Link header cannot be understood/],
    [
      'more pages than allowed',
      Object.fromEntries(
        Array.from({ length: 5 }, (_, i) => [
          i === 0 ? '/' : `/${i}`,
          page(i, i === 4 ? null : next(`/${i + 1}`)),
        ]),
      ),
      /it has more than 4 pages$/,
    ],
  ];
  for (const [what, answers, problem] of cases) {
    const upstream = await startUpstream(t, answers);
    const failure = await failureOf(collect(sourceOf({ kind: 'http', url: upstream.origin, pagesMax: 4 })));
    t.match(failure.message, problem, what);
    t.match(failure.code, /^source-(unreadable|malformed)$/, what);
    t.notMatch(shown(failure), 'top-secret');
    await allClosed(upstream);
  }
  t.equal(other.requests.length, 0);
});

test('pages on another origin are read if allowed, without header fields', async (t) => {
  const other = await startUpstream(t, { '/2': page(1, next('/3')), '/3': page(2, null) });
  const upstream = await startUpstream(t, { '/': page(0, next(`${other.origin}/2`)) });
  const read = await collect(
    sourceOf({
      kind: 'http',
      url: upstream.origin,
      headers: { authorization: 'Bearer x' },
      crossOriginNext: true,
    }),
  );
  t.equal(read.records.length, 9);
  t.strictSame(other.paths, ['/2', '/3']);
  t.ok(other.requests.every(({ headers }) => headers.authorization === undefined));
});

test('a connection closed between two pages is opened again', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    const number = Number(request.url?.slice(1) || '0');
    const { socket } = request;
    // Announces keep-alive and then closes, like a server whose timeout ends at that moment.
    response.on('finish', () => setImmediate(() => socket.destroy()));
    page(number, number === 9 ? null : next(`/${number + 1}`))(request, response);
  });
  const read = await collect(sourceOf({ kind: 'http', url: upstream.origin }));
  t.equal(read.records.length, 30);
});
