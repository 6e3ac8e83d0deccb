/** What an image consists of. Inside, because it looks at the arrays. */
import { test } from 'tap';
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { SnapshotBuilder } from '../../src/snapshot/builder.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';

const event = (id: string, time: number, more: Partial<NormalisedEvent> = {}): NormalisedEvent => ({
  id,
  time,
  endTime: time + 1000,
  title: null,
  roomId: null,
  courseId: null,
  studyGroup: null,
  lecturer: null,
  type: null,
  groupId: null,
  lecturerId: null,
  ...more,
});

function build(events: readonly NormalisedEvent[]): SnapshotImage {
  const builder = new SnapshotBuilder({ identifiers: 'any' });
  events.forEach((each, i) => {
    builder.add(each, { record: i + 1 });
  });
  return builder.finish();
}

/** Every leaf of an image except its summary, with the path to it. */
function leaves(part: unknown, path: string): [path: string, leaf: unknown][] {
  if (typeof part !== 'object' || part === null || ArrayBuffer.isView(part)) return [[path, part]];
  return Object.entries(part).flatMap(([name, inner]) => leaves(inner, `${path}.${name}`));
}

test('an image is only typed arrays over shared memory, a seed and a summary', (t) => {
  const { summary, hashSeed, ...parts } = build([
    event('a', 1, { roomId: 'r', studyGroup: 'g' }),
    event('b', 2, { roomId: 'r' }),
  ]);
  for (const [path, leaf] of leaves(parts, 'image')) {
    t.ok(ArrayBuffer.isView(leaf) && leaf.buffer instanceof SharedArrayBuffer, path);
  }
  t.strictSame(structuredClone({ summary, hashSeed }), { summary, hashSeed }, 'these are plain data');
  t.end();
});

test('the number of objects in an image does not grow with the number of events', (t) => {
  const few = leaves(build([event('a', 1)]), '').length;
  const many = leaves(build(Array.from({ length: 500 }, (_, i) => event(`e${i}`, i))), '').length;
  t.equal(many, few);
  t.end();
});

test('the order of records does not change a byte', (t) => {
  const events = Array.from({ length: 200 }, (_, i) =>
    event(`id-${(i * 7919) % 200}`, (i * 31) % 17, {
      title: `Ünïcode 講義 ${i % 5} "\\\u2028 😀`,
      roomId: i % 3 === 0 ? null : `room ${i % 4}`,
      lecturerId: `l${i % 6}`,
    }),
  );
  const forward = build(events);
  const backward = build([...events].reverse());
  t.equal(forward.summary.id, backward.summary.id);
  t.strictSame(backward.rows.bytes, forward.rows.bytes);
  t.strictSame(backward.fields.roomId.codes, forward.fields.roomId.codes);
  const served = JSON.parse(Buffer.from(forward.rows.bytes).toString('utf8')) as NormalisedEvent[];
  const titles = new Map(events.map((each) => [each.id, each.title]));
  for (const each of served) t.equal(each.title, titles.get(each.id));
  t.end();
});

test('any change that can alter an answer alters the content version', (t) => {
  const base = [event('a', 1), event('b', 2)];
  const { id } = build(base).summary;
  const others: [why: string, events: NormalisedEvent[]][] = [
    ['an event less', [event('a', 1)]],
    ['another title', [event('a', 1, { title: 'x' }), event('b', 2)]],
    ['a lecturerId, which no row shows', [event('a', 1, { lecturerId: 'l' }), event('b', 2)]],
    ['the lecturerId on the other event', [event('a', 1), event('b', 2, { lecturerId: 'l' })]],
    ['none', []],
  ];
  const seen = new Set([id]);
  for (const [why, events] of others) {
    const other = build(events).summary.id;
    t.notOk(seen.has(other), why);
    seen.add(other);
  }
  t.equal(build(base).summary.id, id, 'and nothing else does');
  t.end();
});

test('ids of any characters can be read from the rows', (t) => {
  const ids = ['plain', 'with "quotes"', 'back\\slash', 'é 講 😀', '\u0001\n', '\\"'];
  const snapshot = new Snapshot(build(ids.map((id, i) => event(id, i))));
  ids.forEach((id, ordinal) => {
    t.equal(snapshot.rows.idOf(ordinal), id);
    t.equal(snapshot.ordinalOf(id), ordinal);
    for (const other of [`${id}x`, id.slice(0, -1), JSON.stringify(id).slice(1, -1)]) {
      if (!ids.includes(other)) t.equal(snapshot.ordinalOf(other), -1, JSON.stringify(other));
    }
    t.strictSame(snapshot.keyOf(ordinal), { timeMs: ordinal, endTimeMs: ordinal + 1000, id });
    t.equal(snapshot.ordinalAfter({ timeMs: ordinal, endTimeMs: ordinal + 1000, id }), ordinal + 1);
  });
  t.equal(snapshot.ordinalAfter({ timeMs: -5, endTimeMs: 0, id: '' }), 0);
  t.equal(snapshot.ordinalAfter({ timeMs: 99, endTimeMs: 99, id: '' }), ids.length);
  t.end();
});

test('a builder is used once; a snapshot may have no events', (t) => {
  const builder = new SnapshotBuilder({ identifiers: 'uuid' });
  const image = builder.finish();
  t.throws(() => builder.finish(), /once/);
  t.equal(Buffer.from(image.rows.bytes).toString(), '[]');
  t.equal(image.summary.span, null);
  t.equal(image.summary.events, 0);
  t.end();
});
