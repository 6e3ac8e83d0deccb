/** CSV: delimiters, quotes and line ends, with bytes cut anywhere, and bad input. */
import assert from 'node:assert/strict';
import { test } from 'tap';
import { CSV_COLUMNS_MAX, RECORD_BYTES_MAX } from '../../../src/base/limits.js';
import type { Rejection } from '../../../src/base/model/event.js';
import type { RowSink } from '../../../src/source/source.js';
import { collectGarbage } from '../../http/collect-garbage.js';
import { collectBytes, collectPieces, failureOf, readInto } from '../collect.js';

/** `line: detail` of each rejection. */
function faultsOf(rejections: readonly Rejection[]): string[] {
  return rejections.map(({ position, detail }) => `${position.line}: ${detail}`);
}

const READ: readonly (readonly [what: string, text: string, records: readonly object[]])[] = [
  ['commas', 'a,b\n1,2\n', [{ a: '1', b: '2' }]],
  ['semicolons', 'a;b\n1,5;2\n', [{ a: '1,5', b: '2' }]],
  ['tabs', 'a\tb\n1;5\t2\n', [{ a: '1;5', b: '2' }]],
  [
    'a comma in each text',
    'a;b, c\n1, x;2\n1;2, x\n',
    [
      { a: '1, x', 'b, c': '2' },
      { a: '1', 'b, c': '2, x' },
    ],
  ],
  ['the line sep= of Excel', 'sep=;\na,x;b\n1;2\n', [{ 'a,x': '1', b: '2' }]],
  ['the line sep= of Excel with another delimiter', 'sep=|\r\na|b\r\n1|2\r\n', [{ a: '1', b: '2' }]],
  [
    'CR LF',
    'a,b\r\n1,2\r\n3,4\r\n',
    [
      { a: '1', b: '2' },
      { a: '3', b: '4' },
    ],
  ],
  [
    'CR',
    'a,b\r1,2\r3,4\r',
    [
      { a: '1', b: '2' },
      { a: '3', b: '4' },
    ],
  ],
  ['CR CR LF', 'a,b\r\r\n1,2\r\r\n', [{ a: '1', b: '2' }]],
  ['no last line end', 'a,b\n1,2', [{ a: '1', b: '2' }]],
  ['a byte order mark', '\ufeffa,b\n1,2\n', [{ a: '1', b: '2' }]],
  ['blank lines', '\n\na,b\n\n1,2\n\n\n', [{ a: '1', b: '2' }]],
  ['rows of empty cells', 'a,b\n,\n1,2\n"",""\n', [{ a: '1', b: '2' }]],
  [
    'empty cells',
    'a,b,c\n,2,\n"",,3\n',
    [
      { a: null, b: '2', c: null },
      { a: '', b: null, c: '3' },
    ],
  ],
  [
    'quotes',
    'a,b\n"1,0","x ""y"" z"\n"""",""""""\n',
    [
      { a: '1,0', b: 'x "y" z' },
      { a: '"', b: '""' },
    ],
  ],
  [
    'line breaks in quotes',
    'a,b\n"1\n2\r\n3","\r"\n4,5\n',
    [
      { a: '1\n2\r\n3', b: '\r' },
      { a: '4', b: '5' },
    ],
  ],
  ['a quote inside a cell', 'a,b\n5" disk,2"\n', [{ a: '5" disk', b: '2"' }]],
  ['spaces', ' a , b\n 1 , 2\n', [{ a: ' 1 ', b: ' 2' }]],
  ['formulas', 'a,b\n=1+1,@SUM(A1)\n', [{ a: '=1+1', b: '@SUM(A1)' }]],
  ['a backslash', 'a,b\n\\n,C:\\\n', [{ a: '\\n', b: 'C:\\' }]],
  ['names in quotes', '"a;x";b\n1;2\n', [{ 'a;x': '1', b: '2' }]],
  ['a name over two lines', '"a\nx";b\n1;2\n', [{ 'a\nx': '1', b: '2' }]],
  ['columns without a name', 'a,,b,\n1,2,3,4\n', [{ a: '1', 'column 2': '2', b: '3', 'column 4': '4' }]],
  ['a name twice', 'a,x,x,x\n1,2,3,4\n', [{ a: '1', x: '2', 'x (2)': '3', 'x (3)': '4' }]],
  ['a name that stands for another', 'x,x,x (2)\n1,2,3\n', [{ x: '1', 'x (3)': '2', 'x (2)': '3' }]],
  ['names of objects', '__proto__,constructor\n1,2\n', [{ ['__proto__']: '1', constructor: '2' }]],
  ['other scripts', 'größe,名前\n"ü",\u{1f600}\n', [{ größe: 'ü', 名前: '\u{1f600}' }]],
  ['only a header', 'a,b\n', []],
];

