/** Conditional requests, and links to the next page. */
import { test } from 'tap';
import { LIST_ENTRIES_MAX } from '../../../src/base/limits.js';
import { bearer, serve, setUp } from '../harness.js';

const PATH = '/api/v1/schedule';

test('If-None-Match is a star or a list of entity tags, compared weakly', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const tag = (await send(PATH, { headers: bearer() })).headers.etag as string;
  const opaque = tag.slice('W/'.length);
  t.match(opaque, /^"[^"]*[a-z][^"]*"$/);
  const others = (entries: number): string => '"x",'.repeat(entries);
  const cases: [field: string, matches: boolean][] = [
    [tag, true],
    [opaque, true],
    [`"x", ${tag}`, true],
    [`"x",W/"y" , ${opaque}`, true],
    [`, ,${opaque}`, true],
    ['*', true],
    [' * ', true],
    ['', false],
    ['"a"', false],
    [opaque.slice(0, -1), false],
    [opaque.slice(1, -1), false],
    [`w/${opaque}`, false],
    [`"x" nonsense ${opaque}`, false],
    ['"*"', false],
    [opaque.toUpperCase(), false],
    // Only the first entries of a long list count, so that no list is expensive.
    [others(LIST_ENTRIES_MAX - 1) + opaque, true],
    [others(LIST_ENTRIES_MAX) + opaque, false],
  ];
  for (const [field, matches] of cases) {
    const { status } = await send(PATH, { headers: { ...bearer(), 'If-None-Match': field } });
    t.equal(status, matches ? 304 : 200, field);
  }
});

test('the next link has the same query with a new, encoded cursor', async (t) => {
  const { send } = await serve(t, setUp().handler);
  const odd = encodeURIComponent('a>b";\r\nX: y&=ü');
  const linkOf = async (query: string): Promise<string> =>
    String((await send(PATH + query, { headers: bearer() })).headers.link);
  const LINK =
    /^<\/api\/v1\/schedule\?limit=2&studyGroup=A&studyGroup=a%3Eb%22%3B%0D%0AX:%20y%26%3D%C3%BC&cursor=([\w%-]+)>; rel="next"$/;
  const [, first] = LINK.exec(await linkOf(`?limit=2&studyGroup=A&studyGroup=${odd}`)) ?? [];
  t.ok(first);
  const [, second] = LINK.exec(await linkOf(`?limit=2&cursor=${first}&studyGroup=A&studyGroup=${odd}`)) ?? [];
  t.ok(second);
  t.not(second, first);
});
