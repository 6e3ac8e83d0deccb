import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { test } from 'tap';
import type { IdentifierMode } from '../../../src/base/model/event.js';
import type { FieldMap } from '../../../src/base/model/read-rules.js';
import { PLAIN } from '../../../src/base/structures/row.js';
import { loadImage } from '../../../src/refresh/thread/load-image.js';
import { readRecords } from '../../../src/source/formats/read-records.js';
import type { RowSink, Source } from '../../../src/source/source.js';
import { overwrite } from '../collect.js';

/**
 * Compares the fast way of NDJSON, where values go from bytes to columns, with the slow one, where every line is
 * decoded. Both give the same image byte for byte, the same rejections at the same positions, and the same errors.
 */
const SEED = 20_240_902;
const RUNS = 120;

interface Taken {
  offered: number;
  taken: number;
}

function sourceOf(bytes: Uint8Array, chunkBytes: number, taken: Taken | null): Source {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += chunkBytes)
      yield Uint8Array.from(bytes.subarray(at, at + chunkBytes));
  }
  return {
    name: 'bytes',
    load: async (sink, options = {}) => {
      const counting: RowSink = {
        row(row, rules) {
          if (taken !== null) {
            taken.offered++;
            if (row.kindOf(0) === PLAIN) taken.taken++;
          }
          sink.row(row, rules);
        },
        fault: sink.fault,
      };
      const onRecord = taken === null ? () => true : options.onRecord;
      const reading = { ...options, sourceName: 'bytes', bytesTotal: null, onRead: overwrite, onRecord };
      const read = await readRecords(chunks(), counting, reading);
      return { ...read, version: null };
    },
  };
}

/** The parts that must be equal: everything except the duration of the build. */
async function outcomeOf(
  source: Source,
  mode: IdentifierMode,
  { onRecord, fieldMap }: { onRecord?: (value: unknown) => boolean; fieldMap?: FieldMap | undefined } = {},
): Promise<unknown> {
  try {
    const { image, source: summary } = await loadImage(
      source,
      { identifiers: mode, fieldMap },
      { hashSeed: [SEED, 0], onRecord },
    );
    const { builtAtMs: _, buildMs: __, modifiedMs: _m, ...rest } = image.summary;
    return { ...image, summary: rest, source: summary };
  } catch (error) {
    return String(error);
  }
}

async function compare(
  bytes: Uint8Array,
  chunkBytes: number,
  mode: IdentifierMode,
  fieldMap?: FieldMap,
): Promise<{ fast: unknown; slow: unknown; taken: Taken }> {
  const taken = { offered: 0, taken: 0 };
  const fast = await outcomeOf(sourceOf(bytes, chunkBytes, taken), mode, { fieldMap });
  const slow = await outcomeOf(sourceOf(bytes, chunkBytes, null), mode, { fieldMap });
  return { fast, slow, taken };
}

const uuid = fc
  .integer({ min: 0, max: 400 })
  .map((n) => `${String(n).padStart(8, '0')}-aaaa-4bbb-8ccc-0123456789ab`);
