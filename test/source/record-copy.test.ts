import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { COPY_BATCH_RECORDS } from '../../src/base/limits.js';
import type { IdentifierMode, RecordPosition, Rejection } from '../../src/base/model/event.js';
import { FIELDS } from '../../src/base/model/fields.js';
import type { Row } from '../../src/base/structures/row.js';
import { Normaliser } from '../../src/normalise/normalise.js';
import { FieldTable } from '../../src/source/field-map.js';
import { LoadNotes } from '../../src/source/load-notes.js';
import { CopyWriter, replay } from '../../src/source/merged.js';
import type { RowSink } from '../../src/source/source.js';
import { failureOf, valuesOf } from './collect.js';

const READ = {
  format: 'ndjson',
  gzipped: false,
  bytesRead: 7,
  version: 'v',
  notes: new LoadNotes().report(),
} as const;
const RULES = { identifiers: 'uuid' } as const;

type Told = { value: unknown; position: RecordPosition } | Rejection;

/** Gives what a copy kept. @param fill fills the copy: records as objects, or faults */
function copied(fill: (table: FieldTable) => void, bytesMax = Number.POSITIVE_INFINITY) {
  const writer = new CopyWriter('test', { bytes: bytesMax });
  fill(new FieldTable(writer, 'memory'));
  const copy = writer.finish(READ);
  const told: Told[] = [];
  const sink: RowSink = {
    row: (row) => told.push({ value: valuesOf(row), position: row.position }),
    fault: (rejection) => told.push(rejection),
  };
  let steps = 0;
  for (const _ of replay(structuredClone(copy), sink, RULES)) steps++;
  return { copy, told, steps };
}

function give(table: FieldTable, value: unknown, position: RecordPosition): void {
  table.row.place(position);
  table.object(value);
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

/** What becomes of rows: events and rejections. */
function outcomeOf(mode: IdentifierMode): { readonly sink: RowSink; readonly events: unknown[] } {
  const normaliser = new Normaliser({ identifiers: mode });
  const events: unknown[] = [];
  const sink = {
    row: (row: Row) => events.push(normaliser.event(row)),
    fault: (rejection: Rejection) => events.push(rejection),
  };
  return { sink, events };
}

test('a copy returns the same event or rejection at the same position', (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(records, positions), { maxLength: 30 }), (given) => {
      for (const mode of ['uuid', 'any'] satisfies IdentifierMode[]) {
        const expected = outcomeOf(mode);
        const straight = new FieldTable(expected.sink, 'memory');
        const writer = new CopyWriter('test', { bytes: Number.POSITIVE_INFINITY });
        const copying = new FieldTable(writer, 'memory');
        for (const [value, position] of given) {
          give(straight, value, position);
          give(copying, value, position);
        }
        const found = outcomeOf(mode);
        for (const _ of replay(writer.finish(READ), found.sink, RULES)) found.events.length;
        deepStrictEqual(found.events, expected.events);
      }
    }),
    { seed: 18, numRuns: 300 },
  );
  t.end();
});

test('the names of unserved fields are kept in order, but not their values', (t) => {
  const { told } = copied((table) => {
    give(table, { zoom: 'x'.repeat(10_000), id: 'a', note: 1 }, { record: 1 });
  });
  t.strictSame(told, [{ value: { id: 'a', zoom: null, note: null }, position: { record: 1 } }]);
  t.strictSame(Object.keys((told[0] as { value: object }).value), ['id', 'zoom', 'note']);
  t.end();
});

test('rejections keep their place among the records', (t) => {
  const rejection: Rejection = {
    position: { record: 2, line: 2 },
    code: 'malformed-record',
    field: null,
    detail: 'x',
  };
  const { told, copy } = copied((table) => {
    give(table, { id: 'a' }, { record: 1, line: 1 });
    table.fault(rejection);
    give(table, { id: 'b' }, { record: 3, line: 3 });
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
  const fill = (table: FieldTable): void => {
    for (let n = 1; n <= count; n++) give(table, { id: `${n}`, title: `t${n % 7}` }, { record: n, line: n });
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
  const { copy } = copied((table) => give(table, { id: 'a' }, { record: 1 }));
  for (const at of [4, 8, copy.bytes.length - 1]) {
    const bytes = Uint8Array.from(copy.bytes);
    bytes[at] = ~(bytes[at] as number);
    const sink = { row() {}, fault() {} };
    t.throws(() => [...replay({ ...copy, bytes: bytes.subarray(0, at + 1) }, sink, RULES)], {
      code: 'image-unusable',
    });
  }
  t.end();
});
