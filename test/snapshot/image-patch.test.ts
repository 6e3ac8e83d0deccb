import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { ANNOUNCED_PATCH_EVENTS_MIN } from '../../src/limits.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { ImageFiller } from '../../src/snapshot/image-filler.js';
import { imagePieces } from '../../src/snapshot/image-layout.js';
import { applyImagePatch, writeImagePatch } from '../../src/snapshot/image-patch.js';
import { patchImage } from '../../src/snapshot/patch.js';
import { HARD } from '../hard/size.js';
import { eventOf, idOf, imageOf, imageOfCount } from './images.js';
import { applied, chains, timetables } from './patched.js';

/** All arrays and the summary, in one order of names. */
function bytesOf(image: SnapshotImage): Buffer {
  const ordered = inOrder(image) as SnapshotImage;
  return Buffer.concat(imagePieces({ image: ordered, sourceVersion: null, source: null, beside: null }));
}

function inOrder(part: unknown): unknown {
  if (typeof part !== 'object' || part === null || ArrayBuffer.isView(part) || Array.isArray(part))
    return part;
  const entries = Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, inOrder(inner)]));
}

function sent(image: SnapshotImage): SnapshotImage {
  const bytes = bytesOf(image);
  const filler = new ImageFiller(bytes.length);
  for (let at = 0; at < bytes.length; at += 1000) filler.write(bytes.subarray(at, at + 1000));
  return filler.finish().image;
}

test('a replica that applies announced patches has the bytes of the publisher', (t) => {
  const property = fc.property(timetables, chains, (start, steps) => {
    let events = start;
    let publisher = imageOf(events.values());
    let replica = sent(publisher);
    for (const [n, step] of steps.entries()) {
      const touched = new Set([...step.removals, ...step.upserts.map(({ id }) => id)]);
      events = applied(events, step);
      // Publishers patch for single changes, and build after whole loads.
      publisher = n % 2 === 0 ? patchImage(publisher, step) : imageOf(events.values(), 0, publisher.hashSeed);
      const patch = writeImagePatch(publisher, touched);
      assert.ok(patch !== null);
      replica = applyImagePatch(replica, [patch]).image;
      assert.ok(bytesOf(replica).equals(bytesOf(publisher)), `step ${n}`);
    }
  });
  fc.assert(property, { seed: 20, numRuns: HARD ? 2000 : 40 });
  t.pass();
  t.end();
});

test('a patch that does not give the announced image is refused', (t) => {
  const base = imageOfCount(50);
  const changed = eventOf(7, { title: 'changed', lecturerId: null, roomName: 'Aula' });
  const next = patchImage(base, { upserts: [changed], removals: [idOf(3)] });
  const ids = new Set([changed.id, idOf(3)]);
  const patch = writeImagePatch(next, ids);
  assert.ok(patch !== null);
  t.equal(applyImagePatch(base, [patch]).image.summary.id, next.summary.id);
  t.same([...applyImagePatch(base, [patch]).changedIds].sort(), [...ids].sort());

  const altered = (change: (stored: Record<string, unknown>) => void): Buffer => {
    const stored = JSON.parse(patch.toString('utf8')) as Record<string, unknown>;
    change(stored);
    return Buffer.from(JSON.stringify(stored));
  };
  const event = { ...changed };
  const refusals: Record<string, readonly [Buffer, RegExp]> = {
    'an event is missing': [altered((stored) => Object.assign(stored, { upserts: [] })), /another image/],
    'a removal is missing': [altered((stored) => Object.assign(stored, { removals: [] })), /another image/],
    'a name that no row shows differs': [
      altered((stored) => Object.assign(stored, { upserts: [{ ...event, roomName: 'Other' }] })),
      /another image/,
    ],
    'a time is no time': [
      altered((stored) => Object.assign(stored, { upserts: [{ ...event, time: 1.5 }] })),
      /malformed change/,
    ],
    'a title is a number': [
      altered((stored) => Object.assign(stored, { upserts: [{ ...event, title: 5 }] })),
      /malformed change/,
    ],
    'an event is null': [altered((stored) => Object.assign(stored, { upserts: [null] })), /malformed change/],
    'there are no changes': [altered((stored) => Object.assign(stored, { removals: {} })), /no changes/],
    'another version': [altered((stored) => Object.assign(stored, { version: 2 })), /version 2/],
    'another seed': [altered((stored) => Object.assign(stored, { hashSeed: [1, 2] })), /of another image/],
    'no summary': [altered((stored) => Object.assign(stored, { summary: {} })), /./],
    'no JSON': [Buffer.from('{'), /./],
    nothing: [Buffer.from('null'), /./],
  };
  for (const [name, [bytes, message]] of Object.entries(refusals)) {
    t.throws(() => applyImagePatch(base, [bytes]), { message }, name);
  }
  const other = imageOf([eventOf(1)], 0, base.hashSeed);
  t.throws(() => applyImagePatch(other, [patch]), /another image/, 'another base');
  t.equal(bytesOf(base).equals(bytesOf(imageOfCount(50))), false, 'images have seeds of their own');
  t.end();
});

test('a patch of many events, or of long ones, is not written', (t) => {
  const idsTo = (count: number): Set<string> => new Set(Array.from({ length: count }, (_, n) => idOf(n)));
  const [small, large] = [imageOfCount(5), imageOfCount(20_000)];
  t.ok(writeImagePatch(small, idsTo(ANNOUNCED_PATCH_EVENTS_MIN)));
  t.equal(writeImagePatch(small, idsTo(ANNOUNCED_PATCH_EVENTS_MIN + 1)), null);
  t.ok(writeImagePatch(large, idsTo(200)), 'one in a hundred');
  t.equal(writeImagePatch(large, idsTo(201)), null, 'the whole image is fetched as quickly');
  const long = eventOf(1, { title: 'x'.repeat(1_100_000) });
  t.equal(writeImagePatch(imageOf([long]), new Set([long.id])), null);
  t.end();
});

test('an image is filled from pieces of any length; bytes that are no image are refused', (t) => {
  const image = imageOfCount(30);
  const bytes = bytesOf(image);
  for (const length of [1, 7, 4096, bytes.length]) {
    const filler = new ImageFiller(bytes.length);
    for (let at = 0; at < bytes.length; at += length) filler.write(bytes.subarray(at, at + length));
    t.ok(bytesOf(filler.finish().image).equals(bytes), `pieces of ${length}`);
  }
  const filled = (given: Uint8Array, bytesTotal = given.length): (() => unknown) => {
    const filler = new ImageFiller(bytesTotal);
    filler.write(given);
    return () => filler.finish();
  };
  t.throws(filled(bytes.subarray(0, -1)), /ends early/);
  t.throws(filled(bytes.subarray(0, -1), bytes.length), /ends early/);
  t.throws(filled(Buffer.concat([bytes, Buffer.of(1)])), /longer/);
  t.throws(filled(Buffer.from('not an image, and longer than its prefix')), /not a snapshot file/);
  t.throws(filled(Buffer.alloc(0)), /not a snapshot file/);
  t.end();
});