const text = fc.oneof(
  {
    weight: 40,
    arbitrary: fc.constantFrom('', 'A', 'Übung', 'Algebra', 'Algebra I', '線形代数', '😀', 'a b', '\u007f'),
  },
  fc.constantFrom(
    'e\u0301',
    '\u2028',
    'a"b',
    'a\\b',
    '"',
    '\\',
    'ends with \\',
    '\\"\\',
    'tab\t',
    '\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const identifier = fc.oneof(
  { weight: 100, arbitrary: uuid },
  uuid.map((id) => id.toUpperCase()),
  fc.constantFrom<unknown>(0, 17, '17', -5, 2 ** 53 - 1, 2 ** 53, 1e21, 4.5),
  text,
);
const instant = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom('2024-09-02T08:00:00Z', '2024-09-02T10:00:00.000Z', '2024-09-02T09:00:00.5Z'),
  },
  fc.constantFrom(
    '2024-09-02T08:00:00+02:00',
    '2024-02-30T08:00:00Z',
    '2024-09-02',
    '',
    '2024-09-02T08:00:00.00000000000000000000Z',
  ),
);
const odd: fc.Arbitrary<unknown> = fc.constantFrom(null, 7, true, [], {}, { id: 'x' }, -0.5, [null]);
/** Sometimes an unusual value. */
const rarely = (usual: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 150, arbitrary: usual }, odd);
const fields: Record<string, fc.Arbitrary<unknown>> = {
  id: rarely(identifier),
  time: rarely(instant),
  endTime: rarely(instant),
  title: rarely(text),
  roomId: rarely(identifier),
  courseId: rarely(identifier),
  studyGroup: rarely(text),
  lecturer: rarely(text),
  lecturerId: rarely(identifier),
  type: rarely(text),
  groupId: rarely(identifier),
};
/** Unknown names, among them names that differ in one byte, long names, and names that JSON.parse reorders. */
const unknownName = fc.constantFrom(
  ...['lecturrer', 'lecturres', 'Lecturer', 'a', 'b', '', '7', '10', 'größe', 'constructor', '__proto__'],
  ...['x'.repeat(128), 'x'.repeat(129), 'ü'.repeat(128), 'ü'.repeat(129), 'x'.repeat(400)],
);
const record = fc.oneof(
  { weight: 12, arbitrary: fc.record(fields) },
  fc.record(fields, { requiredKeys: ['id', 'time', 'endTime'] }),
  fc.record({ ...fields, capacity: odd, note: text }),
  fc
    .tuple(fc.record(fields), fc.dictionary(unknownName, text, { maxKeys: 4 }))
    .map(([known, unknown]) => ({ ...unknown, ...known })),
);
/** Everything except ASCII as escapes, as in Python. */
function escaped(json: string): string {
  return json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The spelling of one record. */
const written = fc.tuple(record, fc.nat(), fc.nat()).map(([value, style, at]) => {
  const names = Object.keys(value);
  const rotated = [...names.slice(at % 3), ...names.slice(0, at % 3)];
  const pairs = (style % 5 === 0 ? rotated : names).map((name): [string, string] => [
    JSON.stringify(name),
    JSON.stringify((value as Record<string, unknown>)[name]),
  ]);
  switch (style % 80) {
    case 1:
      return `{${pairs.map(([name, json]) => `${name}: ${json}`).join(', ')}}`;
    case 2:
      return `{${pairs.map(([name, json]) => `${name} :${json}`).join(' ,')} }`;
    case 3:
      return ` {${pairs.map((pair) => pair.join(':')).join(',')}}`;
    case 4:
      return `{${[...pairs, ['"title"', '"again"'], ['"note"', '"again"']].map((pair) => pair.join(':')).join(',')}}`;
    case 5:
      return `{${pairs.map(([name, json]) => `${name}:${json}`).join(',')},}`;
    case 6:
      return `{${pairs.map(([name, json]) => `${name.replace('i', '\\u0069')}:${json}`).join(',')}}`;
    case 7:
      return `{${pairs.map(([name, json]) => `${name}:${json.replace('a', '\\u0061')}`).join(',')}}`;
    case 15:
      return escaped(JSON.stringify(value));
    case 16:
      // No escape of JSON.
      return `{${pairs.map(([name, json]) => `${name}:${json.replace('a', '\\a')}`).join(',')}}`;
    case 8:
      return JSON.stringify(value).slice(0, -1 - (at % 20));
    case 9:
      return `${JSON.stringify(value)}\r`;
    case 10:
      return `${JSON.stringify(value)} x`;
    case 11:
      return at % 2 === 0 ? '' : ' \t';
    case 12:
      return `{${pairs.map(([name, json]) => `${name}:${json.replace(/\\"/g, '"')}`).join(',')}}`;
    case 13:
      return `{${pairs.map(([name, json]) => `${name}:${json.replace('null', 'nul')}`).join(',')}}`;
    case 14:
      return JSON.stringify(value).replace('{', '{"__proto__":"x","constructor":null,');
    default:
      return JSON.stringify(value);
  }
});
const source = fc.record({
  lines: fc.array(written, { minLength: 1, maxLength: 60, size: 'max' }),
  ending: fc.constantFrom('\n', ''),
  chunkBytes: fc.constantFrom(50_000, 50_000, 20_000, 5000, 700, 61),
  mode: fc.constantFrom<IdentifierMode>('uuid', 'any'),
  damage: fc.option(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { freq: 3 }),
});

test('decoded and undecoded lines build the same image and rejections, for any lines', async (t) => {
  const total = { offered: 0, taken: 0 };
  await fc.assert(
    fc.asyncProperty(source, async ({ lines, ending, chunkBytes, mode, damage }) => {
      const bytes = Buffer.from(lines.join('\n') + ending, 'utf8');
      if (damage !== null && bytes.length > 0) bytes[damage[0] % bytes.length] = damage[1];
      const { fast, slow, taken } = await compare(bytes, chunkBytes, mode);
      total.offered += taken.offered;
      total.taken += taken.taken;
      assert.deepStrictEqual(fast, slow);
    }),
    { seed: SEED, numRuns: RUNS },
  );
  // If few lines were taken undecoded, the slow way was compared with itself.
  t.ok(total.taken > RUNS, `${total.taken} of ${total.offered} lines were taken undecoded`);
  t.ok(total.offered - total.taken > RUNS / 4, 'and some were given back');
});

test('decoded and undecoded lines build the same image under a field map', async (t) => {
  const swaps: readonly FieldMap[] = [
    { title: 'lecturer', lecturer: 'title' },
    { roomId: 'groupId', groupId: 'courseId', courseId: 'roomId' },
  ];
  const maps: readonly FieldMap[] = [
    ...swaps,
    ...swaps,
    ...swaps,
    { title: 'note' },
    { studyGroup: 'a', title: 'b' },
    { title: 'größe' },
    { title: 'größe'.normalize('NFD') },
    { title: '__proto__' },
    { type: 'title' },
    { title: '{lecturer}' },
    { title: '{lecturer} {type}' },
    { title: 'a.b' },
  ];
  const total = { offered: 0, taken: 0 };
  const lines = fc.array(written, { minLength: 30, maxLength: 60, size: 'max' });
  await fc.assert(
    fc.asyncProperty(
      lines,
      fc.constantFrom(...maps),
      fc.constantFrom(5000, 700),
      async (all, map, chunkBytes) => {
        const bytes = Buffer.from(all.join('\n'), 'utf8');
        const { fast, slow, taken } = await compare(bytes, chunkBytes, 'any', map);
        total.offered += taken.offered;
        total.taken += taken.taken;
        assert.deepStrictEqual(fast, slow);
      },
    ),
    { seed: SEED, numRuns: RUNS },
  );
  t.ok(total.taken > RUNS / 2, `${total.taken} of ${total.offered} lines were taken undecoded`);
});

test("with identifiers: 'any' whole numbers and their digits as text build the same image", async (t) => {
  const numbers = fc.integer({ min: 0, max: 300 });
  const row = fc.record({
    id: numbers,
    roomId: fc.option(numbers),
    lecturerId: fc.option(numbers),
    title: text,
  });
  const digits = (value: unknown): unknown => (typeof value === 'number' ? String(value) : value);
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 40 }), fc.boolean(), async (rows, isMixed) => {
      const records = rows.map((each) => ({
        ...each,
        time: '2024-09-02T08:00:00Z',
        endTime: '2024-09-02T10:00:00Z',
      }));
      const texts = records.map((each) =>
        Object.fromEntries(Object.entries(each).map(([name, value]) => [name, digits(value)])),
      );
      const written = records.map((each, n) => (isMixed && n % 2 === 1 ? texts[n] : each));
      const bytesOf = (values: readonly unknown[]): Buffer =>
        Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
      const expected = (await compare(bytesOf(texts), 5000, 'any')).slow as { readonly source: object };
      const { fast, slow } = await compare(bytesOf(written), 5000, 'any');
      const packed = await outcomeOf(sourceOf(Buffer.from(encode(written)), 5000, null), 'any');
      const sizeless = (outcome: unknown): unknown => ({ ...(outcome as object), source: null });
      assert.deepStrictEqual(sizeless(fast), sizeless(expected));
      assert.deepStrictEqual(slow, fast);
      assert.deepStrictEqual(sizeless(withoutLines(packed)), sizeless(withoutLines(expected)));
    }),
    { seed: SEED, numRuns: RUNS },
  );
  t.pass('all runs agree');
});