for (const [what, text, records] of READ) {
  test(`${what} is read, cut at every byte`, async (t) => {
    const bytes = Buffer.from(text);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const read = await readCut(bytes, cut);
      t.strictSame(read.values, records, `cut at ${cut}`);
      t.strictSame(read.faults, []);
    }
    t.strictSame(
      (await collectBytes(bytes, 1)).records.map(({ value }) => value),
      records,
      'byte by byte',
    );
  });
}

/** Reads a text that arrives in two pieces. */
async function readCut(bytes: Buffer, cut: number): Promise<{ values: unknown[]; faults: string[] }> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (const piece of [bytes.subarray(0, cut), bytes.subarray(cut)]) yield Uint8Array.from(piece);
  }
  const { records, rejections, summary } = await collectPieces(pieces());
  assert.equal(summary.format, 'csv');
  return { values: records.map(({ value }) => value), faults: faultsOf(rejections) };
}

const NOT_CLOSED = 'is not closed; expected a closing quote';
const FAULTS: readonly (readonly [
  what: string,
  text: string,
  values: readonly string[],
  faults: readonly string[],
])[] = [
  ['a cell too few', 'a,b\n1\n2,x\n', ['2'], ['2: the row has 1 cell; expected 2, as the header has']],
  [
    'a cell too many, behind a row of three lines',
    'a,b\n"1\n\n",x\n2,x,y\n3,x',
    ['1\n\n', '3'],
    [
      '5: the row has 3 cells; expected 2, as the header has, with quotes around a cell that holds the separator',
    ],
  ],
  ['a NUL', 'a,b\n1,\0\n2,x\n', ['2'], ['2: the row holds a NUL character; expected text']],
  [
    'text behind a quote',
    'a,b\n1,"x" y\n2,x\n',
    ['2'],
    ['2: cell 2 has text after its closing quote; expected quotes inside a quoted cell to be doubled'],
  ],
  [
    'an open quote, closed by the next one',
    'a,b\n1,"x\n2,y\n3,"z"\n4,x\n',
    ['2', '3', '4'],
    [`2: the quote that opens cell 2 on line 2 ${NOT_CLOSED}`],
  ],
  [
    'an open quote, and no other quote',
    'a,b\n1,x\n2,"x\n3,x\n4,x\n',
    ['1', '3', '4'],
    [`3: the quote that opens cell 2 on line 3 ${NOT_CLOSED}`],
  ],
  [
    'an open quote in the last row',
    'a,b\n1,x\n2,"x',
    ['1'],
    [`3: the quote that opens cell 2 on line 3 ${NOT_CLOSED}`],
  ],
  [
    'open quotes in each row',
    'a,b\n1,"x\n2,"x\n3,"x\n4,x\n',
    ['4'],
    [2, 3, 4].map((line) => `${line}: the quote that opens cell 2 on line ${line} ${NOT_CLOSED}`),
  ],
  [
    'an open quote behind a cell of two lines',
    'a,b\n"1\n2","x\n3,y\n4,x\n',
    ['3', '4'],
    [`2: the quote that opens cell 2 on line 3 ${NOT_CLOSED}`],
  ],
  [
    'an open quote that CR LF follows',
    'a,b\r\n1,"x\r\n2,y\r\n',
    ['2'],
    [`2: the quote that opens cell 2 on line 2 ${NOT_CLOSED}`],
  ],
];

for (const [what, text, values, faults] of FAULTS) {
  test(`${what} costs only its row`, async (t) => {
    const bytes = Buffer.from(text);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const read = await readCut(bytes, cut);
      t.strictSame(
        read.values.map((value) => (value as { a: string }).a),
        values,
        `cut at ${cut}`,
      );
      t.strictSame(read.faults, faults);
    }
    const single = await collectBytes(bytes, 1);
    t.strictSame(faultsOf(single.rejections), faults, 'byte by byte');
    const numbers = [...single.records, ...single.rejections].map(({ position }) => position.record);
    t.strictSame(
      numbers.sort(),
      numbers.map((_, n) => n + 1),
      'each record has its number',
    );
  });
}

