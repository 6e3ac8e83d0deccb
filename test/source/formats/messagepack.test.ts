import { encode } from '@msgpack/msgpack';
import { Packr } from 'msgpackr';
import { test } from 'tap';
import { RECORD_BYTES_MAX } from '../../../src/base/limits.js';
import { collectBytes, failureOf } from '../collect.js';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const map = (value: unknown): Buffer => Buffer.from(encode(value));

test('values of every type are skipped by the right number of bytes', async (t) => {
  const types = [
    'c0',
    'c2',
    'c3',
    '7f',
    'e0',
    'c4 01 ff',
    'c5 0001 ff',
    'c6 00000001 ff',
    'ca 3f000000',
    'cb 3fe0000000000000',
    'cc ff',
    'cd ffff',
    'ce ffffffff',
    'cf ffffffffffffffff',
    'd0 ff',
    'd1 ffff',
    'd2 ffffffff',
    'd3 ffffffffffffffff',
    'd6 ff 00000001',
    'd7 ff 0000000000000001',
    'c7 0c ff 000000000000000000000001',
    'a0',
    'a2 c599',
    'd9 01 61',
    'da 0001 61',
    'db 00000001 61',
    '90',
    '92 01 c0',
    'dc 0001 01',
    'dd 00000001 01',
    '80',
    '81 a161 01',
    'de 0001 a161 01',
    'df 00000001 a161 01',
  ];
  for (const type of types) {
    const bytes = Buffer.concat([hex('81 a178'), hex(type), map({ end: 'ř' })]);
    for (const pieceBytes of [0, 1]) {
      const read = await collectBytes(bytes, pieceBytes);
      t.same(read.rejections, [], type);
      t.equal(read.records.length, 2, type);
      t.same(read.records[1], { value: { end: 'ř' }, position: { record: 2, byte: bytes.length - 8 } }, type);
    }
  }
});

test('extension types of applications cost only their record', async (t) => {
  for (const type of [
    'd4 05 00',
    'd5 05 0000',
    'd6 05 00000000',
    'd7 05 0000000000000000',
    'c7 00 05',
    'c8 0001 05 00',
    'c9 00000001 05 00',
    'd8 05 00000000000000000000000000000000',
  ]) {
    const bytes = Buffer.concat([map({ a: 1 }), hex('81 a178'), hex(type), map({ a: 2 })]);
    for (const pieceBytes of [0, 1]) {
      const read = await collectBytes(bytes, pieceBytes);
      t.same(
        read.records.map((r) => r.value),
        [{ a: 1 }, { a: 2 }],
        type,
      );
      t.match(read.rejections, [{ code: 'malformed-record', detail: /extension of type 5;/ }], type);
    }
  }
});

test('text that is not UTF-8 costs only its record', async (t) => {
  for (const record of [
    '81 a178 a2ffd8',
    '81 a2c328 01',
    '82 a178 c403ffffff a179 d9 02 eda0',
    '82 a178 c7 04 ff 00000001 a179 a1ff',
    '82 a178 cf ffffffffffffffff a179 da 0001 80',
    '82 a178 d7 ff 0000000000000001 a179 db 00000001 80',
  ]) {
    const bytes = Buffer.concat([map({ a: 1 }), hex(record), map({ a: 'ř' })]);
    for (const pieceBytes of [0, 1]) {
      const read = await collectBytes(bytes, pieceBytes);
      t.same(
        read.records.map((r) => r.value),
        [{ a: 1 }, { a: 'ř' }],
        record,
      );
      t.match(read.rejections, [{ code: 'malformed-text', position: { record: 2, byte: 4 } }], record);
    }
  }
  const binary = await collectBytes(hex('82 a178 c402ffff a179 a2c599'));
  t.match(binary.records, [{ value: { y: 'ř' } }], 'binary data is no text');
});

test('values that are not maps count as records, and are faults', async (t) => {
  const bytes = Buffer.from(encode([{ a: 1 }, 17, null, ['x'], 'text']));
  const { records, rejections } = await collectBytes(bytes);
  t.same(
    records.map((r) => r.value),
    [{ a: 1 }],
  );
  t.match(
    rejections.map(({ position, detail }) => [position.record, detail]),
    [
      [2, /^the record is a number \(17\); expected an object/],
      [3, /^the record is null;/],
      [4, /^the record is an array;/],
      [5, /^the record is the string "text";/],
    ],
  );
  t.same((await collectBytes(hex('81 01 a178'))).records[0]?.value, { 1: 'x' }, 'integers as names');
});

test('the name __proto__ does not change a prototype', async (t) => {
  const bytes = Buffer.concat([hex('81 a9'), Buffer.from('__proto__'), map({ title: 'x' })]);
  const value = (await collectBytes(bytes)).records[0]?.value as object;
  t.equal(Object.getPrototypeOf(value), Object.prototype);
  t.notOk('title' in value);
});

