/** HalfSipHash-1-3 as its authors describe it: slow, with unbounded integers. */

const MASK = 0xffffffffn;

function rotate(value: bigint, bits: bigint): bigint {
  return ((value << bits) | (value >> (32n - bits))) & MASK;
}

function round(v: bigint[]): void {
  const [a = 0n, b = 0n, c = 0n, d = 0n] = v;
  const sum = (a + b) & MASK;
  const left = rotate(b, 5n) ^ sum;
  const other = (c + d) & MASK;
  const right = rotate(d, 8n) ^ other;
  const first = (rotate(sum, 16n) + right) & MASK;
  const third = (other + left) & MASK;
  v[0] = first;
  v[1] = rotate(left, 13n) ^ third;
  v[2] = rotate(third, 16n);
  v[3] = rotate(right, 7n) ^ first;
}

/** @returns an unsigned number of 32 bits */
export function halfSipHash(seed: readonly [number, number], bytes: Uint8Array): number {
  const [low, high] = [BigInt(seed[0]), BigInt(seed[1])];
  const v = [low, high, low ^ 0x6c796765n, high ^ 0x74656462n];
  const padded = [...bytes];
  while (padded.length % 4 !== 3) padded.push(0);
  padded.push(bytes.length & 255);
  for (let at = 0; at < padded.length; at += 4) {
    const word = padded.slice(at, at + 4).reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
    v[3] = (v[3] ?? 0n) ^ word;
    round(v);
    v[0] = (v[0] ?? 0n) ^ word;
  }
  v[2] = (v[2] ?? 0n) ^ 0xffn;
  for (let n = 0; n < 3; n++) round(v);
  return Number((v[1] ?? 0n) ^ (v[3] ?? 0n));
}
