/** A change as bytes: it is read as it was written, makes the same image, and is refused if it is not whole. */
import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { pack, unpack } from 'msgpackr';
import { test } from 'tap';
import { CHANGE_EVENTS_MIN } from '../../src/base/limits.js';
import { apply } from '../../src/change/apply.js';
import {
  type Change,
  decodeChanges,
  decodeWholeChanges,
  differingIds,
  encodeChanges,
  packEdit,
} from '../../src/change/change.js';
import { hiddenDigestOf } from '../../src/snapshot/content-version.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { eventOf, idOf, imageOf, imageOfCount } from '../snapshot/images.js';
import { chains, changed, timetables } from './edits.js';

test('changes in a row are applied at once, on an image with another seed, too', (t) => {
  const property = fc.property(timetables, chains, (start, steps) => {
    const first = imageOf(start.values());
    let image = first;
    const changes: Change[] = [];
    for (const step of steps) {
      const next = changed(image, step);
      image = next.image;
      changes.push(next.change);
    }
    const read = decodeChanges(encodeChanges(changes));
    assert.deepEqual(read, changes);
    const applied = apply(imageOf(start.values()), ...read);
    assert.equal(applied.summary.id, image.summary.id);
    assert.equal(hiddenDigestOf(applied), hiddenDigestOf(image));
    assert.deepEqual(applied.rows, image.rows);
    assert.deepEqual(applied.clusters, image.clusters);
  });
  fc.assert(property, { seed: 20, numRuns: 40 });
  t.pass();
  t.end();
});

/** Events 3 and 7 are changed, one of them only in a name that no row shows, and event 9 is removed. */
function someChange(): {
  readonly base: SnapshotImage;
  readonly image: SnapshotImage;
  readonly change: Change;
} {
  const base = imageOfCount(50);
  const came = [eventOf(7, { title: 'changed', lecturerId: null }), eventOf(3, { roomName: 'Aula' })];
  return { base, ...changed(base, { came, went: [idOf(9)] }) };
}

test('a change names all events that differ, and counts those that answers show', (t) => {
  const { change } = someChange();
  t.match(change, { added: 0, changed: 1, removed: 1 });
  t.same(differingIds([change])?.sort(), [idOf(3), idOf(7), idOf(9)].sort());
  t.equal(differingIds([change, { ...change, edit: null }]), null, 'without an edit they are not known');
  t.end();
});

test('a change that does not give the expected image is refused', (t) => {
  const { base, image, change } = someChange();
  t.equal(apply(base, change).summary.id, image.summary.id);
  const edit = unpack(Buffer.from(change.edit ?? [])) as [object, unknown[][], string[]];
  const altered = (...with_: readonly unknown[]): Change => ({
    ...change,
    edit: pack(edit.map((each, n) => with_[n] ?? each)),
  });
  const [row = [], ...rows] = edit[1];
  const other = (n: number, value: unknown): unknown[] => [
    row.map((each, place) => (place === n ? value : each)),
    ...rows,
  ];
  const refusals: Record<string, readonly [Change, RegExp]> = {
    'an event is missing': [altered(null, []), /another image/],
    'a removal is missing': [altered(null, null, []), /another image/],
    'a title differs': [altered(null, other(3, 'another')), /another image/],
    'no edit': [{ ...change, edit: null }, /of another image/],
    'another start': [{ ...change, from: image.summary.id }, /of another image/],
  };
  for (const [name, [bad, message]] of Object.entries(refusals)) {
    t.throws(() => apply(base, bad), { message }, name);
  }
  t.throws(() => apply(image, change), /of another image/, 'another base');
  t.end();
});

test('bytes that are no change, or of another format, are refused', (t) => {
  const bytes = encodeChanges([someChange().change]);
  const framed = (content: Buffer): Buffer => {
    const frame = Buffer.alloc(8);
    frame.writeUInt32LE(content.length, 0);
    frame.writeUInt32LE(crc32(content), 4);
    return Buffer.concat([frame, content]);
  };
  const values = unpack(bytes.subarray(8)) as unknown[];
  const altered = (n: number, value: unknown): Buffer =>
    framed(pack(values.map((each, place) => (place === n ? value : each))));
  t.equal(decodeChanges(altered(1, { ...(values[1] as object), sequence: 8 }))[0]?.sequence, 8);
  t.throws(() => decodeChanges(altered(0, 2)), { message: /format 2; this version of Lectern reads 1/ });
  t.throws(() => decodeChanges(bytes.subarray(0, -1)), { message: /damaged/ });
  t.throws(() => decodeChanges(Buffer.from('not a change at all')), { message: /damaged/ });
  t.end();
});

test('changes that are cut off at any byte give those that are whole', (t) => {
  const { change } = someChange();
  const one = encodeChanges([change]);
  const bytes = encodeChanges([change, { ...change, sequence: 2 }]);
  for (let length = 0; length <= bytes.length; length++) {
    const { changes, byteLength } = decodeWholeChanges(bytes.subarray(0, length));
    const whole = Math.floor(length / one.length);
    if (changes.length !== whole || byteLength !== whole * one.length) t.fail(`${length} bytes`);
  }
  const damaged = Buffer.from(bytes);
  damaged.writeUInt8(255 - damaged.readUInt8(one.length + 20), one.length + 20);
  t.equal(decodeWholeChanges(damaged).changes.length, 1);
  t.end();
});

test('a change of many events, or of long ones, has no edit', (t) => {
  const editOf = (summaryOf: SnapshotImage, count: number): Uint8Array | null => {
    const came = Array.from({ length: count }, (_, n) => eventOf(n));
    return packEdit({ summary: summaryOf.summary, came, went: [] });
  };
  const [small, large] = [imageOfCount(5), imageOfCount(20_000)];
  t.ok(editOf(small, CHANGE_EVENTS_MIN));
  t.equal(editOf(small, CHANGE_EVENTS_MIN + 1), null);
  t.ok(editOf(large, 200), 'one in a hundred');
  t.equal(editOf(large, 201), null, 'the whole image is read as quickly');
  const long = eventOf(1, { title: 'x'.repeat(4_400_000) });
  t.equal(packEdit({ summary: small.summary, came: [long], went: [] }), null);
  t.end();
});
