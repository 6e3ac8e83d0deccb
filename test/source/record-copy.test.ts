import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { COPY_BATCH_RECORDS } from '../../src/limits.js';
import type { IdentifierMode, RecordPosition, Rejection } from '../../src/model/event.js';
import { FIELDS } from '../../src/model/fields.js';
import { createNormaliser } from '../../src/normalise/normalise.js';
import { CopyWriter, replay } from '../../src/source/merged.js';
import type { RecordSink } from '../../src/source/source.js';
import { failureOf } from './collect.js';

const READ = { format: 'ndjson', gzipped: false, bytesRead: 7, version: 'v' } as const;

type Told = { value: unknown; position: RecordPosition } | Rejection;

function copied(fill: (sink: RecordSink) => void, bytesMax = Number.POSITIVE_INFINITY) {
  const writer = new CopyWriter('test', { bytes: bytesMax });
  fill(writer);
  const copy = writer.finish(READ);
  const told: Told[] = [];
  const sink: RecordSink = {
    record: (value, position) => told.push({ value, position }),
    reject: (rejection) => told.push(rejection),
  };
  let steps = 0;
  for (const _ of replay(structuredClone(copy), sink)) steps++;
  return { copy, told, steps };
}

const names = fc.oneof(
  fc.constantFrom(...FIELDS.map(({ name }) => name), 'other', '__proto__', ''),
  fc.string(),
);
const values = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom<unknown>(
    null,
    undefined,
    true,
    0,
    -0,
    17,
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2n ** 60n,
  ),
  fc.constantFrom<unknown>(
    '2024-09-02T08:00:00Z',
    'a',
    '',
    [],
    [1],
    {},
    { a: 1 },
    new Date(0),
    Buffer.from('b'),
  ),
);
const records = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.array(fc.tuple(names, values), { maxLength: 12 }).map((pairs) => Object.fromEntries(pairs)),
  },
  values,
);
const positions = fc.record(
  { record: fc.nat(), line: fc.nat(), byte: fc.nat(), page: fc.nat(), source: fc.string() },
  { requiredKeys: ['record'], noNullPrototype: true },
) as fc.Arbitrary<RecordPosition>;

test('a copy returns the same event or rejection at the same position', (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(records, positions), { maxLength: 30 }), (given) => {
      const { told } = copied((sink) => {
        for (const [value, position] of given) sink.record(value, position);
      });
      for (const mode of ['uuid', 'any'] satisfies IdentifierMode[]) {
        const normalise = createNormaliser(mode);
        const expected = given.map(([value, position]) => normalise(value, position));
        deepStrictEqual(
          told.map((each) => ('value' in each ? normalise(each.value, each.position) : each)),
          expected,
        );
      }
    }),
    { seed: 18, numRuns: 300 },
  );
  t.end();
});

test('the names of unserved fields are kept in order, but not their values', (t) => {
  const { told } = copied((sink) => {
    sink.record({ zoom: 'x'.repeat(10_000), id: 'a', note: 1 }, { record: 1 });
  });
  t.strictSame(told, [{ value: { zoom: null, id: 'a', note: null }, position: { record: 1 } }]);
  t.strictSame(Object.keys((told[0] as { value: object }).value), ['zoom', 'id', 'note']);
  t.end();
});

test('rejections keep their place among the records', (t) => {
  const rejection: Rejection = {
    position: { record: 2, line: 2 },
    code: 'malformed-record',
    field: null,
    detail: 'x',
  };
  const { told, copy } = copied((sink) => {
    sink.record({ id: 'a' }, { record: 1, line: 1 });
    sink.reject(rejection);
    sink.record({ id: 'b' }, { record: 3, line: 3 });
  });
  t.strictSame(told, [
    { value: { id: 'a' }, position: { record: 1, line: 1 } },
    rejection,
    { value: { id: 'b' }, position: { record: 3, line: 3 } },
  ]);
  t.match(copy, { ...READ, records: 3 });
  t.end();
});

test('many records form several batches in shared memory, within the budget', async (t) => {
  const count = 2 * COPY_BATCH_RECORDS + 1;
  const fill = (sink: RecordSink): void => {
    for (let n = 1; n <= count; n++) sink.record({ id: `${n}`, title: `t${n % 7}` }, { record: n, line: n });
  };
  const { told, steps, copy } = copied(fill);
  t.equal(steps, 3);
  t.equal(told.length, count);
  t.strictSame(told.at(-1), {
    value: { id: `${count}`, title: `t${count % 7}` },
    position: { record: count, line: count },
  });
  t.ok(copy.bytes.buffer instanceof SharedArrayBuffer);
  t.match(await failureOf((async () => copied(fill, copy.bytes.length / 2))()), {
    code: 'source-too-large',
    message: /^cannot read test: no memory is left for the records of several sources, after \d+ records/,
  });
});

test('a damaged copy is reported', (t) => {
  const { copy } = copied((sink) => sink.record({ id: 'a' }, { record: 1 }));
  for (const at of [4, 8, copy.bytes.length - 1]) {
    const bytes = Uint8Array.from(copy.bytes);
    bytes[at] = ~(bytes[at] as number);
    const sink = { record() {}, reject() {} };
    t.throws(() => [...replay({ ...copy, bytes: bytes.subarray(0, at + 1) }, sink)], {
      code: 'image-unusable',
    });
  }
  t.end();
});
