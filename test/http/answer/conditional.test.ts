import { test } from 'tap';
import { matchedEntityTag, nextLink } from '../../../src/http/answer/conditional.js';

test('If-None-Match is a star or a list of entity tags, compared weakly', async (t) => {
  const tag = 'W/"a,b"';
  const cases: [header: string, matches: boolean][] = [
    ['W/"a,b"', true],
    ['"a,b"', true],
    ['"x", W/"a,b"', true],
    ['"x",W/"y" , "a,b"', true],
    [', ,"a,b"', true],
    ['*', true],
    [' * ', true],
    ['', false],
    ['"a"', false],
    ['"a,b', false],
    ['a,b', false],
    ['w/"a,b"', false],
    ['"x" nonsense "a,b"', false],
    ['"*"', false],
    ['"A,B"', false],
  ];
  for (const [header, matches] of cases) t.equal(matchedEntityTag(header, tag) !== null, matches, header);
  t.equal(matchedEntityTag('W/"s"', '"s"'), 'W/"s"', 'a strong tag of ours matches weakly, too');
});

test('a long list of tags is read in linear time', async (t) => {
  const began = process.hrtime.bigint();
  t.equal(matchedEntityTag('"x",'.repeat(4000), '"y"'), null);
  t.equal(matchedEntityTag(' ,'.repeat(8000), '"y"'), null);
  t.ok(process.hrtime.bigint() - began < 200_000_000n);
});

test('the next link has the same query with a new, encoded cursor', async (t) => {
  t.equal(
    nextLink(
      '/api/v1/schedule',
      [
        ['limit', '2'],
        ['cursor', 'old'],
        ['studyGroup', 'a>b";\r\nX: y&=ü'],
      ],
      'n+/=',
    ),
    '</api/v1/schedule?limit=2&studyGroup=a%3Eb%22%3B%0D%0AX:%20y%26%3D%C3%BC&cursor=n%2B%2F%3D>; rel="next"',
  );
  t.equal(nextLink('/s', [], 'c'), '</s?cursor=c>; rel="next"');
});
