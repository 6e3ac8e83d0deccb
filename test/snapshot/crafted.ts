/**
 * Snapshot files with right checksums and wrong content, as from a bug, or from an attacker who computes the
 * checksums again. Arrays are found by the file's own table, so this module does not know their meaning.
 */
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { Packr, unpack } from 'msgpackr';

const PREFIX_BYTES = 16;
const ALIGNMENT_BYTES = 8;
const ELEMENT_BYTES: Readonly<Record<string, number>> = { u8: 1, u16: 2, u32: 4, f64: 8 };

export interface Entry {
  path: unknown;
  type: unknown;
  byteLength: unknown;
  crc: unknown;
}

/** A snapshot file taken apart. */
export interface Parts {
  readonly header: Record<string, unknown> & { summary: Record<string, unknown>; arrays: Entry[] };
  readonly arrays: Buffer[];
}

/** A change of a file that was taken apart. */
export type Change = (parts: Parts) => void;

export function takeApart(bytes: Buffer): Parts {
  let offset = PREFIX_BYTES + bytes.readUInt32LE(8);
  const header = unpack(bytes.subarray(PREFIX_BYTES, offset)) as Parts['header'];
  const arrays = header.arrays.map((entry) => {
    offset += (ALIGNMENT_BYTES - (offset % ALIGNMENT_BYTES)) % ALIGNMENT_BYTES;
    const array = Buffer.from(bytes.subarray(offset, offset + Number(entry.byteLength)));
    offset += array.length;
    return array;
  });
  return { header, arrays };
}

/** Joins the parts to a file with correct checksums. */
export function putTogether({ header, arrays }: Parts): Buffer {
  for (const [n, array] of arrays.entries()) {
    const entry = header.arrays[n];
    if (entry !== undefined) entry.crc = crc32(array);
  }
  const packed = new Packr({ useRecords: false }).pack(header);
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.write('LECTERN\u001a', 'latin1');
  prefix.writeUInt32LE(packed.length, 8);
  prefix.writeUInt32LE(crc32(packed), 12);
  const pieces: Buffer[] = [prefix, packed];
  let offset = prefix.length + packed.length;
  for (const array of arrays) {
    const padding = Buffer.alloc((ALIGNMENT_BYTES - (offset % ALIGNMENT_BYTES)) % ALIGNMENT_BYTES);
    pieces.push(padding, array);
    offset += padding.length + array.length;
  }
  return Buffer.concat(pieces);
}

/** The file with some changes and good checksums. */
export function crafted(original: Buffer, changes: readonly Change[]): Buffer {
  const parts = takeApart(original);
  for (const change of changes) change(parts);
  if (Array.isArray(parts.header.arrays)) return putTogether(parts);
  return putTogether({ header: { ...parts.header, arrays: [] }, arrays: [] });
}

/** The array at a path, whose names are separated by dots. */
export function arrayAt({ header, arrays }: Parts, path: string): Buffer {
  const found = arrays[header.arrays.findIndex((entry) => (entry.path as string[]).join('.') === path)];
  if (found === undefined) throw new Error(`there is no array ${path}`);
  return found;
}

const NUMBERS = [0, 1, 2, 3, 299, 300, 301, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff];
const ODD_NUMBERS = [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 1e300, 2 ** 33, 2 ** 53];
const ODD_VALUES: readonly unknown[] = [
  null,
  undefined,
  '',
  'u32',
  'f64',
  '__proto__',
  'one\r\nline and another\u001b[2J',
  'x'.repeat(5000),
  [],
  {},
  [{}],
  { 'missing-field': 'x' },
  true,
  ...NUMBERS,
  ...ODD_NUMBERS,
];
/** Bytes that could end a string, a row or a character early. */
const PATCHES = ['"', '\\', '"}', '{', ',', '\n', '\0', '\\u12', '                ', 'null', ']'].map(
  (text) => Buffer.from(text),
);
const BYTES = [Buffer.of(0xff), Buffer.of(0xc3), Buffer.of(0x80), Buffer.of(0xf0, 0x9f)];

const index: fc.Arbitrary<number> = fc.nat({ max: 10_000 });
const share: fc.Arbitrary<number> = fc.integer({ min: 0, max: 1000 }).map((n) => n / 1000);

/** One of the arrays, and its division into elements. */
function pick({ header, arrays }: Parts, n: number): { bytes: Buffer; type: string; width: number } {
  const at = n % arrays.length;
  const type = String(header.arrays[at]?.type);
  return { bytes: arrays[at] ?? Buffer.alloc(0), type, width: ELEMENT_BYTES[type] ?? 1 };
}

function write(bytes: Buffer, type: string, offset: number, number: number): void {
  if (type === 'f64') bytes.writeDoubleLE(number, offset);
  else if (type === 'u8') bytes[offset] = number;
  else if (type === 'u16') bytes.writeUInt16LE(number & 0xffff, offset);
  else bytes.writeUInt32LE(number >>> 0, offset);
}

function read(bytes: Buffer, type: string, offset: number): number {
  if (type === 'f64') return bytes.readDoubleLE(offset);
  if (type === 'u8') return bytes[offset] ?? 0;
  return type === 'u16' ? bytes.readUInt16LE(offset) : bytes.readUInt32LE(offset);
}

const anyNumber = fc.constantFrom(...NUMBERS, ...ODD_NUMBERS);

/** One number of an array is replaced. */
const otherNumber: fc.Arbitrary<Change> = fc
  .record({ array: index, at: share, number: anyNumber, step: fc.integer({ min: -3, max: 3 }) })
  .map(({ array, at, number, step }) => (parts) => {
    const { bytes, type, width } = pick(parts, array);
    const offset = Math.floor((bytes.length / width - 1) * at) * width;
    if (bytes.length < width) return;
    write(bytes, type, offset, step === 0 ? number : read(bytes, type, offset) + step);
  });

