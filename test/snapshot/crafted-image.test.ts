/**
 * Snapshot files whose checksums are right and whose content is not: as a bug would write them, or somebody who computes the
 * checksums anew. Each is refused with a reason, or answers everything without a fault.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { Packr, unpack } from 'msgpackr';
import { test } from 'tap';
import { LecternError } from '../../src/errors.js';
import { FORMATS } from '../../src/model/format.js';
import { readCheckedImage } from '../../src/snapshot/check-image.js';
import { writeImageFile } from '../../src/snapshot/image-file.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import { viewOf } from '../../src/view/snapshot-view.js';
import { size } from '../hard/size.js';
import { bytesOf, listOf, readOf, STRICT, unpackedListOf } from '../query/reading.js';
import { eventOf, idOf, imageOf } from './images.js';

/** So many that some codes take two bytes. */
const EVENTS = 300;
const RUNS = size(500, 50_000);
const ELEMENT_BYTES: Readonly<Record<string, number>> = { u8: 1, u16: 2, u32: 4, f64: 8 };

interface Entry {
  path: unknown;
  type: unknown;
  byteLength: unknown;
  crc: unknown;
}

/** A snapshot file taken apart. */
interface Parts {
  readonly header: Record<string, unknown> & { summary: Record<string, unknown>; arrays: Entry[] };
  readonly arrays: Buffer[];
}

const folder = mkdtempSync(join(tmpdir(), 'lectern-crafted-'));
const path = join(folder, 'image');
const titles = ['Lesson', 'Übung', 'a "quoted" one', 'x'.repeat(300)];
const events = Array.from({ length: EVENTS }, (_, n) =>
  eventOf(n, {
    title: titles[n % titles.length] ?? '',
    courseId: `Course ${n}`,
    lecturer: n % 3 === 0 ? null : `Lecturer ${n % 5}`,
    roomId: n % 7 === 0 ? null : `2c3c9bfd-5da4-5a45-8bdb-00000000000${n % 2}`,
  }),
);
writeImageFile(path, imageOf(events, 2), 'version 1');
const ORIGINAL = readFileSync(path);

function takeApart(bytes: Buffer): Parts {
  let offset = 16 + bytes.readUInt32LE(8);
  const header = unpack(bytes.subarray(16, offset)) as Parts['header'];
  const arrays = header.arrays.map((entry) => {
    offset += (8 - (offset % 8)) % 8;
    const array = Buffer.from(bytes.subarray(offset, offset + Number(entry.byteLength)));
    offset += array.length;
    return array;
  });
  return { header, arrays };
}

/** With all checksums as they have to be. */
function putTogether({ header, arrays }: Parts): Buffer {
  for (const [n, array] of arrays.entries()) {
    const entry = header.arrays[n];
    if (entry !== undefined) entry.crc = crc32(array);
  }
  const packed = new Packr({ useRecords: false }).pack(header);
  const prefix = Buffer.from(ORIGINAL.subarray(0, 16));
  prefix.writeUInt32LE(packed.length, 8);
  prefix.writeUInt32LE(crc32(packed), 12);
  const pieces: Buffer[] = [prefix, packed];
  let offset = prefix.length + packed.length;
  for (const array of arrays) {
    const padding = Buffer.alloc((8 - (offset % 8)) % 8);
    pieces.push(padding, array);
    offset += padding.length + array.length;
  }
  return Buffer.concat(pieces);
}

/** Asks for everything that there is. Throws where anything does, or where a length is not that of the bytes. */
function readEverything(file: string, isThorough: boolean): void {
  const { image } = readCheckedImage(file, isThorough);
  const view = viewOf(new Snapshot(image));
  for (let n = -1; n <= EVENTS; n++) view.eventOf(idOf(n < 0 ? 999 : n));
  view.types([], STRICT);
  for (const { name } of FORMATS) {
    const read = name === 'json' ? listOf : unpackedListOf;
    read(readOf(view.all([], STRICT)).execute(name));
    for (const query of [
      [
        ['startTime', '2024-09-02T10:30:00Z'],
        ['endTime', '2024-09-02T12:30:00Z'],
      ],
      [['roomId', '2c3c9bfd-5da4-5a45-8bdb-000000000000']],
      [
        ['studyGroup', 'A'],
        ['type', 'Lab'],
      ],
      [['limit', '7']],
    ] as [string, string][][]) {
      read(readOf(view.schedule(query, STRICT)).execute(name));
    }
    for (const query of [[], [['merge', 'false']], [['by', 'room']], [['limit', '3']]] as [
      string,
      string,
    ][][]) {
      read(readOf(view.conflicts(query, STRICT)).execute(name));
    }
    bytesOf(readOf(view.types([], STRICT)).execute(name));
  }
  JSON.stringify(image.summary);
}

