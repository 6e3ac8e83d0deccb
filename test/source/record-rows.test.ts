/** Records with several values in a field, through the table of fields. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { pack } from 'msgpackr';
import { test } from 'tap';
import type { IdentifierMode } from '../../src/base/model/event.js';
import type { FieldMap } from '../../src/base/model/read-rules.js';
import { FieldTable } from '../../src/source/field-map.js';
import { runs } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import { rowsOf, type Steps } from '../oracle/several-values.js';
import { rowsOf as rowsOfBytes, valuesOf } from './collect.js';

type Row = Record<string, unknown>;

function read(
  record: object,
  fieldMap: FieldMap = {},
  { format = 'ndjson', identifiers = 'any' }: { format?: string; identifiers?: IdentifierMode } = {},
): { readonly rows: Row[]; readonly faults: string[] } {
  const rows: Row[] = [];
  const faults: string[] = [];
  const sink = {
    row: (row: Parameters<typeof valuesOf>[0]) => rows.push(valuesOf(row)),
    fault: ({ detail }: { detail: string }) => faults.push(detail),
  };
  new FieldTable(sink, format, { identifiers, fieldMap }).object(record);
  return { rows, faults };
}

const pairsOf = (rows: readonly Row[]): string[] =>
  rows.map(({ studyGroup, roomId }) => `${studyGroup} ${roomId}`);

fastTest(
  'a record with several groups and rooms becomes a row for each combination, of one lesson',
  async (t) => {
    const map = { studyGroup: { from: 'groups', split: ',' }, roomId: { from: 'rooms', split: ';' } };
    const { rows } = read({ id: '7', title: 'Law', groups: 'G1, G2,,G1, -', rooms: 'A;--; B ' }, map);
    t.strictSame(pairsOf(rows).sort(), ['G1 A', 'G1 B', 'G2 A', 'G2 B']);
    t.equal(new Set(rows.map(({ id }) => id)).size, 4);
    for (const row of rows) t.match(row, { title: 'Law', lessonId: '7', id: /^[0-9a-f-]{36}$/ });
    const fewer = read({ id: '7', title: 'Law', groups: 'G2', rooms: 'B' }, map).rows;
    t.strictSame(
      fewer,
      rows.filter((row) => row.studyGroup === 'G2' && row.roomId === 'B'),
      'ids stay',
    );
    const none = read({ id: '7', groups: '', rooms: null }, map).rows;
    t.match(none, [{ studyGroup: null, roomId: null, lessonId: '7' }]);
  },
);

fastTest('arrays of texts and numbers are several values; other arrays are refused', async (t) => {
  const { rows } = read({ id: 7, studyGroup: ['G1', null, 'G2'], roomId: [1, 2] });
  t.strictSame(pairsOf(rows).sort(), ['G1 1', 'G1 2', 'G2 1', 'G2 2']);
  t.strictSame(
    rows.map(({ lessonId }) => lessonId),
    ['7', '7', '7', '7'],
  );
  t.match(read({ id: '7', studyGroup: [] }).rows, [{ studyGroup: null, lessonId: '7' }]);
  t.match(read({ id: '7', studyGroup: [{ a: 1 }], roomId: [['x']] }).rows, [
    { studyGroup: 'an array', roomId: 'an array' },
  ]);
  t.match(read({ id: ['7'], time: ['a'], lessonId: ['b'] }).rows, [{ id: 'an array', time: 'an array' }]);
});

fastTest(
  'MessagePack gives lessons of several groups, as arrays, in one field or with a split',
  async (t) => {
    const records = [
      { id: 1, title: 'Law', studyGroup: ['G1', 'G2'], roomId: 'A' },
      { id: 2, title: 'Art', studyGroup: 'G3; G4', roomId: ['B', null, 'C'] },
      { id: 3, title: 'Sport', studyGroup: [7n, 8], roomId: null },
    ];
    const fieldMap = { messagepack: { studyGroup: { from: 'studyGroup', split: ';' } } };
    for (const bytes of [pack(records), Buffer.concat(records.map((record) => pack(record)))])
      for (const pieceBytes of [0, 7]) {
        const { rows, faults } = await rowsOfBytes(bytes, { identifiers: 'any', fieldMap }, pieceBytes);
        t.strictSame(faults, []);
        const found = rows.map(({ value }) => value as Row);
        t.strictSame(pairsOf(found), [
          ...['G1 A', 'G2 A', 'G3 B', 'G3 C', 'G4 B', 'G4 C', '7 null', '8 null'],
        ]);
        t.strictSame(
          found.map(({ lessonId }) => lessonId),
          ['1', '1', '2', '2', '2', '2', '3', '3'],
        );
      }
  },
);

fastTest('each finds the values within the elements of an array', async (t) => {
  const map = {
    lecturer: { from: 'staff.list', each: 'name.full' },
    lecturerId: { from: 'staff.list', each: 'key' },
    studyGroup: { from: 'group', each: 'code' },
  };
  const list = [{ name: { full: 'Abel' }, key: 1 }, { name: { full: 'Beck' }, key: 2 }, 'Cole', null];
  const { rows } = read({ id: '7', staff: { list }, group: { code: 'G' } }, map);
  t.strictSame(
    rows.map(({ lecturer, lecturerId, studyGroup }) => [lecturer, lecturerId, studyGroup]),
    [
      ['Abel', 1, 'G'],
      ['Beck', 2, 'G'],
    ],
    'a name belongs to the identifier at its place',
  );
});

fastTest('identifiers and their names belong together by their place', async (t) => {
  const rows = read({
    id: '7',
    roomId: ['a', 'b'],
    roomName: ['A', 'B'],
    groupId: ['x', 'y'],
    groupName: 'G',
  }).rows;
  t.strictSame(
    rows
      .map(({ roomId, roomName, groupId, groupName }) => `${roomId} ${roomName} ${groupId} ${groupName}`)
      .sort(),
    ['a A x G', 'a A y G', 'b B x G', 'b B y G'],
  );
  t.strictSame(read({ id: '7', roomId: ['a', 'b', 'c'], roomName: ['A', 'B'] }), {
    rows: [],
    faults: ['the record has 3 of roomId, 2 of roomName; expected a name for each identifier'],
  });
});

fastTest('a record has at most 1,000 combinations', async (t) => {
  const list = (count: number): string[] => Array.from({ length: count }, (_, n) => `v${n}`);
  const fits = { id: '7', studyGroup: list(10), roomId: list(10), lecturer: list(10) };
  t.equal(read(fits).rows.length, 1000);
  t.strictSame(read({ ...fits, type: ['a', 'b'] }), {
    rows: [],
    faults: [
      'the record has 2000 combinations of values: 10 of roomId × 10 of studyGroup × 10 of lecturer × 2 of type; expected at most 1000',
    ],
  });
  t.match(
    read({ id: '7', cell: 'a,'.repeat(300) + list(100_000).join() }, { type: { from: 'cell', split: ',' } })
      .faults,
    [/^type has more than 1000 values; expected at most as many$/],
  );
});

fastTest(
  'a record that is refused for its id is refused once; one without an id is known by its values',
  async (t) => {
    const record = { studyGroup: ['a', 'b'] };
    t.equal(read(record).rows.length, 1);
    t.equal(read({ ...record, id: 'x' }, {}, { identifiers: 'uuid' }).rows.length, 1);
    const { rows } = read(record, {}, { identifiers: 'derived' });
    t.equal(rows.length, 2);
    t.notOk('id' in (rows[0] ?? {}), 'the id is made from the content of each row');
    t.equal(rows[0]?.lessonId, rows[1]?.lessonId);
    const other = read({ ...record, title: 'x' }, {}, { identifiers: 'derived' }).rows;
    t.not(other[0]?.lessonId, rows[0]?.lessonId);
  },
);

const text = fc.constantFrom('a', 'b', ' c ', '', '-', '--', 'd,e', 'T', '7', 'é');
const cell = fc.oneof(
  fc.array(text, { maxLength: 4 }).map((all) => all.join(',')),
  fc.constant(null),
);
const listed = fc.oneof(
  cell,
  fc.array(fc.oneof(text, fc.integer({ min: 0, max: 9 }), fc.constant(null)), { maxLength: 4 }),
);
const nested = fc.array(
  fc.oneof(fc.record({ name: text, key: fc.integer({ min: 0, max: 3 }) }), fc.constant(null)),
  {
    maxLength: 3,
  },
);
const values = { T: 'Lecture', b: null, '7': 'seven' };

test('rows of several values equal those of a reader that reads one value at a time', async (t) => {
  const map: Readonly<Record<string, Steps>> = {
    studyGroup: { from: 'groups', split: ',' },
    groupName: { from: 'names', split: ',' },
    roomId: { from: 'rooms', split: ',', values },
    type: { from: 'kinds', split: ',', values, otherwise: 'null' },
    lecturer: { from: 'staff', each: 'name' },
    lecturerId: { from: 'staff', each: 'key' },
  };
  const records = fc.record(
    { groups: listed, names: listed, rooms: listed, kinds: listed, staff: nested },
    { requiredKeys: [] },
  );
  let several = 0;
  fc.assert(
    fc.property(records, (fields) => {
      const { rows, faults } = read({ id: 'r', ...fields }, map as FieldMap);
      const expected = rowsOf(fields, map);
      if (expected === null) {
        assert.match(faults[0] ?? '', /expected a name for each identifier/);
        return;
      }
      assert.deepEqual(faults, []);
      const shown = (all: readonly Row[]): string[] =>
        all
          .map((row) =>
            JSON.stringify(Object.keys(map).map((field) => (row[field] == null ? null : String(row[field])))),
          )
          .sort();
      assert.deepEqual(shown(rows), shown(expected));
      assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length);
      if (rows.length > 1) several++;
    }),
    { seed: 20261127, numRuns: runs(400) },
  );
  t.ok(several > runs(100), `${several} records had several rows`);
});
