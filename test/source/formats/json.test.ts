/** NDJSON and JSON arrays: damage, positions and sizes. */
import fc from 'fast-check';
import { test } from 'tap';
import { READ_CHUNK_BYTES, RECORD_BYTES_MAX } from '../../../src/base/limits.js';
import { findJsonFault, placeOf } from '../../../src/base/model/json-fault.js';
import { collectBytes, failureOf } from '../collect.js';

const values = (read: Awaited<ReturnType<typeof collectBytes>>): unknown[] =>
  read.records.map((r) => r.value);

test('a 10 MB line costs one record, and is not kept in memory', async (t) => {
  const long = `{"title":"${'x'.repeat(10 * 1024 * 1024)}"}`;
  for (const source of [`{"a":1}\n${long}\n{"a":2}\n`, `[{"a":1},${long},{"a":2}]`]) {
    const read = await collectBytes(source);
    t.same(values(read), [{ a: 1 }, { a: 2 }]);
    t.match(read.rejections, [{ code: 'record-too-large', position: { record: 2 } }]);
    t.equal(
      read.rejections[0]?.detail,
      `the record is ${long.length} bytes long; expected at most ${RECORD_BYTES_MAX}`,
    );
  }
});

test('the longest allowed record is read; one byte more is refused', async (t) => {
  for (const [extra, read, rejected] of [
    [0, 3, 0],
    [1, 2, 1],
  ] as const) {
    const long = `{"t":"${'x'.repeat(RECORD_BYTES_MAX - 8 + extra)}"}`;
    for (const source of [`{}\n${long}\n{}`, `[{},${long},{}]`]) {
      for (const pieceBytes of [0, 4096, READ_CHUNK_BYTES + 1]) {
        const found = await collectBytes(source, pieceBytes);
        t.same([found.records.length, found.rejections.length], [read, rejected]);
      }
    }
  }
});

test('a source with one too long line is not malformed', async (t) => {
  const read = await collectBytes(`{"t":"${'x'.repeat(RECORD_BYTES_MAX)}"}`);
  t.match(read.rejections, [{ code: 'record-too-large', position: { record: 1, line: 1 } }]);
});

test('lines that are not JSON cost one record each and report the place of the fault', async (t) => {
  const read = await collectBytes('{"a":1}\n\n{"ř":tru}\r\nnot\n{"a":2}\n{"a":3');
  t.same(values(read), [{ a: 1 }, { a: 2 }]);
  t.same(
    read.rejections.map((r) => [r.position, r.detail]),
    [
      [{ record: 2, line: 3 }, 'the line is not JSON: column 6: found "t"; expected a value'],
      [{ record: 3, line: 4 }, 'the line is not JSON: column 1: found "n"; expected a value'],
      [{ record: 5, line: 6 }, 'the line is not JSON: column 7: found the end; expected "," or "}"'],
    ],
  );
});

test('lines that are not UTF-8 cost one record each', async (t) => {
  const bytes = Buffer.concat([
    Buffer.from('{"a":"ř"}\n{"a":"'),
    Buffer.from([0xc5]),
    Buffer.from('"}\n{"a":"😀"}\n{"a":"'),
    Buffer.from([0xed, 0xa0, 0x80]),
    Buffer.from('"}\n'),
  ]);
  for (const pieceBytes of [0, 1, 5]) {
    const read = await collectBytes(bytes, pieceBytes);
    t.same(values(read), [{ a: 'ř' }, { a: '😀' }]);
    t.match(read.rejections, [
      { code: 'malformed-text', position: { record: 2, line: 2 } },
      { code: 'malformed-text', position: { record: 4, line: 4 } },
    ]);
  }
});

test('elements with balanced brackets that are not JSON cost one record each', async (t) => {
  const read = await collectBytes(
    '[{"a":1},\n{"a":},[1}],"\\x",tru,\n {"a":\n"x\ny"}, {"a":2}]'.replace('[1}]', '{"b":[1,]}'),
  );
  t.same(values(read), [{ a: 1 }, { a: 2 }]);
  t.same(
    read.rejections.map((r) => [r.position, r.detail.replace('the record is not JSON: ', '')]),
    [
      [{ record: 2, line: 2 }, 'character 6 of the record: found "}"; expected a value'],
      [{ record: 3, line: 2 }, 'character 9 of the record: found "]"; expected a value'],
      [
        { record: 4, line: 2 },
        'character 2 of the record: found an escape that JSON does not have; expected one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX',
      ],
      [{ record: 5, line: 2 }, 'character 1 of the record: found "t"; expected a value'],
      [
        { record: 6, line: 3 },
        'line 4, column 3: found the control character U+000A inside a string; expected it to be escaped',
      ],
    ],
  );
});