test('a value that is too large is skipped and not kept', async (t) => {
  const large = map({ t: 'x'.repeat(10 * 1024 * 1024) });
  const bytes = Buffer.concat([map({ a: 1 }), large, map({ a: 2 })]);
  const read = await collectBytes(bytes);
  t.same(
    read.records.map((r) => r.value),
    [{ a: 1 }, { a: 2 }],
  );
  t.match(read.rejections, [{ code: 'record-too-large', position: { record: 2, byte: 4 } }]);
  t.equal(
    read.rejections[0]?.detail,
    `the record is ${large.length} bytes long; expected at most ${RECORD_BYTES_MAX}`,
  );
});

test('the longest allowed record is read; one byte more is refused', async (t) => {
  for (const [extra, count] of [
    [0, 2],
    [1, 1],
  ] as const) {
    const bytes = Buffer.concat([map({ t: 'x'.repeat(RECORD_BYTES_MAX - 8 + extra) }), map({})]);
    t.equal(bytes.length, RECORD_BYTES_MAX + extra + 1);
    for (const pieceBytes of [0, 4097])
      t.equal((await collectBytes(bytes, pieceBytes)).records.length, count);
  }
});

test('false lengths cause no allocation, and nesting does not exhaust the stack', async (t) => {
  for (const lie of [
    '81 a178 db ffffffff',
    '81 a178 c6 ffffffff',
    '81 a178 dd ffffffff',
    'df ffffffff a178',
  ]) {
    const failure = await failureOf(collectBytes(hex(lie)));
    t.match(failure, { code: 'source-malformed', message: /in the middle of record 1/ });
  }
  t.match(await failureOf(collectBytes(hex('dd ffffffff 80'))), {
    message:
      'test: the source ends at byte 6, after 1 of the 4294967295 records that its array declares; expected the rest of them',
  });
  const deep = Buffer.concat([hex('81 a178'), Buffer.alloc(500_000, 0x91), hex('c0'), map({ a: 2 })]);
  const read = await collectBytes(deep);
  t.match(read.rejections, [
    {
      code: 'malformed-record',
      position: { record: 1, byte: 0 },
      detail: /^the record is nested too deeply/,
    },
  ]);
  t.same(
    read.records.map((r) => r.value),
    [{ a: 2 }],
  );
});

const DAMAGED: readonly [bytes: string, message: string][] = [
  ['dc 00', 'the source ends at byte 2, inside the header of an array'],
  [
    '91',
    'the source ends at byte 1, after 0 of the 1 records that its array declares; expected the rest of them',
  ],
  [
    '92 80',
    'the source ends at byte 2, after 1 of the 2 records that its array declares; expected the rest of them',
  ],
  ['91 80 80', 'byte 2: found more bytes after the end of the array of 1 records; expected nothing more'],
  ['90 c0', 'byte 1: found more bytes after the end of the array of 0 records; expected nothing more'],
  [
    '80 81',
    'the source ends at byte 2, in the middle of record 2 (which begins at byte 1); expected the rest of it',
  ],
  [
    '80 81 a1',
    'the source ends at byte 3, in the middle of record 2 (which begins at byte 1); expected the rest of it',
  ],
  [
    '80 81 a178 d9',
    'the source ends at byte 5, in the middle of record 2 (which begins at byte 1); expected the rest of it',
  ],
  [
    '80 81 a178 c1',
    'byte 4, in record 2 (which begins at byte 1): found 0xc1, which MessagePack never uses; the data is corrupt',
  ],
];

for (const [bytes, message] of DAMAGED) {
  test(`damaged MessagePack is refused: ${bytes}`, async (t) => {
    for (const pieceBytes of [0, 1]) {
      const failure = await failureOf(collectBytes(hex(bytes), pieceBytes));
      t.match(failure, { code: 'source-malformed', message: `test: ${message}` });
    }
  });
}

test('binary data that merely begins like MessagePack is not called MessagePack', async (t) => {
  const cases: readonly (readonly [bytes: string, shown: string])[] = [
    // The signature of a PNG, whose first byte means a map of 9 entries.
    ['89 504e47 0d0a1a0a 0000000d 49484452 00000001 00000001', '89 50 4e 47'],
    ['93 01 02 c1', '93 01 02 c1'],
    ['93 01 02', '93 01 02'],
    ['dc 0002 07 08 09', 'dc 00 02 07'],
    ['81 01 02 03 04', '81 01 02 03'],
    ['df 00000001 01 c1', 'df 00 00 00'],
  ];
  for (const [bytes, shown] of cases) {
    for (const pieceBytes of [0, 1]) {
      t.match(
        await failureOf(collectBytes(hex(bytes), pieceBytes)),
        {
          code: 'source-malformed',
          message: `test: it is neither JSON, NDJSON nor MessagePack: it begins with the bytes ${shown} (hexadecimal); expected one of them, plain or gzipped`,
        },
        bytes,
      );
    }
  }
});

