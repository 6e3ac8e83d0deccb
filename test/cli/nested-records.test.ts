/**
 * The records that inspect finds within a document are those that its JSONata expression gives. Inside,
 * because inspect shows only the best of the places.
 */
import { join } from 'node:path';
import jsonata from 'jsonata';
import { test } from 'tap';
import { nestedRecords } from '../../src/cli/nested-records.js';
import { start } from './lectern.js';

const DOCUMENTS: Readonly<Record<string, readonly [document: unknown, lessons: readonly object[]]>> = {
  'lists by weekday': [
    {
      from: '1 Sep',
      days: { Mon: [{ subject: 'A' }], Tue: [{ subject: 'B' }, { subject: 'C' }], Wed: [] },
      exams: [],
    },
    [
      { from: '1 Sep', key: 'Mon', subject: 'A' },
      { from: '1 Sep', key: 'Tue', subject: 'B' },
      { from: '1 Sep', key: 'Tue', subject: 'C' },
    ],
  ],
  'classes by course': [
    {
      C1: { id: 1, title: 'X', classes: [{ id: 'a' }, { id: 'b' }] },
      C2: { id: 2, title: 'Y', classes: [{ id: 'c' }] },
    },
    [
      { title: 'X', document_id: 1, key: 'C1', id: 'a' },
      { title: 'X', document_id: 1, key: 'C1', id: 'b' },
      { title: 'Y', document_id: 2, key: 'C2', id: 'c' },
    ],
  ],
  'levels of lists': [
    [
      {
        code: 'C1',
        terms: [
          { term: 1, lessons: [{ day: 'Mon' }] },
          { term: 2, lessons: [{ day: 'Tue' }] },
        ],
      },
    ],
    [
      { code: 'C1', term: 1, day: 'Mon' },
      { code: 'C1', term: 2, day: 'Tue' },
    ],
  ],
  'odd names': [{ data: { 'my lessons': [{ a: 1 }, { a: 2 }] } }, [{ a: 1 }, { a: 2 }]],
};

for (const [name, [document, lessons]] of Object.entries(DOCUMENTS)) {
  test(name, async (t) => {
    const places = nestedRecords(document);
    for (const { expression, records } of places) {
      const found: unknown = await jsonata(expression).evaluate(document);
      t.same([found].flat(), records, expression);
    }
    t.same(places.at(-1)?.records, lessons);
  });
}

test('a document without lists of objects, and one that is deep or wide, are no trouble', (t) => {
  t.strictSame(nestedRecords('text'), []);
  t.strictSame(nestedRecords([1, [2]]), []);
  let deep: unknown = { day: 'Mon' };
  for (let n = 0; n < 1000; n++) deep = { a: [deep] };
  t.ok(nestedRecords(deep).length <= 24);
  const wide = Object.fromEntries(
    Array.from({ length: 2000 }, (_, n) => [`k${n}`, { [`x${n}`]: [{ a: 1 }] }]),
  );
  t.ok(nestedRecords(wide).length <= 24);
  t.end();
});

const LARGE: Readonly<Record<string, string>> = {
  'many values': '[1..100000].{"title": $string($), "numbers": [1..200000]}',
  'many long texts': '[1..400].{"title": $pad("x", 1000000)}',
  'a long text, joined with itself':
    '($x := $pad("x", 1000000); $y := $x & $x & $x & $x & $x & $x & $x & $x; $z := $y & $y & $y & $y & $y & $y & $y & $y; {"title": $z & $z & $z & $z})',
};

for (const [what, expression] of Object.entries(LARGE)) {
  test(`an expression that needs too much memory ends with a sentence, not with the process: ${what}`, async (t) => {
    const folder = t.testdir({
      'lessons.json': '{}',
      'timetable.yaml': `timeZone: UTC
sources:
  - { from: lessons.json, records: '${expression}' }
`,
    });
    const argv = ['inspect', join(folder, 'timetable.yaml')];
    const { code, stderr } = await start(argv, { NODE_OPTIONS: '--max-old-space-size=200' }).ended;
    t.match(
      stderr,
      /^error: .*it needs more than \d+ MiB of memory; expected one that only finds records\n$/,
    );
    t.equal(code, 1);
  });
}