test('a source that is not CSV with a header is refused in one sentence', async (t) => {
  for (const [text, message] of [
    ['a,b,"c\n1,2,3\n', /line 1: the quote that opens cell 3 on line 1 is not closed/],
    ['a,"b"c\n1,2\n', /line 1: cell 2 has text after its closing quote/],
    ['31.08.2024;08:00;Algebra\n', /line 1: it looks like data, not like a header: found "31.08.2024"/],
    ['A1;8:00 AM;Algebra\n', /line 1: it looks like data, not like a header: found "8:00 AM"/],
    ['1,2,3\n4,5,6\n', /line 1: it looks like data, not like a header: found "1"/],
    [
      'id,time,id,time\n',
      /columns 1 and 3 are both called id, columns 2 and 4 are both called time; expected/,
    ],
    ['time,title,time\n', /line 1: columns 1 and 3 are both called time; expected different names/],
    [
      `sep=;\n\n${'a;'.repeat(CSV_COLUMNS_MAX)}b\n`,
      /line 3: the header has 1001 columns; expected at most 1000/,
    ],
    [`${'a,'.repeat(10_000)}b\n1,2\n`, /line 1: the header has 10001 columns; expected at most 1000/],
    ['sep=;\n', /line 2: the source ends before the header line; expected column names/],
    [`a,${'b'.repeat(RECORD_BYTES_MAX)}\n1,2\n`, /line 1: the record is \d+ bytes long/],
  ] as const) {
    // Many small pieces of a long text would take seconds.
    for (const pieceBytes of [0, text.length > 100_000 ? 1000 : 7]) {
      const failure = await failureOf(collectBytes(text, pieceBytes));
      t.match(failure, { name: 'LecternError', code: 'source-malformed', message }, text.slice(0, 30));
    }
  }
  const single = await failureOf(collectBytes('Montag\nAlgebra\n'));
  t.match(single.message, /found the text "Montag"; expected .*CSV with a header line/);
});

test('a row of 10 MB is too large, with and without an open quote', async (t) => {
  const long = 'x'.repeat(10 * 1024 * 1024);
  for (const pieceBytes of [0, 1000]) {
    const plain = await collectBytes(`a,b\n1,x\n2,${long}\n3,x\n`, pieceBytes);
    t.strictSame(
      plain.records.map(({ value }) => (value as { a: string }).a),
      ['1', '3'],
    );
    t.match(plain.rejections, [{ code: 'record-too-large', position: { record: 2, line: 3 } }]);
    t.match(plain.rejections[0]?.detail, `${long.length + 2} bytes long`);
    const quoted = await collectBytes(`a,b\n1,x\n2,"${long}\n3,x\n`, pieceBytes);
    t.match(quoted.rejections, [{ code: 'record-too-large', position: { record: 2, line: 3 } }]);
    t.match(quoted.records.at(-1), { value: { a: '3' }, position: { record: 3, line: 4 } });
  }
});

test('an open quote before many rows costs only its row', async (t) => {
  const rows = Array.from({ length: 150_000 }, (_, n) => `${n},some text\n`).join('');
  const { records, rejections } = await collectBytes(`a,b\n0,"x\n${rows}`, 100_000);
  t.equal(records.length, 150_000);
  t.strictSame(faultsOf(rejections), [`2: the quote that opens cell 2 on line 2 ${NOT_CLOSED}`]);
  t.match(records.at(-1)?.position, { record: 150_001, line: 150_002 });
});

test('reading with any quotes takes linear time, and the rejection names the lines left out', async (t) => {
  // Each line ends inside quotes, in either state at its start.
  const crafted = `a,b\n1,"\n${'x",y"z,"\n'.repeat(400_000)}`;
  const begin = process.cpuUsage();
  const { rejections } = await collectBytes(crafted, 64 * 1024);
  const { user } = process.cpuUsage(begin);
  t.ok(user < 10e6, `${user / 1000} ms`);
  t.ok(rejections.some(({ detail }) => /; lines \d+ to \d+ are left out with it$/.test(detail)));
});

test('a last row that looks cut may still be being written', async (t) => {
  for (const [text, endsCut] of [
    ['a,b\n1,2\n3', true],
    ['a,b\n1,2\n3,"x', true],
    ['a,b\n1,2\n3,4', undefined],
    ['a,b\n1,2\n3\n', undefined],
  ] as const) {
    t.equal((await collectBytes(text)).summary.endsCut, endsCut, text);
  }
});

test('200,000 rows take only the memory of a few pieces', async (t) => {
  const piece = Buffer.from('1,"Übung ""x""",some text of a lesson\n'.repeat(10_000));
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a,b,c\n');
    for (let n = 0; n < 20; n++) yield Uint8Array.from(piece);
  }
  let rows = 0;
  let peak = 0;
  const sink: RowSink = {
    row() {
      if (++rows % 50_000 === 0) {
        collectGarbage();
        const { heapUsed, external } = process.memoryUsage();
        peak = Math.max(peak, heapUsed + external);
      }
    },
    fault: ({ detail }) => t.fail(detail),
  };
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  await readInto(sink, chunks());
  t.equal(rows, 200_000);
  t.ok(peak - heapUsed - external < 40e6, `${peak - heapUsed - external} bytes`);
});
