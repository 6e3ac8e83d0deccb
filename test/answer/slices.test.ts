/**
 * Large bodies in slices that several readers share. Inside, because no reader sees that others have the same
 * slice.
 */
import { test } from 'tap';
import { releaseSlice, SharedSlices } from '../../src/answer/body.js';
import { type Piece, slicedBody } from '../../src/answer/slices.js';
import { BODY_SLICE_BYTES, BODY_SLICES_SHARED_MAX } from '../../src/base/limits.js';

const ROW_BYTES = 5000;

/** A body of distinct rows that are written on demand, and the number of written rows. */
function bodyOf(
  rows: number,
  salt = 0,
): { body: ReturnType<typeof slicedBody>; whole: Buffer; written: number } {
  const whole = Buffer.alloc(rows * ROW_BYTES + 1, '[');
  for (let n = 0; n < rows; n++) whole.fill(`${salt} ${n} `, 1 + n * ROW_BYTES, 1 + (n + 1) * ROW_BYTES);
  const counted = { written: 0 };
  const body = slicedBody(whole.length, function* (): Generator<Piece> {
    yield whole.subarray(0, 1);
    for (let n = 0; n < rows; n++) {
      const row = whole.subarray(1 + n * ROW_BYTES, 1 + (n + 1) * ROW_BYTES);
      yield {
        byteLength: ROW_BYTES,
        write(target, offset) {
          counted.written++;
          target.set(row, offset);
        },
      };
    }
  });
  return Object.assign(counted, { body, whole });
}

function chunksFrom(
  body: ReturnType<typeof slicedBody>,
  shared: SharedSlices,
  name: string,
): Iterable<Uint8Array> {
  const chunks = body.chunksFrom?.(shared, name);
  if (chunks === undefined) throw new Error('a sliced body can be shared');
  return chunks;
}

test('many readers share a body that is made once', async (t) => {
  const rows = 1000;
  const made = bodyOf(rows);
  const shared = new SharedSlices();
  const crowd = Array.from({ length: 50 }, () => chunksFrom(made.body, shared, 'all')[Symbol.iterator]());
  const held = crowd.map((reader) => reader.next().value as Uint8Array);
  t.equal(new Set(held.map(({ buffer }) => buffer)).size, 1);
  const lengths = crowd.map((reader, n) => {
    let length = held[n]?.length ?? 0;
    for (let next = reader.next(); !next.done; next = reader.next()) length += next.value.length;
    return length;
  });
  t.strictSame(new Set(lengths), new Set([made.whole.length]));
  t.equal(made.written, rows);
});

test('readers of several bodies at different positions get the right bytes from reused memory', async (t) => {
  // Mulberry32.
  let state = 7;
  const random = (below: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) % below;
  };
  const bodies = [bodyOf(2500, 1), bodyOf(300, 2), bodyOf(40, 3)];
  const shared = new SharedSlices();
  const begin = () => {
    const number = random(bodies.length);
    const { body, whole } = bodies[number] ?? bodyOf(0);
    const chunks = random(4) === 0 ? body.makeChunks() : chunksFrom(body, shared, String(number));
    return { whole, at: 0, held: null as Uint8Array | null, rest: chunks[Symbol.iterator]() };
  };
  const readers = Array.from({ length: 12 }, begin);
  const wrong: number[] = [];
  let whole = 0;
  for (let step = 0; step < 20_000; step++) {
    const n = random(readers.length);
    const reader = readers[n] ?? begin();
    if (reader.held !== null) {
      // It has waited while others continued.
      const expected = reader.whole.subarray(reader.at, reader.at + reader.held.length);
      if (!expected.equals(reader.held)) wrong.push(step);
      reader.at += reader.held.length;
      releaseSlice(reader.held);
      reader.held = null;
    }
    const { value, done } = reader.rest.next();
    if (!done) reader.held = value;
    if (done && reader.at !== reader.whole.length) wrong.push(step);
    if (done) whole++;
    // Some leave before the end, and release nothing.
    if (done || random(500) === 0) readers[n] = begin();
  }
  t.strictSame(wrong, []);
  t.ok(whole > 100, `${whole} bodies read to the end`);
});

test('the number of kept slices is bounded', async (t) => {
  const { body } = bodyOf(4000);
  const shared = new SharedSlices();
  let slices = 0;
  for (const slice of chunksFrom(body, shared, 'all')) {
    slices++;
    t.ok(slice.length <= BODY_SLICE_BYTES);
    releaseSlice(slice);
  }
  t.ok(slices > 2 * BODY_SLICES_SHARED_MAX, `${slices} slices`);
  t.equal(shared.count, BODY_SLICES_SHARED_MAX);
});
