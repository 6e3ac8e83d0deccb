/** JSON documents whose records a JSONata expression gives. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import jsonata from 'jsonata';
import { test } from 'tap';
import { RECORDS_BYTES_MAX } from '../../../src/base/limits.js';
import type { ReadRules } from '../../../src/base/model/read-rules.js';
import { FieldTable } from '../../../src/source/field-map.js';
import { NestedJsonReader, recordsFault } from '../../../src/source/formats/nested-json.js';
import { readRecords } from '../../../src/source/formats/read-records.js';

const TITLE = 3;

async function titlesOf(
  document: unknown,
  records: string,
  rules: Partial<ReadRules> = {},
): Promise<string[]> {
  const titles: string[] = [];
  const sink = {
    row: (row: { textOf(field: number): string }) => void titles.push(row.textOf(TITLE)),
    fault: ({ detail }: { readonly detail: string }) => void titles.push(`fault: ${detail}`),
  };
  const text = typeof document === 'string' ? document : JSON.stringify(document, null, 2);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < text.length; at += 50_000) yield Buffer.from(text.slice(at, at + 50_000));
  }
  const all = { identifiers: 'any', records, ...rules } as const;
  await readRecords(chunks(), sink, { sourceName: 'x.json', bytesTotal: null, rules: all });
  return titles;
}

const WEEK = {
  count: 3,
  schedules: {
    Понедельник: [
      { title: 'Algebra', start: '08:00' },
      { title: 'Logic', start: '09:00' },
    ],
    Вторник: [{ title: 'Sets', start: '10:00' }],
  },
};

test('an expression gives the records of a nested document', async (t) => {
  t.same(await titlesOf(WEEK, 'schedules.*[]'), ['Algebra', 'Logic', 'Sets']);
  t.same(await titlesOf(WEEK, "schedules.*[title='Sets']"), ['Sets'], 'a single record');
  t.same(await titlesOf(WEEK, 'schedules.*[$match(title, /^a/i)].{"title": title & "!"}'), ['Algebra!']);
  t.same(
    await titlesOf(WEEK.schedules.Понедельник, '$', {}),
    ['Algebra', 'Logic'],
    'an array is its records',
  );
  t.same(await titlesOf({ a: [1, 'x'] }, 'a'), [
    'fault: the record is a number (1); expected an object with the fields of an event',
    'fault: the record is the string "x"; expected an object with the fields of an event',
  ]);
});

/** Expressions and documents that cannot be used, and what is said of them. */
const FAULTS: readonly (readonly [what: string, document: unknown, records: string, fault: RegExp])[] = [
  [
    'nothing',
    WEEK,
    'schedule.*',
    /records "schedule.\*" gives nothing; the document has "count", "schedules"/,
  ],
  ['no expression', WEEK, 'schedules.', /records "schedules.": character \d+: it ends early/],
  [
    'an expression that recurses',
    WEEK,
    '($f := function($x) { $f($x) + 1 }; $f(1))',
    /: it calls itself more than \d+ times without an end/,
  ],
  [
    'a text of gigabytes',
    WEEK,
    '$pad("x", -4000000000)',
    /character 5: it makes a text of up to 4000000000 characters; expected at most \d+$/,
  ],
  [
    'a text of megabytes',
    WEEK,
    '[1..40].{"title": $pad("x", 8000000)}',
    /character 23: it makes a text of up to 8000000 characters; expected at most 1000000$/,
  ],
  [
    'short texts joined to a long one',
    WEEK,
    '$join([1..10000].$string(), $pad("", 7000))',
    /character 6: it makes a text of up to \d+ characters; expected at most \d+$/,
  ],
  [
    'a long text by replacing',
    WEEK,
    '$replace($pad("", 700000), " ", $pad("", 100))',
    /character 9: it makes a text of up to 70000000 characters; expected at most \d+$/,
  ],
  ['a range without end', WEEK, '[1..100000000]', /records "\[1..100000000\]": .*gives more than \d+ values/],
  ['a name that is no function', WEEK, 'sum(schedules)', /"sum" is no function; expected a name with \$/],
  [
    'a long text that is no number',
    WEEK,
    '$number($pad("9", 900000, "9"))',
    /^(?=.{0,400}$).*JSONata refuses it with D3030 \(Unable to cast value to a number: "9+\)$/,
  ],
  ['a pattern with look-ahead', WEEK, 'schedules.*[$match(title, /(?=a)/)]', /records "/],
  ['a document that is none', '{"a": [}', 'a', /it is not one JSON document: /],
  ['two documents', '{"a": 1}\n{"a": 2}', 'a', /it is not one JSON document: /],
  ['deep nesting', '['.repeat(200_000), '$', /it is nested too deeply|it is not one JSON document/],
  ['CSV', 'a,b\n1,2\n', 'a', /records is an expression over JSON; found csv/],
];

for (const [what, document, records, fault] of FAULTS) {
  test(`${what} is a sentence`, async (t) => {
    await t.rejects(titlesOf(document, records), { code: 'source-malformed', message: fault });
  });
}

test('texts are still padded, joined and replaced', async (t) => {
  const text =
    '$join([$pad("a", -3, "-"), $replace("b.b", ".", "c"), $replace("de", /d/, function($m) { "f" })], "; ")';
  t.same(await titlesOf({}, `{"title": ${text}}`), ['--a; bcb; fe']);
});

test('texts are padded as by JSONata itself', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', ' ', 'ü', '\u{1f600}', 'e\u0301'), maxLength: 9 });
  const given = fc.record(
    {
      text,
      width: fc.oneof(fc.integer({ min: -25, max: 25 }), fc.double({ min: -9, max: 9, noNaN: true })),
      by: text,
    },
    { requiredKeys: ['text', 'width'] },
  );
  const records = '[cases.{"title": $pad(text, width, by)}]';
  await fc.assert(
    fc.asyncProperty(fc.array(given, { minLength: 1, maxLength: 50 }), async (cases) => {
      const expected = (await jsonata(records).evaluate({ cases })) as { title: string }[];
      assert.deepEqual(
        await titlesOf({ cases }, records),
        Array.from(expected, ({ title }) => title),
      );
    }),
    { seed: 20_261_128, numRuns: 30 },
  );
});

test('a pattern that would backtrack takes linear time', async (t) => {
  const document = { a: [{ title: `${'a'.repeat(5000)}!` }] };
  t.same(await titlesOf(document, 'a[$not($contains(title, /^(a+)+$/))]'), [document.a[0]?.title]);
});

test('a document that is too large is refused before it is parsed', async (t) => {
  const reader = readerOf('$');
  reader.push(Buffer.alloc(RECORDS_BYTES_MAX));
  t.throws(() => reader.push(Buffer.alloc(1)), {
    code: 'source-too-large',
    message: /more than 67108864 bytes/,
  });
});

test('an expression that does not end is ended', async (t) => {
  const reader = readerOf('($f := function($x) { $f($x) }; $f(1))', 50);
  reader.push(Buffer.from('{}'));
  await t.rejects(reader.finish(), {
    message: /it took more than 50 ms; expected one that only finds records/,
  });
});

function readerOf(records: string, msMax?: number): NestedJsonReader {
  const rules = { identifiers: 'any', records } as const;
  const table = new FieldTable({ row() {}, fault() {} }, 'json-array', rules);
  return new NestedJsonReader('x.json', table, rules, undefined, msMax);
}

test('the fault of an expression names its character', async (t) => {
  t.equal(await recordsFault('a.b[]'), null);
  t.match(await recordsFault('a.[}'), /it is no expression of JSONata: character \d+: /);
});
