/** Names in records that are no fields. Inside for the bounds of the counter. */
import { test } from 'tap';
import { UNSERVED_FIELDS_KEPT_MAX, UNSERVED_NAME_UNITS_MAX } from '../../src/base/limits.js';
import { FIELDS } from '../../src/base/model/fields.js';
import type { Row } from '../../src/base/structures/row.js';
import { loadImage } from '../../src/refresh/thread/load-image.js';
import { UnservedFieldCounter, type UnservedFields } from '../../src/snapshot/unserved-fields.js';
import { FieldTable } from '../../src/source/field-map.js';
import { memorySource } from '../source/collect.js';

const GOOD = {
  id: '2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417',
  time: '2026-09-14T08:00:00Z',
  endTime: '2026-09-14T09:00:00Z',
};
const ALL = FIELDS.map(({ name }) => name);

function counted(records: readonly unknown[]): UnservedFields {
  const counter = new UnservedFieldCounter();
  const sink = {
    row: ({ names: { view, places, count } }: Row) => counter.countNames(view, places, count),
    fault() {},
  };
  const table = new FieldTable(sink, 'memory');
  for (const record of records) table.object(record);
  return counter.finish(ALL);
}

const unservedOf = async (records: readonly unknown[]): Promise<UnservedFields> =>
  (await loadImage(memorySource(records), { identifiers: 'uuid' })).image.summary.unserved;

test('names are counted by record, sorted by count, and have the probable field', async (t) => {
  const records = [
    { ...GOOD, lecturrer: 'x', colour: 'red' },
    { ...GOOD, colour: null },
    { colour: undefined, room: 1 },
    null,
    'text',
    ['list'],
    new Uint8Array(3),
    {},
  ];
  t.strictSame(counted(records), {
    fields: [
      { name: 'colour', records: 3, suggestion: null },
      { name: 'lecturrer', records: 1, suggestion: 'lecturer' },
      { name: 'room', records: 1, suggestion: 'roomId' },
    ],
    others: 0,
  });
});

test('names are counted right for records of alternating shapes', async (t) => {
  const wide = Object.fromEntries(Array.from({ length: 80 }, (_, n) => [`name ${n}`, n]));
  const { fields } = counted([wide, {}, GOOD, wide, { a: 1 }, GOOD, { a: 1 }, { a: 1, b: 2 }]);
  t.equal(fields.find(({ name }) => name === 'a')?.records, 3);
  t.equal(fields.find(({ name }) => name === 'b')?.records, 1);
  t.ok(fields.filter(({ name }) => name.startsWith('name')).every(({ records }) => records === 2));
});

test('the number of kept names is bounded', async (t) => {
  const { fields, others } = counted([
    Object.fromEntries(Array.from({ length: UNSERVED_FIELDS_KEPT_MAX + 500 }, (_, n) => [`n${n}`, n])),
    { ['x'.repeat(UNSERVED_NAME_UNITS_MAX + 1)]: 1 },
    { n0: 1 },
  ]);
  t.equal(fields.length, UNSERVED_FIELDS_KEPT_MAX);
  t.equal(others, 501);
  t.match(fields[0], { name: 'n0', records: 2 });
});

test('a field is suggested only if some record lacks it', async (t) => {
  const full = { ...GOOD, lecturer: 'x' };
  t.match(await unservedOf([{ ...full, lecturrer: 'y', tiem: 'z' }]), {
    fields: [{ suggestion: 'lecturerId' }, { suggestion: null }],
  });
  t.match(await unservedOf([{ ...GOOD, lecturrer: 'y' }]), { fields: [{ suggestion: 'lecturer' }] });
  const { time: _, ...rest } = full;
  t.match(await unservedOf([{ ...rest, tiem: 'z' }]), { fields: [{ name: 'tiem', suggestion: 'time' }] });
});

test('unserved names change only the summary of an image', async (t) => {
  const build = async (more: object) => {
    const { image } = await loadImage(
      memorySource([{ ...GOOD, ...more }]),
      { identifiers: 'uuid' },
      { hashSeed: [1, 2] },
    );
    const { builtAtMs: _, buildMs: __, modifiedMs: _m, unserved: ___, ...summary } = image.summary;
    return { ...image, summary };
  };
  t.strictSame(await build({ colour: 'red', nested: { deep: [1] } }), await build({}));
});

test('a record with unreadable names is rejected, and the load continues', async (t) => {
  const hostile = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error('no');
      },
    },
  );
  const { image } = await loadImage(memorySource([hostile, { ...GOOD, colour: 1 }]), { identifiers: 'uuid' });
  t.match(image.summary, { events: 1, rejected: 1, unserved: { fields: [{ name: 'colour', records: 1 }] } });
});