/** All numbers of an array or of a part of it become one number, or grow by one. */
const otherNumbers: fc.Arbitrary<Change> = fc
  .record({ array: index, from: share, to: share, number: anyNumber, isAdded: fc.boolean() })
  .map(({ array, from, to, number, isAdded }) => (parts) => {
    const { bytes, type, width } = pick(parts, array);
    const count = bytes.length / width;
    for (let n = Math.floor(count * Math.min(from, to)); n < Math.floor(count * Math.max(from, to)); n++) {
      write(bytes, type, n * width, isAdded ? read(bytes, type, n * width) + number : number);
    }
  });

/** An array is reversed, or a part of it copied over another. */
const otherOrder: fc.Arbitrary<Change> = fc
  .record({ array: index, from: share, to: share, length: share, isReversed: fc.boolean() })
  .map(({ array, from, to, length, isReversed }) => (parts) => {
    const { bytes, type, width } = pick(parts, array);
    const count = Math.floor(bytes.length / width);
    if (!isReversed) {
      const begin = Math.floor(count * from) * width;
      bytes.copyWithin(Math.floor(count * to) * width, begin, begin + Math.floor(count * length) * width);
      return;
    }
    const numbers = Array.from({ length: count }, (_, n) => read(bytes, type, n * width)).reverse();
    for (const [n, number] of numbers.entries()) write(bytes, type, n * width, number);
  });

/** Some bytes overwrite those of a byte array, once or everywhere. */
const otherBytes: fc.Arbitrary<Change> = fc
  .record({ array: index, at: share, patch: fc.constantFrom(...PATCHES, ...BYTES), isFilled: fc.boolean() })
  .map(({ array, at, patch, isFilled }) => (parts) => {
    const ofBytes = parts.arrays.filter(
      (bytes, n) => parts.header.arrays[n]?.type === 'u8' && bytes.length > 0,
    );
    const bytes = ofBytes[array % Math.max(1, ofBytes.length)];
    if (bytes === undefined) return;
    const offset = Math.floor((bytes.length - 1) * at);
    if (isFilled) bytes.fill(patch, offset);
    else patch.copy(bytes, offset);
  });

/** An array is longer or shorter, and its header entry says so. */
const otherLength: fc.Arbitrary<Change> = fc
  .record({ array: index, elements: fc.integer({ min: -50, max: 50 }), bytes: fc.constantFrom(0, 0, 0, 1) })
  .map(({ array, elements, bytes }) => ({ header, arrays }) => {
    const n = array % arrays.length;
    const entry = header.arrays[n];
    const old = arrays[n];
    if (entry === undefined || old === undefined) return;
    const length = Math.max(0, old.length + elements * (ELEMENT_BYTES[String(entry.type)] ?? 1) + bytes);
    arrays[n] = Buffer.concat([old, Buffer.alloc(length)]).subarray(0, length);
    entry.byteLength = length;
  });

/** Two arrays are swapped, or one replaces the other, is missing, or occurs twice. */
const otherPlace: fc.Arbitrary<Change> = fc
  .record({ one: index, other: index, kind: fc.constantFrom('swap', 'copy', 'drop', 'double') })
  .map(({ one, other, kind }) => ({ header, arrays }) => {
    const [a, b] = [one % arrays.length, other % arrays.length];
    const [entryA, entryB] = [header.arrays[a], header.arrays[b]];
    if (entryA === undefined || entryB === undefined) return;
    if (kind === 'swap') [entryA.path, entryB.path] = [entryB.path, entryA.path];
    else if (kind === 'copy') entryA.path = entryB.path;
    else if (kind === 'drop') {
      header.arrays.splice(a, 1);
      arrays.splice(a, 1);
    } else {
      header.arrays.push({ ...entryA });
      arrays.push(Buffer.from(arrays[a] ?? []));
    }
  });

/** A changed value in the header: in its table, in the summary, or within the summary. */
const otherHeader: fc.Arbitrary<Change> = fc
  .record({ at: index, value: fc.constantFrom(...ODD_VALUES), array: index })
  .map(({ at, value, array }) => ({ header, arrays }) => {
    const places: [Record<string, unknown>, string][] = [];
    const gather = (part: unknown): void => {
      if (typeof part !== 'object' || part === null) return;
      for (const name of Object.keys(part)) {
        places.push([part as Record<string, unknown>, name]);
        if (name !== 'arrays') gather((part as Record<string, unknown>)[name]);
      }
    };
    gather(header);
    gather(header.arrays[array % arrays.length]);
    const place = places[at % places.length];
    if (place !== undefined) place[0][place[1]] = value;
  });

/** Earlier changes may have removed the place for this one. */
function forgiving(change: Change): Change {
  return (parts) => {
    try {
      change(parts);
    } catch {
      // Then it is left out.
    }
  };
}

/** One to three changes of any kind. */
export const changes: fc.Arbitrary<Change[]> = fc.array(
  fc
    .oneof(
      otherNumber,
      otherNumber,
      otherNumbers,
      otherOrder,
      otherBytes,
      otherLength,
      otherPlace,
      otherHeader,
    )
    .map(forgiving),
  { minLength: 1, maxLength: 3 },
);

/** One small change, which is more often found late or harmless. */
export const smallChange: fc.Arbitrary<Change[]> = fc
  .oneof(otherNumber, otherBytes, otherBytes)
  .map((change) => [forgiving(change)]);