const NUMBERS = [0, 1, 2, 3, EVENTS - 1, EVENTS, EVENTS + 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff];
const ODD_NUMBERS = [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 1e300, 2 ** 33, 2 ** 53];
const ODD_VALUES: readonly unknown[] = [
  null,
  undefined,
  '',
  'u32',
  'f64',
  '__proto__',
  [],
  {},
  true,
  ...NUMBERS,
  ...ODD_NUMBERS,
];

type Change = (parts: Parts) => void;
const index = fc.nat({ max: 10_000 });

/** One number of an array is another. */
const otherNumber: fc.Arbitrary<Change> = fc
  .record({
    array: index,
    at: index,
    number: fc.constantFrom(...NUMBERS, ...ODD_NUMBERS),
    step: fc.integer({ min: -3, max: 3 }),
  })
  .map(({ array, at, number, step }) => ({ header, arrays }) => {
    const n = array % arrays.length;
    const bytes = arrays[n] ?? Buffer.alloc(0);
    const type = String(header.arrays[n]?.type);
    const offset = (at % Math.max(1, bytes.length / (ELEMENT_BYTES[type] ?? 1))) * (ELEMENT_BYTES[type] ?? 1);
    if (bytes.length === 0) return;
    if (type === 'f64') bytes.writeDoubleLE(step === 0 ? number : bytes.readDoubleLE(offset) + step, offset);
    else if (type === 'u8') bytes[offset] = step === 0 ? number : (bytes[offset] ?? 0) + step;
    else if (type === 'u16')
      bytes.writeUInt16LE((step === 0 ? number : bytes.readUInt16LE(offset) + step) & 0xffff, offset);
    else bytes.writeUInt32LE((step === 0 ? number : bytes.readUInt32LE(offset) + step) >>> 0, offset);
  });

/** An array is longer or shorter, and its entry in the header says so. */
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

/** Two arrays change places, or one takes the place of the other, or is not there. */
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

/** Something in the header is something else. */
const otherHeader: fc.Arbitrary<Change> = fc
  .record({ at: index, value: fc.constantFrom(...ODD_VALUES), array: index })
  .map(({ at, value, array }) => ({ header, arrays }) => {
    const places: [Record<string, unknown>, string][] = [
      ...Object.keys(header).map((name): [Record<string, unknown>, string] => [header, name]),
      ...Object.keys(header.summary).map((name): [Record<string, unknown>, string] => [header.summary, name]),
    ];
    const entry = header.arrays[array % arrays.length] as unknown as Record<string, unknown>;
    for (const name of ['path', 'type', 'byteLength', 'crc']) places.push([entry, name]);
    const names = entry.path as unknown as Record<string, unknown>;
    for (const name of Object.keys(names)) places.push([names, name]);
    const place = places[at % places.length];
    if (place !== undefined) place[0][place[1]] = value;
  });

const isRefusal = (error: unknown): boolean =>
  error instanceof LecternError && error.code === 'image-unusable';

test('a file with right checksums and wrong content is refused with a reason, or answers without a fault', async (t) => {
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  readEverything(path, true);
  const seen = { refused: 0, used: 0, refusedLightly: 0 };
  const reasons = new Set<string>();
  const changes = fc.array(fc.oneof(otherNumber, otherNumber, otherLength, otherPlace, otherHeader), {
    minLength: 1,
    maxLength: 3,
  });
  fc.assert(
    fc.property(changes, (all) => {
      const parts = takeApart(ORIGINAL);
      try {
        for (const change of all) change(parts);
      } catch {
        // The first change has left nothing for the second to be made in.
      }
      if (!Array.isArray(parts.header.arrays)) parts.arrays.length = 0;
      const bytes = putTogether(
        Array.isArray(parts.header.arrays) ? parts : { ...parts, header: { ...parts.header, arrays: [] } },
      );
      if (bytes.equals(ORIGINAL)) return;
      writeFileSync(path, bytes);
      try {
        readEverything(path, true);
        seen.used++;
      } catch (error) {
        if (!isRefusal(error)) throw error;
        seen.refused++;
        reasons.add((error as Error).message.replace(/\d+/g, 'n'));
        assert.ok((error as Error).message.length < 500);
      }
      // Some of what reads it may fail if it is not looked at as thoroughly; but all of it ends.
      try {
        readEverything(path, false);
      } catch (error) {
        if (isRefusal(error)) seen.refusedLightly++;
      }
      assert.equal(Object.keys(Object.prototype).length, 0, 'nothing else was written to');
    }),
    { numRuns: RUNS, seed: 29 },
  );
  t.ok(seen.refused > RUNS / 2, JSON.stringify(seen));
  t.ok(seen.refusedLightly > seen.refused / 2 && seen.refusedLightly < seen.refused, 'most without that');
  t.ok(reasons.size > 40, `${reasons.size} reasons`);
});