const STRUCTURED = { code: 'malformed-record', detail: /record structure.*useRecords: false/ } as const;

test("msgpackr's record structures cost only their records, at the top or inside", async (t) => {
  const events = Array.from({ length: 100 }, (_, i) => ({ a: i, [`b${i % 9}`]: [{ c: `x${i}` }, 64 + i] }));
  const wide = new Packr({ maxOwnStructures: 1000 });
  const many = Array.from({ length: 300 }, (_, i) => ({ [`name ${i % 150}`]: i }));
  const cases: readonly (readonly [name: string, bytes: Buffer, plain: number, structured: number])[] = [
    ['array', new Packr().pack(events), 0, 100],
    ['one record', Buffer.concat([map({}), new Packr().pack({ a: 1 })]), 1, 1],
    ['sequence', Buffer.concat([map({}), ...events.map((event) => new Packr().pack(event))]), 1, 100],
    ['numbers of two bytes', wide.pack(many), 0, 300],
    ['first of a sequence', Buffer.concat([new Packr().pack({ a: 1 }), map({ a: 2 })]), 1, 1],
    ['nothing else', new Packr().pack({ a: 1 }), 0, 1],
    ['inside', Buffer.concat([hex('81 a178'), new Packr().pack({ a: 1 }), map({ a: 2 })]), 1, 1],
    ['between plain maps', Buffer.concat([map({ a: 1 }), new Packr().pack({ a: 1 }), map({ a: 2 })]), 2, 1],
    [
      'sixteen names',
      Buffer.concat([map({}), new Packr().pack(Object.assign({}, ...many.slice(0, 16))), map({})]),
      2,
      1,
    ],
  ];
  for (const [name, bytes, plain, structured] of cases) {
    for (const pieceBytes of [0, 1]) {
      const read = await collectBytes(bytes, pieceBytes);
      t.equal(read.records.length, plain, name);
      t.equal(read.rejections.length, structured, name);
      for (const rejection of read.rejections.slice(0, 3)) t.match(rejection, STRUCTURED, name);
    }
  }
});

test('extensions that merely look like record structures cost only their record', async (t) => {
  for (const [name, value] of [
    ['the last of its record', '81 a178 d4 72 40'],
    ['a number that is none', '82 a178 d4 72 05 a179 01'],
    ['an integer follows', '81 a178 92 d4 72 40 41'],
    ['two bytes', '82 a178 d5 72 6000 a179 c0'],
    ['two bytes with a number of one', '81 a178 92 d5 72 4000 90'],
    ['no bytes', '82 a178 c7 00 72 a179 90'],
    ['three bytes', '81 a178 92 c7 03 72 404040 90'],
  ] as const) {
    const record = hex(value);
    const plain = map({ a: 0x41, b: [0x60, 0x7f] });
    for (const parts of [
      [plain, record, plain],
      [hex('93'), plain, record, plain],
      [plain, plain, record],
      [hex('93'), plain, plain, record],
    ]) {
      for (const pieceBytes of [0, 1]) {
        const read = await collectBytes(Buffer.concat(parts), pieceBytes);
        t.same(
          read.records.map((r) => r.value),
          [
            { a: 0x41, b: [0x60, 0x7f] },
            { a: 0x41, b: [0x60, 0x7f] },
          ],
          name,
        );
        t.match(read.rejections, [{ code: 'malformed-record', detail: /extension of type 114;/ }], name);
      }
    }
  }
});

test('a record structure that ends early is a source that ends early', async (t) => {
  const bytes = new Packr().pack([
    { a: 1, b: 2 },
    { a: 3, b: 4 },
  ]);
  for (let length = 1; length < bytes.length; length++) {
    for (const pieceBytes of [0, 1]) {
      const failure = await failureOf(collectBytes(bytes.subarray(0, length), pieceBytes));
      t.equal((failure as { code?: string }).code, 'source-malformed', `${length} bytes`);
    }
  }
});

test('a record cut into many chunks is decoded once', async (t) => {
  const bytes = map({ t: 'x'.repeat(500_000), list: Array.from({ length: 50_000 }, (_, i) => i) });
  const start = process.cpuUsage();
  t.equal((await collectBytes(bytes, 16)).records.length, 1);
  // Processor time: other processes do not count.
  t.ok(process.cpuUsage(start).user < 10_000_000, 'linear: quadratic work would take minutes');
});
