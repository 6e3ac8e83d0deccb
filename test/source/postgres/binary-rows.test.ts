import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { InstantTexts } from '../../../src/base/model/instant-texts.js';
import { loadImage } from '../../../src/refresh/thread/load-image.js';
import { isSameImage } from '../../../src/snapshot/image.js';
import { FieldTable } from '../../../src/source/field-map.js';
import { type BinaryColumn, BinaryRows, instantText } from '../../../src/source/postgres/binary-rows.js';
import type { RowSink, Source } from '../../../src/source/source.js';
import { memorySource } from '../collect.js';

const TEXTS = new InstantTexts();

/**
 * Rows in the binary format of COPY against the same rows as objects: the same image, byte for byte, and the same
 * rejections.
 */
const COLUMNS: readonly BinaryColumn[] = [
  { name: 'id', form: 'uuid' },
  { name: 'time', form: 'instant' },
  { name: 'endTime', form: 'instant' },
  { name: 'title', form: 'text' },
  { name: 'roomId', form: 'uuid' },
  { name: 'courseId', form: 'text' },
  { name: 'lecturer', form: 'text' },
];
const UNSERVED = ['note', '__proto__', 'Straße'];
const EPOCH_MS = Date.UTC(2000, 0, 1);

/** A value of a column: 32 digits, microseconds since 2000, or a text. */
type Value = string | bigint | null;
type Row = readonly Value[];

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const TRAILER = Buffer.from([0xff, 0xff]);

function numberOf(bytes: 2 | 4, value: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeIntBE(value, 0, bytes);
  return buffer;
}

function bytesOf(value: Value, { form }: BinaryColumn): Buffer {
  if (value === null) return numberOf(4, -1);
  const bytes = Buffer.alloc(8);
  if (typeof value === 'bigint') bytes.writeBigInt64BE(value);
  const content = typeof value === 'bigint' ? bytes : Buffer.from(value, form === 'uuid' ? 'hex' : 'utf8');
  return Buffer.concat([numberOf(4, content.length), content]);
}

function encoded(rows: readonly Row[]): Buffer {
  const parts = rows.flatMap((row) => [
    numberOf(2, row.length),
    ...row.map((value, n) => bytesOf(value, COLUMNS[n] as BinaryColumn)),
  ]);
  return Buffer.concat([SIGNATURE, ...parts, TRAILER]);
}

function recordOf(row: Row): object {
  const texts = row.map((value, n) => {
    if (typeof value === 'bigint') return instantText(value, TEXTS);
    if (value === null || COLUMNS[n]?.form !== 'uuid') return value;
    return value.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  });
  return Object.fromEntries([
    ...COLUMNS.map(({ name }, n) => [name, texts[n] ?? null]),
    ...UNSERVED.map((name) => [name, null]),
  ]);
}

function sourceOf(load: (sink: RowSink) => void): Source {
  return {
    name: 'rows',
    async load(sink) {
      load(sink);
      return { format: 'postgresql', gzipped: false, bytesRead: 0, version: null };
    },
  };
}

function binarySource(bytes: Buffer, pieceBytes: number): Source {
  return sourceOf((sink) => {
    const reader = new BinaryRows('rows', new FieldTable(sink, 'postgresql'), COLUMNS, UNSERVED);
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      // The caller may overwrite what it gave.
      const piece = Buffer.from(bytes.subarray(at, at + pieceBytes));
      reader.push(piece);
      piece.fill(0xee);
    }
    reader.finish();
  });
}

const loaded = async (source: Source, seed: readonly [number, number]) => {
  const { image } = await loadImage(source, { identifiers: 'uuid' }, { hashSeed: seed as never });
  const { builtAtMs: _, buildMs: __, modifiedMs: _m, ...summary } = image.summary;
  return { image, summary };
};

async function agree(rows: readonly Row[], pieceBytes: number): Promise<number> {
  const seed = [1, 2] as const;
  const fast = await loaded(binarySource(encoded(rows), pieceBytes), seed);
  const slow = await loaded(memorySource(rows.map(recordOf)), seed);
  assert.ok(isSameImage(fast.image, slow.image));
  assert.deepEqual(fast.summary, slow.summary);
  return fast.summary.events;
}

const hours = (count: number): bigint => BigInt(count) * 3_600_000_000n;
const digits = (n: number): string => n.toString(16).padStart(32, '0');

