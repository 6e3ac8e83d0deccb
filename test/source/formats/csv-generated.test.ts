/** Generated CSV: rows are read back, both ways agree, and all bytes are read or refused. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { LecternError } from '../../../src/base/errors.js';
import type { FieldMap } from '../../../src/base/model/read-rules.js';
import { PLAIN } from '../../../src/base/structures/row.js';
import { loadImage } from '../../../src/refresh/thread/load-image.js';
import { FieldTable } from '../../../src/source/field-map.js';
import { CsvReader } from '../../../src/source/formats/csv.js';
import { readRecords } from '../../../src/source/formats/read-records.js';
import type { RowSink, Source } from '../../../src/source/source.js';
import { linesOf, type Style, writeCsv } from '../../oracle/csv.js';
import { collectBytes, inPieces, overwrite } from '../collect.js';

const SEED = 20_240_902;

const text = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    '"',
    '""',
    ',',
    ';',
    '\t',
    '\n',
    '\r\n',
    '\r',
    ' x ',
    'ü',
    '\u{1f600}',
    '\\',
    "'",
    '=1+1',
  ),
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
);
const style: fc.Arbitrary<Style> = fc.record({
  delimiter: fc.constantFrom(',', ';', '\t'),
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  quotes: fc.constantFrom('all', 'needed'),
  begin: fc.constantFrom('', '\ufeff', 'sep'),
  endsWithLine: fc.boolean(),
});
const table = fc
  .integer({ min: 2, max: 6 })
  .chain((columns) =>
    fc.array(fc.array(text, { minLength: columns, maxLength: columns }), { maxLength: 12 }),
  );

test('written rows are read back, each with its line', async (t) => {
  await fc.assert(
    fc.asyncProperty(table, style, fc.constantFrom(0, 1, 3, 64), async (rows, how, pieceBytes) => {
      const columns = (rows[0] ?? ['', '']).map((_, n) => `name ${n}`);
      const filled = rows.filter((row) => row.some((cell) => cell !== ''));
      const all = [columns, ...rows];
      const lines = linesOf(all, how).slice(1);
      const { records, rejections, summary } = await collectBytes(writeCsv(all, how), pieceBytes);
      assert.equal(summary.format, 'csv');
      assert.deepStrictEqual(rejections, []);
      assert.deepStrictEqual(
        records.map(({ value }) => Object.values(value as object).map((cell) => cell ?? '')),
        filled,
      );
      assert.deepStrictEqual(
        records.map(({ position }) => position),
        rows
          .flatMap((row, n) => (filled.includes(row) ? [lines[n]] : []))
          .map((line, n) => ({ record: n + 1, line })),
      );
    }),
    { seed: SEED, numRuns: 600 },
  );
  t.pass('600 tables');
});

/** The same bytes, with rows that point into them and with rows made of objects. */
async function outcomeOf(
  bytes: Buffer,
  pieceBytes: number,
  taken: { count: number } | null,
  fieldMap: FieldMap = {},
): Promise<unknown> {
  const source: Source = {
    name: 'bytes',
    load: async (sink, options = {}) => {
      const counting: RowSink = {
        row(row, rules) {
          if (taken !== null && row.kindOf(0) === PLAIN) taken.count++;
          sink.row(row, rules);
        },
        fault: sink.fault,
      };
      const onRecord = taken === null ? () => true : undefined;
      const reading = { ...options, sourceName: 'bytes', bytesTotal: null, onRead: overwrite, onRecord };
      const chunks = inPieces(Uint8Array.from(bytes), pieceBytes);
      return { ...(await readRecords(chunks, counting, reading)), version: null };
    },
  };
  try {
    const { image, source: summary } = await loadImage(
      source,
      { identifiers: 'any', fieldMap },
      { hashSeed: [SEED, 0] },
    );
    const { builtAtMs: _, buildMs: __, modifiedMs: _m, ...rest } = image.summary;
    return { ...image, summary: rest, source: summary };
  } catch (error) {
    // Any other error is a bug.
    if (!(error instanceof LecternError)) throw error;
    return error.message;
  }
}

