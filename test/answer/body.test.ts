/**
 * Memory of answers: used memory is never shared, and freed memory is reused. Inside, because no answer shows
 * which memory it is in.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { allocateAnswer, releaseAnswer } from '../../src/answer/body.js';
import { BODY_WHOLE_BYTES_MAX } from '../../src/base/limits.js';

const KIB = 1024;
/** Lengths around every limit where the source of memory changes, and any other length. */
const LENGTHS = [15, 16, 32, 64, 128, 256].flatMap((kib) => [-1, 0, 1].map((more) => kib * KIB + more));
const lengths = fc.oneof(
  fc.constantFrom(0, 1, ...LENGTHS),
  fc.nat(20 * KIB),
  fc.nat(BODY_WHOLE_BYTES_MAX + 10 * KIB),
);

test('answers in use never share memory, even after others were freed', (t) => {
  const step = fc.record({ length: lengths, release: fc.boolean(), which: fc.nat() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
      const inUse: { readonly answer: Buffer; readonly mark: number }[] = [];
      const isWhole = ({ answer, mark }: (typeof inUse)[number]) =>
        answer.equals(Buffer.alloc(answer.length, mark));
      for (const [n, { length, release, which }] of steps.entries()) {
        const answer = allocateAnswer(length);
        if (answer.length !== length) return false;
        answer.fill(n & 255);
        inUse.push({ answer, mark: n & 255 });
        if (!release) continue;
        const [gone] = inUse.splice(which % inUse.length, 1);
        if (gone === undefined || !isWhole(gone)) return false;
        releaseAnswer(gone.answer);
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
    releaseAnswer(allocateAnswer(length));
    const first = allocateAnswer(length);
    const { buffer, byteOffset } = first;
    releaseAnswer(first);
    const second = allocateAnswer(length);
    t.equal(second.buffer, buffer, `${length} bytes`);
    t.equal(second.byteOffset, byteOffset);
    releaseAnswer(second);
  }
  t.end();
});