const text = fc.oneof(
  fc.constantFrom(
    '',
    'Algebra',
    'Größe',
    'a "quoted" one',
    'back\\slash',
    '\\u0041',
    'tab\there',
    'e\u0301',
    '🎓',
    'NULL',
  ),
  fc.string({ unit: 'grapheme', maxLength: 40 }).filter((each) => !each.includes('\0')),
);
const instant = fc.oneof(
  fc.integer({ min: 200_000, max: 200_100 }).map(hours),
  fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }),
  fc.constantFrom(
    -(1n << 63n),
    (1n << 63n) - 1n,
    -1n,
    1n,
    999n,
    -1001n,
    -63_082_281_600_000_000n,
    -63_082_281_600_000_001n,
  ),
);
const maybe = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(values, { freq: 9 });
const uuid = fc.integer({ min: 0, max: 40 }).map(digits);
const row: fc.Arbitrary<Row> = fc.tuple(
  maybe(uuid),
  maybe(instant),
  maybe(instant),
  maybe(text),
  maybe(uuid),
  maybe(fc.oneof(text, fc.constant('0d8ba7c2-5d8c-4a33-8f0e-111111111111'))),
  maybe(text),
);

test('rows in the binary format give the same image as objects', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { maxLength: 30 }),
      fc.integer({ min: 1, max: 4000 }),
      async (rows, pieceBytes) => {
        await agree(rows, pieceBytes);
      },
    ),
    { seed: 20_261_123, numRuns: 300 },
  );
  t.pass('300 tables in pieces of all sizes');
});

test('many ordinary rows are all served', async (t) => {
  const rows = Array.from(
    { length: 20_000 },
    (_, n): Row => [
      digits(n),
      hours(200_000 + (n % 9000)),
      hours(200_001 + (n % 9000)),
      `Lesson ${n % 700} für alle`,
      digits(n % 50),
      null,
      `Lecturer ${n % 300}`,
    ],
  );
  t.equal(await agree(rows, 65_536), 20_000);
});

test('only the row beyond the limit is left out', async (t) => {
  const rowOf = (n: number, title: string): Row => [digits(n), hours(n), hours(n), title, null, null, 'L'];
  const rows = [rowOf(1, 'a'), rowOf(2, 'x'.repeat(3_000_000)), rowOf(3, 'b'), rowOf(4, 'y'.repeat(900_000))];
  for (const pieceBytes of [1 << 14, 1 << 19, 1 << 24]) {
    const { summary } = await loaded(binarySource(encoded(rows), pieceBytes), [1, 2]);
    t.equal(summary.events, 3);
    t.match(summary.rejections, [{ code: 'record-too-large', position: { record: 2 } }]);
    t.match(summary.rejections[0]?.detail, /^the record is 30000\d\d bytes long; expected at most 1048576$/);
  }
});

test('bytes that are not rows are refused', async (t) => {
  const bytes = encoded([[digits(1), 1n, 1n, 'a', null, null, null]]);
  const fails = (wrong: Buffer, message: RegExp) =>
    t.rejects(loaded(binarySource(wrong, 7), [1, 2]), { code: 'source-malformed', message });
  await fails(bytes.subarray(0, -2), /the rows end early/);
  await fails(bytes.subarray(0, 40), /the rows end early/);
  await fails(Buffer.alloc(0), /the rows end early/);
  await fails(Buffer.from('{"id": "no rows at all"}'), /not rows in the binary format/);
  const count = Buffer.from(bytes);
  count.writeInt16BE(6, SIGNATURE.length);
  await fails(count, /row 1 has 6 columns/);
  const uuid = Buffer.from(bytes);
  uuid.writeInt32BE(15, SIGNATURE.length + 2);
  await fails(uuid, /row 1 has a value of 15 bytes as uuid/);
  const negative = Buffer.from(bytes);
  negative.writeInt32BE(-2, SIGNATURE.length + 2);
  await fails(negative, /row 1 has a value of -2 bytes/);
  // The title, behind an identifier and two instants: the value would end before it begins.
  const back = Buffer.from(bytes);
  back.writeInt32BE(-50, SIGNATURE.length + 46);
  await fails(back, /row 1 has a value of -50 bytes/);
});

test('instants are written like Date.toISOString', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: -60_000_000_000_000, max: 250_000_000_000_000 }),
      fc.integer({ min: 0, max: 999 }),
      (ms, rest) => {
        const microseconds = (BigInt(ms) - BigInt(EPOCH_MS)) * 1000n + BigInt(rest);
        assert.equal(instantText(microseconds, TEXTS), new Date(ms).toISOString());
      },
    ),
    { seed: 7, numRuns: 2000 },
  );
  t.match(instantText(9_223_371_331_200_000_000n - 1n, TEXTS), /^beyond/);
  t.match(instantText(-211_813_488_000_000_000n, TEXTS), / BC$/);
  t.end();
});