const cells: Record<string, fc.Arbitrary<string>> = {
  id: fc.oneof({ weight: 30, arbitrary: fc.nat({ max: 500 }).map(String) }, text),
  time: fc.oneof({ weight: 30, arbitrary: fc.constant('2024-09-02T08:00:00Z') }, text),
  endTime: fc.constantFrom('2024-09-02T10:00:00Z', '2024-09-02T09:00:00.5Z', '2024-09-02T08:00:00+02:00'),
  title: text,
  roomId: fc.oneof(fc.constantFrom('', 'A1', 'B2'), text),
  studyGroup: fc.constantFrom('', 'A'),
  Note: text,
  lecturer: fc.constantFrom('', 'Müller', 'Smith, J.'),
  größe: fc.constantFrom('', '1', '2'),
};
const events = fc.array(fc.tuple(...Object.values(cells)), { minLength: 1, maxLength: 40, size: 'max' });
const damage = fc.option(
  fc.array(fc.tuple(fc.nat(), fc.constantFrom(0x22, 0x2c, 0x0a, 0x0d, 0, 0xfc, 0x5c, 0x41)), {
    maxLength: 5,
  }),
);

test('rows read as bytes and as records give the same image and rejections, even if damaged', async (t) => {
  const taken = { count: 0 };
  let rows = 0;
  await fc.assert(
    fc.asyncProperty(
      events,
      style,
      damage,
      fc.constantFrom(0, 61, 700),
      async (written, how, changes, pieceBytes) => {
        const bytes = Buffer.from(writeCsv([Object.keys(cells), ...written], how));
        for (const [at, byte] of changes ?? []) bytes[at % bytes.length] = byte;
        rows += written.length;
        const fast = await outcomeOf(bytes, pieceBytes, taken);
        assert.deepStrictEqual(fast, await outcomeOf(bytes, pieceBytes, null));
      },
    ),
    { seed: SEED, numRuns: 250 },
  );
  // If few rows were taken as bytes, the slow way was compared with itself.
  t.ok(taken.count > rows / 10, `${taken.count} of ${rows} rows were taken as bytes`);
  t.ok(taken.count < rows, 'and some were not');
});

test('under a field map, bytes and records give the same image', async (t) => {
  const maps: readonly FieldMap[] = [
    { title: 'lecturer', lecturer: 'title' },
    { title: 'Note', studyGroup: 'größe' },
    { studyGroup: 'größe'.normalize('NFD') },
    { title: 'Note', type: 'Note' },
    { type: 'title' },
    { title: '{Note}', csv: { type: 'lecturer' } },
    { title: '{Note} {lecturer}' },
    { title: 'is not there' },
  ];
  const taken = { count: 0 };
  let rows = 0;
  await fc.assert(
    fc.asyncProperty(
      events,
      style,
      damage,
      fc.constantFrom(...maps),
      fc.constantFrom('größe', 'größe'.normalize('NFD'), 'title', '__proto__'),
      async (written, how, changes, map, last) => {
        const bytes = Buffer.from(writeCsv([[...Object.keys(cells).slice(0, -1), last], ...written], how));
        for (const [at, byte] of changes ?? []) bytes[at % bytes.length] = byte;
        rows += written.length;
        const fast = await outcomeOf(bytes, 61, taken, map);
        assert.deepStrictEqual(fast, await outcomeOf(bytes, 61, null, map));
      },
    ),
    { seed: SEED, numRuns: 250 },
  );
  t.ok(taken.count > rows / 50, `${taken.count} of ${rows} rows were taken as bytes`);
});

test('arbitrary bytes are read or refused', async (t) => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc
      .array(fc.constantFrom(...'"",;\t\n\r\0ab= \\'), { maxLength: 300 })
      .map((all) => Buffer.from(all.join(''))),
  );
  await fc.assert(
    fc.property(bytes, fc.integer({ min: 1, max: 50 }), fc.boolean(), (body, pieceBytes, hasHeader) => {
      const whole = Buffer.concat([Buffer.from(hasHeader ? 'a,b\n' : ''), body]);
      const table = new FieldTable({ row() {}, fault() {} }, 'csv');
      try {
        const reader = new CsvReader('test', table, { identifiers: 'any' }, whole);
        for (let at = 0; at < whole.length; at += pieceBytes)
          reader.push(Buffer.from(whole.subarray(at, at + pieceBytes)));
        reader.finish();
      } catch (error) {
        assert.ok(error instanceof LecternError, String(error));
      }
    }),
    { seed: SEED, numRuns: 3000 },
  );
  t.pass('3,000 inputs');
});
