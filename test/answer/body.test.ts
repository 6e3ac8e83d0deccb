/**
 * Memory of bodies: used memory is never shared, and freed memory is reused. Inside, because no answer shows
 * which memory it is in.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { allocateBody, releaseBody } from '../../src/answer/body.js';
import { BODY_WHOLE_BYTES_MAX, DIRECT_HEAD_BYTES_MAX } from '../../src/base/limits.js';

const KIB = 1024;
/** Lengths around every limit where the source of memory changes, and any other length. */
const LENGTHS = [15, 16, 32, 64, 128, 256].flatMap((kib) =>
  [-DIRECT_HEAD_BYTES_MAX, 0].flatMap((head) => [-1, 0, 1].map((more) => kib * KIB + head + more)),
);
const lengths = fc.oneof(
  fc.constantFrom(0, 1, ...LENGTHS),
  fc.nat(20 * KIB),
  fc.nat(BODY_WHOLE_BYTES_MAX + 10 * KIB),
);

/** The body with the room before it. */
function wholeOf(body: Buffer): Buffer {
  return Buffer.from(
    body.buffer,
    body.byteOffset - DIRECT_HEAD_BYTES_MAX,
    DIRECT_HEAD_BYTES_MAX + body.length,
  );
}

test('bodies in use never share memory, even after others were freed', (t) => {
  const step = fc.record({ length: lengths, release: fc.boolean(), which: fc.nat() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
      const inUse: { readonly body: Buffer; readonly mark: number }[] = [];
      const isWhole = ({ body, mark }: (typeof inUse)[number]) =>
        wholeOf(body).equals(Buffer.alloc(DIRECT_HEAD_BYTES_MAX + body.length, mark));
      for (const [n, { length, release, which }] of steps.entries()) {
        const body = allocateBody(length);
        if (body.length !== length) return false;
        wholeOf(body).fill(n & 255);
        inUse.push({ body, mark: n & 255 });
        if (!release) continue;
        const [gone] = inUse.splice(which % inUse.length, 1);
        if (gone === undefined || !isWhole(gone)) return false;
        releaseBody(gone.body);
      }
      return inUse.every(isWhole);
    }),
    { seed: 1, numRuns: 200 },
  );
  t.end();
});

test('freed memory is used for the next body of equal length', (t) => {
  for (const length of [100, 10 * KIB, 20 * KIB, 100 * KIB, BODY_WHOLE_BYTES_MAX]) {
    // The state after a slab without room.
    releaseBody(allocateBody(length));
    const first = allocateBody(length);
    const { buffer, byteOffset } = first;
    releaseBody(first);
    const second = allocateBody(length);
    t.equal(second.buffer, buffer, `${length} bytes`);
    t.equal(second.byteOffset, byteOffset);
    releaseBody(second);
  }
  t.end();
});
