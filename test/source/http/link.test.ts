import { type Test, test } from 'tap';
import { collect, failureOf, sourceOf } from '../collect.js';
import { ndjson, startUpstream } from './upstream.js';

/** An upstream whose first answer has this Link field; every other path is another page. */
async function upstreamWith(t: Test, field: string) {
  let isFirst = true;
  const upstream = await startUpstream(t, (_, response) => {
    if (isFirst) response.setHeader('link', field);
    isFirst = false;
    response.setHeader('etag', '"one"').end(ndjson([{}]));
  });
  return { upstream, load: () => collect(sourceOf({ kind: 'http', url: upstream.origin })) };
}

test('Link fields of every form of RFC 8288 are read', async (t) => {
  const cases: [field: string, next: string | null][] = [
    ['</2>; rel="next"', '/2'],
    ['</2>;rel=next', '/2'],
    ['</2>; REL=Next', '/2'],
    ['</2> ; rel = "next"', '/2'],
    ['</2>; rel="prefetch next"', '/2'],
    ['</1>; rel="prev", </2>; rel="next", </9>; rel="last"', '/2'],
    ['</2>; title="a, b; rel=\\"prev\\""; rel="next"', '/2'],
    ["</2>; title*=UTF-8''n%c3%a4chste; rel=next", '/2'],
    ['</a,b;c?d=e>; rel=next', '/a,b;c?d=e'],
    ['</2>; crossorigin; rel=next', '/2'],
    ['</2>; rel=next;', '/2'],
    [', ,</2>; rel=next,', '/2'],
    ['</2>; rel=next, </3>; rel=next', '/2'],
    ['', null],
    ['</2>', null],
    ['</2>; rel="prev"; rel="next"', null],
    ['</2>; rel="nextish"', null],
    ['</2>; rel="http://example.org/next"', null],
    ['</2>; rel=next; anchor="/other"', null],
  ];
  for (const [field, next] of cases) {
    const { upstream, load } = await upstreamWith(t, field);
    await load();
    t.strictSame(upstream.paths, next === null ? ['/'] : ['/', next], field);
  }
  const { load } = await upstreamWith(t, '<>; rel=next');
  t.match((await failureOf(load())).message, /its next links form a loop/);
});

test('a field that cannot be parsed completely is refused', async (t) => {
  for (const field of [
    '/2; rel=next',
    '</2; rel=next',
    '</2>; rel="next',
    '</1>; rel=prev </2>; rel=next',
    '</1>; rel=prev; </2>; rel=next',
    '</1>; rel="a"b, </2>; rel=next',
    '</1>, x, </2>; rel=next',
  ]) {
    const { load } = await upstreamWith(t, field);
    t.match((await failureOf(load())).message, /its Link header cannot be understood \(RFC 8288\)/, field);
  }
});

test('a long field takes time in proportion to its length', async (t) => {
  for (const field of [
    `${'</2>; title="'.padEnd(500, ' ')}${'\\"'.repeat(4000)}`,
    `</2>${' '.repeat(8000)}x`,
    `</2>${';'.repeat(8000)}"`,
  ]) {
    const { load } = await upstreamWith(t, field);
    const before = process.cpuUsage();
    t.match((await failureOf(load())).message, /its Link header cannot be understood/);
    t.ok(process.cpuUsage(before).user < 10_000_000);
  }
});

test('any link between pages marks the answer as one of several pages, which have no version', async (t) => {
  for (const [field, isPaged] of [
    ['</>; rel="first"', true],
    ['</style.css>; rel="stylesheet", </docs>; rel="help"', false],
    ['', false],
  ] as const) {
    const { load } = await upstreamWith(t, field);
    t.equal((await load()).summary.version === null, isPaged, field);
  }
});
