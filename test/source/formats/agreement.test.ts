/** Every format, plain and gzipped, in pieces of any size, gives the same records as JSON.parse. */
import { gzipSync } from 'node:zlib';
import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { Packr } from 'msgpackr';
import { test } from 'tap';
import type { RecordPosition } from '../../../src/base/model/event.js';
import { JsonArrayReader } from '../../../src/source/formats/json-array.js';
import { MessagePackReader } from '../../../src/source/formats/messagepack.js';
import { NdjsonReader } from '../../../src/source/formats/ndjson.js';
import { runs } from '../../hard/size.js';
import { fastTest } from '../../hard/slow-test.js';
import { collectBytes, rawTable } from '../collect.js';

const packr = new Packr({ useRecords: false });

const WRITERS: Readonly<Record<string, (records: readonly unknown[]) => Buffer>> = {
  'ndjson, LF': (records) => Buffer.from(records.map((r) => `${JSON.stringify(r)}\n`).join('')),
  'ndjson, CRLF, BOM, blank lines, no last line end': (records) =>
    Buffer.from(`\ufeff\r\n${records.map((r) => JSON.stringify(r)).join('\r\n \t\r\n')}`),
  'json array, compact': (records) => Buffer.from(JSON.stringify(records)),
  'json array, indented, BOM': (records) => Buffer.from(`\ufeff \n${JSON.stringify(records, null, 2)}\r\n`),
  'messagepack array, msgpackr': (records) => Buffer.from(packr.pack(records)),
  'messagepack array, @msgpack/msgpack': (records) => Buffer.from(encode(records)),
  'messagepack sequence, msgpackr': (records) =>
    Buffer.concat(records.map((r) => Buffer.from(packr.pack(r)))),
  'messagepack sequence, @msgpack/msgpack': (records) => Buffer.concat(records.map((r) => encode(r))),
  'messagepack array with a long header': (records) => {
    const header = Buffer.from([0xdd, 0, 0, 0, 0]);
    header.writeUInt32BE(records.length, 1);
    return Buffer.concat([header, ...records.map((r) => encode(r))]);
  },
};

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom(
    '"',
    '\\',
    '\\"',
    '[{',
    '}]',
    '\n',
    '\r\n',
    'ř'.repeat(20),
    'x'.repeat(300),
    '😀',
    '\u0000',
    '\u2028',
  ),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.constant(0.5),
    tie('list'),
    tie('map'),
  ),
  list: fc.array(tie('any'), { maxLength: 4 }),
  map: fc.dictionary(
    text.filter((key) => key !== '__proto__'),
    tie('any'),
    { maxKeys: 4 },
  ),
})).map;
const records = fc.array(value, { minLength: 1, maxLength: 8 });

for (const [name, write] of Object.entries(WRITERS)) {
  test(`${name}: every cut into chunks gives the same records`, async (t) => {
    await fc.assert(
      fc.asyncProperty(
        records,
        fc.constantFrom(0, 1, 2, 7, 64),
        fc.boolean(),
        async (written, pieceBytes, gzipped) => {
          const plain = write(written);
          const bytes = gzipped ? gzipSync(plain) : plain;
          const read = await collectBytes(bytes, pieceBytes);
          const expected = JSON.stringify(JSON.parse(JSON.stringify(written)));
          if (JSON.stringify(read.records.map((r) => r.value)) !== expected) throw new Error('other records');
          if (read.rejections.length > 0) throw new Error(read.rejections[0]?.detail);
          if (read.summary.gzipped !== gzipped || read.summary.bytesRead !== bytes.length)
            throw new Error('summary');
          if (!name.startsWith(read.summary.format.replace('-', ' ').slice(0, 4))) throw new Error('format');
          const numbers = read.records.map((r) => r.position.record);
          if (numbers.some((n, i) => n !== i + 1)) throw new Error('positions');
        },
      ),
      { seed: 77, numRuns: runs(60) },
    );
    t.pass('every generated set');
  });
}

fastTest('positions are those of the whole source, and readers keep nothing of a reused chunk', async (t) => {
  const written = Array.from({ length: 40 }, (_, i) => ({
    id: i,
    title: `Řízení ${i}`,
    tags: ['a', { b: '}]"' }],
  }));
  const text = `\n[\n${written.map((r) => JSON.stringify(r, null, 1)).join(',\n')}\n]`;
  const lines = written.map((r) => JSON.stringify(r)).join('\n\n');
  const cases = [
    {
      Reader: NdjsonReader,
      bytes: Buffer.from(lines),
      at: (i: number) => ({ record: i + 1, line: 2 * i + 1 }),
    },
    {
      Reader: JsonArrayReader,
      bytes: Buffer.from(text),
      at: (i: number) => ({ record: i + 1, line: 3 + 10 * i }),
    },
    {
      Reader: MessagePackReader,
      bytes: Buffer.from(encode(written)),
      at: (i: number) => ({
        record: i + 1,
        byte: 3 + written.slice(0, i).reduce((sum, r) => sum + encode(r).length, 0),
      }),
    },
  ];
  for (const { Reader, bytes, at } of cases) {
    for (const pieceBytes of [1, 3, 100, bytes.length]) {
      const found: { value: unknown; position: RecordPosition }[] = [];
      const table = rawTable(
        (value, position) => found.push({ value, position }),
        (rejection) => t.fail(rejection.detail),
      );
      const reader = new Reader('test', table, { identifiers: 'uuid' }, Buffer.from(bytes));
      const piece = Buffer.alloc(pieceBytes);
      for (let start = 0; start < bytes.length; start += pieceBytes) {
        const length = bytes.copy(piece, 0, start, start + pieceBytes);
        reader.push(piece.subarray(0, length));
        piece.fill(0xff);
      }
      reader.finish();
      t.same(
        found,
        written.map((value, i) => ({ value, position: at(i) })),
        `${reader.format} by ${pieceBytes}`,
      );
    }
  }
});

fastTest('a source without records is valid if its format can express that', async (t) => {
  for (const bytes of [
    '[]',
    ' [ \n] ',
    Buffer.from([0x90]),
    Buffer.from([0xdc, 0, 0]),
    Buffer.from([0xdd, 0, 0, 0, 0]),
  ]) {
    for (const pieceBytes of [0, 1]) {
      for (const packed of [bytes, gzipSync(bytes)]) {
        const read = await collectBytes(packed, pieceBytes);
        t.same([read.records, read.rejections], [[], []]);
      }
    }
  }
});

fastTest('gzip data of several members is one source', async (t) => {
  const bytes = Buffer.concat([
    gzipSync('{"a":1}\n{"a"'),
    gzipSync(':2}\n'),
    gzipSync('{"a":3}'),
    Buffer.alloc(512),
  ]);
  for (const pieceBytes of [0, 1]) {
    t.same(
      (await collectBytes(bytes, pieceBytes)).records.map((r) => r.value),
      [{ a: 1 }, { a: 2 }, { a: 3 }],
    );
  }
});