const DAMAGED: readonly [source: string, message: string][] = [
  ['[', 'line 1, column 2: the source ends inside the array; expected a record or "]"'],
  ['[1,', 'line 1, column 4: the source ends inside the array; expected a record'],
  ['["ř" 2]', 'line 1, column 6: found "2" after record 1; expected "," or "]"'],
  ['["ř"\n,"😀",\n"řř","ř"}', 'line 3, column 9: found "}" after record 4; expected "," or "]"'],
  ['[,1]', 'line 1, column 2: found ","; expected a record or "]"'],
  ['[1,,2]', 'line 1, column 4: found ","; expected a record'],
  ['[1,]', 'line 1, column 4: found "]"; expected a record'],
  ['[1]]', 'line 1, column 4: found "]" after the end of the array; expected nothing more'],
  ['[1][2]', 'line 1, column 4: found "[" after the end of the array; expected nothing more'],
  [
    '[1]\u00e9',
    'line 1, column 4: found a character that is not ASCII after the end of the array; expected nothing more',
  ],
  [
    '[{"a":"\\',
    'line 1, column 9: the source ends inside record 1, which begins on line 1; expected its end and "]"',
  ],
  [
    '[\n12',
    'line 2, column 3: the source ends inside record 1, which begins on line 2; expected its end and "]"',
  ],
  [
    '[{"a":1]',
    'line 1, column 8: found "]" at the end of record 1, which begins with "{" on line 1; a bracket is missing before this "]"',
  ],
  ['[\n  ř:1,\n x]', 'line 2, column 3: found "ř"; expected a value. No record of the array is JSON'],
  [
    '[{a:1}]',
    'line 1, column 3: found "a"; expected a property name in double quotes or "}". No record of the array is JSON',
  ],
  [
    '\n\n{"a":1',
    'line 3, column 7: found the end; expected "," or "}". No line is JSON by itself; expected NDJSON (one record a line), a JSON array, MessagePack or CSV',
  ],
];

for (const [source, message] of DAMAGED) {
  test(`damaged JSON is refused: ${JSON.stringify(source)}`, async (t) => {
    for (const pieceBytes of [0, 1, 3]) {
      const failure = await failureOf(collectBytes(source, pieceBytes));
      t.match(failure, { code: 'source-malformed', message: `test: ${message}` });
    }
  });
}

test('faults are found exactly where JSON.parse finds them', async (t) => {
  const fragment = fc.constantFrom(
    ...[
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      '\\n',
      '\\u00e9',
      '\\u00',
      'a',
      '"a"',
      '0',
      '01',
      '-',
      '1.5e3',
      '1.',
      'true',
      'nul',
      ' ',
      '\n',
      '\u0001',
      'ř',
    ],
  );
  const damaged = fc.tuple(fc.json(), fc.nat(), fragment).map(([json, at, piece]) => {
    const i = at % (json.length + 1);
    return json.slice(0, i) + piece + json.slice(i);
  });
  const parses = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(
      fc.oneof(
        damaged,
        fc.json(),
        fc.array(fragment).map((parts) => parts.join('')),
      ),
      (text) => {
        const fault = findJsonFault(text);
        return parses(text) ? fault === null : fault !== null && fault.offset <= text.length;
      },
    ),
    { seed: 8259, numRuns: 5000 },
  );
  t.same(findJsonFault('['.repeat(100_000)), {
    offset: 100_000,
    problem: 'found the end; expected a value or "]"',
  });
});

test('columns count characters, not UTF-16 units', async (t) => {
  t.same(placeOf('a\n😀b', 4), { line: 2, column: 2 });
  t.same(placeOf('', 0), { line: 1, column: 1 });
});

test('an array inside an object is refused, with a hint', async (t) => {
  const wrapped: readonly (readonly [text: string, name: string])[] = [
    ['{"events":[{"id":"a"},{"id":"b"}]}', 'events'],
    ['{"count":2,"next":null,"at":"now","items": []}\n', 'items'],
    ['{\n  "events": [\n    {\n      "id": "a"\n    }\n  ]\n}\n', 'events'],
    // Its last line would count as a record.
    ['{"events":[\n{"id":"a"},\n{"id":"b"}\n]}', 'events'],
    ['{\n"events":[\n{"id":"a"}\n]}', 'events'],
    [`{"events":[${'{"id":"a"},'.repeat(200_000)}{"id":"b"}]}`, 'events'],
  ];
  for (const [text, name] of wrapped) {
    for (const pieceBytes of text.length < 100 ? [0, 1] : [0]) {
      t.match(
        await failureOf(collectBytes(text, pieceBytes)),
        {
          code: 'source-malformed',
          message: `line 1: found an object around an array "${name}"; expected that array at the top level`,
        },
        text.slice(0, 50),
      );
    }
  }
});

test('records that hold arrays are accepted', async (t) => {
  const records: readonly (readonly [text: string, records: number, rejections: number])[] = [
    ['{"tags":["x"],"id":"a"}', 1, 0],
    ['{"tags":["x"]}\n{"tags":["y"]}', 2, 0],
    ['{"tags":["x"\n{"id":"a"}\n{"id":"b"}', 2, 1],
    ['{"id":"a"}\n{"tags":["x"\n', 1, 1],
  ];
  for (const [text, count, rejected] of records) {
    const read = await collectBytes(text);
    t.same([read.records.length, read.rejections.length], [count, rejected], text);
  }
  const mapped = { identifiers: 'any', fieldMap: { id: '{course.code}-{nr}' } } as const;
  const one = '{"nr":1,"course":{"code":"A"},"tags":["x"]}';
  t.equal((await collectBytes(one, 0, mapped)).records.length, 1, 'the only record, whose id the map names');
});