/** Removes the positions of rejected records, which depend on the format. */
function withoutLines(outcome: unknown): unknown {
  const { summary, ...rest } = outcome as { readonly summary: { readonly rejections: readonly object[] } };
  const rejections = summary.rejections.map((rejection) => ({ ...rejection, position: null }));
  return { ...rest, summary: { ...summary, rejections } };
}

const ORDINARY = Array.from({ length: 20 }, (_, n) =>
  JSON.stringify({
    id: `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`,
    time: '2024-09-02T08:00:00Z',
    endTime: '2024-09-02T10:00:00.000Z',
    title: n % 2 === 0 ? 'Algebra' : null,
    type: 'lecture',
  }),
);

test('an unknown name counts once per line', async (t) => {
  const lines = ORDINARY.map((line, n) =>
    line.replace('{', n % 2 === 0 ? '{"x":"1","x":"2",' : '{"x":null,'),
  );
  const { fast, slow, taken } = await compare(Buffer.from(`${lines.join('\n')}\n`), 5000, 'uuid');
  t.ok(taken.taken > 10, 'undecoded');
  t.match(fast, { summary: { unserved: { fields: [{ name: 'x', records: lines.length }] } } });
  t.strictSame(fast, slow);
});

test('lines of the ordinary form are not decoded', async (t) => {
  for (const [form, lines] of Object.entries({
    'as JSON.stringify writes them': ORDINARY,
    'with blanks, as Python writes them': ORDINARY.map((line) =>
      line.replace(/":/g, '": ').replace(/,"/g, ', "'),
    ),
    'with quotes and backslashes in values': ORDINARY.map((line, n) =>
      line.replace('Algebra', ['\\"A\\" \\\\ B', 'A\\\\', '\\"', '\\\\\\"'][(n / 2) % 4] ?? ''),
    ),
    'with escapes, as Python writes them': ORDINARY.map((line) =>
      escaped(line.replace('Algebra', '\u00dcbung \u{1f600}')),
    ),
    'with CRLF': ORDINARY.map((line) => `${line}\r`),
    'with an unknown field': ORDINARY.map((line) => line.replace('{', '{"campus":"Nord",')),
    'with fields that come and go': ORDINARY.map((line, n) =>
      n % 3 === 0 ? line.replace(',"type":"lecture"', '') : line,
    ),
  })) {
    const { fast, slow, taken } = await compare(Buffer.from(`${lines.join('\n')}\n`), 50_000, 'uuid');
    t.strictSame(fast, slow, form);
    // The first record is always decoded.
    t.strictSame(taken, { offered: 20, taken: 19 }, form);
  }
});

test('a look at the first records changes nothing and decodes only them', async (t) => {
  const named = ORDINARY.map((line, n) => (n % 3 === 0 ? line.replace('{', '{"x":"1",') : line));
  const lines = [...named, 'no JSON', ...named.map((line) => line.replace('-4000-', '-4001-')), ...named];
  const bytes = Buffer.from(`${lines.join('\n')}\n`);
  const taken = { offered: 0, taken: 0 };
  const looked: unknown[] = [];
  const look = (value: unknown): boolean => looked.push(value) < 10;
  const seen = await outcomeOf(sourceOf(bytes, 700, taken), 'uuid', { onRecord: look });
  t.strictSame(seen, await outcomeOf(sourceOf(bytes, 700, null), 'uuid'));
  t.strictSame(
    looked,
    lines.slice(0, 10).map((line) => JSON.parse(line)),
  );
  t.ok(taken.taken > 20, `${taken.taken} of ${lines.length} lines were taken undecoded`);
});

test('each malformed file is read the same way, alone and after good records', async (t) => {
  const folder = new URL('../../../fixtures/malformed/', import.meta.url);
  const names = readdirSync(folder).filter((name) => name.endsWith('.ndjson'));
  t.ok(names.length > 10);
  for (const name of names) {
    const bytes = readFileSync(new URL(name, folder));
    for (const head of ['', `${ORDINARY.join('\n')}\n`]) {
      for (const mode of ['uuid', 'any'] as const) {
        const { fast, slow } = await compare(Buffer.concat([Buffer.from(head), bytes]), 50_000, mode);
        t.strictSame(fast, slow, `${name}, ${mode}`);
      }
    }
  }
});
