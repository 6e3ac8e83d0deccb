import { test } from 'tap';
import { parseLinks } from '../../../src/source/http.js';

test('Link fields of every form of RFC 8288 are read', (t) => {
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
    ['<>; rel=next', ''],
    ['', null],
    ['</2>', null],
    ['</2>; rel="prev"; rel="next"', null],
    ['</2>; rel="nextish"', null],
    ['</2>; rel="http://example.org/next"', null],
    ['</2>; rel=next; anchor="/other"', null],
  ];
  for (const [field, next] of cases) {
    t.equal(parseLinks(field)?.next, next, field);
  }
  t.end();
});

test('a field that cannot be parsed completely is refused', (t) => {
  for (const field of [
    '/2; rel=next',
    '</2; rel=next',
    '</2>; rel="next',
    '</1>; rel=prev </2>; rel=next',
    '</1>; rel=prev; </2>; rel=next',
    '</1>; rel="a"b, </2>; rel=next',
    '</1>, x, </2>; rel=next',
  ]) {
    t.equal(parseLinks(field), null, field);
  }
  t.end();
});

test('a long field takes time in proportion to its length', (t) => {
  const field = `${'</2>; title="'.padEnd(500, ' ')}${'\\"'.repeat(4000)}`;
  const before = process.cpuUsage();
  t.equal(parseLinks(field), null);
  t.equal(parseLinks(`</2>${' '.repeat(8000)}x`), null);
  t.equal(parseLinks(`</2>${';'.repeat(8000)}"`), null);
  t.ok(process.cpuUsage(before).user < 10_000_000);
  t.end();
});

test('any link between pages marks the answer as one of several pages', (t) => {
  t.equal(parseLinks('</>; rel="first"')?.isPaged, true);
  t.equal(parseLinks('</style.css>; rel="stylesheet", </docs>; rel="help"')?.isPaged, false);
  t.equal(parseLinks('')?.isPaged, false);
  t.end();
});
