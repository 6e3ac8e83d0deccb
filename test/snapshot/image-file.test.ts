/** Image files that are damaged, foreign or cut. Inside, because it flips every byte. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { endianness, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { Packr, unpack } from 'msgpackr';
import { test } from 'tap';
import { LecternError } from '../../src/base/errors.js';
import { ABANDONED_MS } from '../../src/base/limits.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { readImageFile, writeImageFile } from '../../src/snapshot/image-file.js';
import { IMAGE_FORMAT } from '../../src/snapshot/image-layout.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import { HARD, SLOW } from '../hard/size.js';
import { fastTest } from '../hard/slow-test.js';
import { eventOf, imageOf, imageOfCount, stored } from './images.js';

interface Test {
  teardown(callback: () => void): unknown;
}

function folderFor(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-image-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A written image and its bytes. */
function written(t: Test, image: SnapshotImage): { path: string; bytes: Buffer } {
  const path = join(folderFor(t), 'image');
  writeImageFile(path, stored(image, { sourceVersion: 'version 1' }));
  return { path, bytes: readFileSync(path) };
}

/** Why the file cannot be used; `used` where it was. */
function reasonFor(path: string): string {
  try {
    readImageFile(path);
    return 'used';
  } catch (error) {
    if (!(error instanceof LecternError) || error.code !== 'image-unusable') throw error;
    return error.message;
  }
}

/** The numbers of every array, by its path. */
function contentOf(part: object, path = ''): [string, string, number[]][] {
  return Object.entries(part).flatMap(([name, inner]: [string, unknown]) => {
    if (ArrayBuffer.isView(inner)) {
      const array = inner as Uint8Array | Uint32Array | Float64Array;
      return [[`${path}${name}`, array.constructor.name, Array.from(array)]];
    }
    return name === 'summary' ? [] : contentOf(inner as object, `${path}${name}.`);
  });
}

const IMAGES: readonly (readonly [string, SnapshotImage])[] = [
  ['no events', imageOfCount(0)],
  ['one event', imageOfCount(1)],
  ['a hundred events and rejections', imageOfCount(100, {}, 3)],
  ['clashes', imageOf(Array.from({ length: 30 }, (_, n) => eventOf(n, { roomId: null, lecturer: 'X' })))],
  ['a quarter of a megabyte', imageOfCount(500)],
];

for (const [name, image] of IMAGES) {
  fastTest(`an image is unchanged after writing and reading: ${name}`, async (t) => {
    const { path, bytes } = written(t, image);
    const { image: read, sourceVersion } = readImageFile(path);
    t.equal(sourceVersion, 'version 1');
    t.strictSame(read.summary, image.summary);
    t.strictSame(contentOf(read), contentOf(image), 'every array');
    t.ok(read.rows.bytes.buffer instanceof SharedArrayBuffer, 'in shared memory');
    t.equal(new Snapshot(read).eventCount, image.summary.events);
    t.notOk(bytes.includes(process.cwd()), 'nothing of this machine is in it');
    t.strictSame(readdirSync(join(path, '..')), ['image'], 'and nothing beside it');
  });
}

fastTest('a source without a version is stored', async (t) => {
  const path = join(folderFor(t), 'image');
  writeImageFile(path, stored(imageOfCount(1)));
  t.equal(readImageFile(path).sourceVersion, null);
});

test('a flip of any byte of an image is found', async (t) => {
  const { path, bytes } = written(t, imageOfCount(2));
  const file = openSync(path, 'r+');
  const undetected: string[] = [];
  const masks = HARD ? [1, 2, 4, 8, 16, 32, 64, 128, 255] : null;
  for (let at = 0; at < bytes.length; at += SLOW ? 1 : 3) {
    // One bit, a different one each time.
    for (const mask of masks ?? [1 << (at % 8)]) {
      writeSync(file, Buffer.of((bytes[at] ?? 0) ^ mask), 0, 1, at);
      if (reasonFor(path) === 'used') undetected.push(`byte ${at}, mask ${mask}`);
    }
    writeSync(file, bytes, at, 1, at);
  }
  closeSync(file);
  t.strictSame(undetected, [], `${bytes.length} bytes`);
  t.equal(reasonFor(path), 'used', 'as it was written it can be used');
});

test('a cut of an image at any place is found', async (t) => {
  const { path, bytes } = written(t, imageOfCount(2));
  const undetected: number[] = [];
  // Cut from the end, because files lose only their end.
  for (let length = bytes.length - 1; length >= 0; length -= SLOW ? 1 : 3) {
    truncateSync(path, length);
    if (reasonFor(path) === 'used') undetected.push(length);
  }
  t.strictSame(undetected, []);

  const larger = written(t, imageOfCount(2000));
  const lengths: number[] = [];
  for (let length = larger.bytes.length - 1; length > 0; length -= 1 + Math.floor(length / 97)) {
    truncateSync(larger.path, length);
    if (reasonFor(larger.path) === 'used') lengths.push(length);
  }
  t.strictSame(lengths, []);
});

/** Every kind of file that is not a Lectern image. */
const FOREIGN: readonly (readonly [string, (bytes: Buffer) => Buffer, RegExp])[] = [
  ['empty', () => Buffer.alloc(0), /it is not a snapshot file/],
  ['text', () => Buffer.from('{"id":"2c3c9bfd-5da4-5a45-8bdb-5c0fe7902417"}\n'), /it is not a snapshot file/],
  ['zeros', (bytes) => Buffer.alloc(bytes.length), /it is not a snapshot file/],
  [
    'a header of 4 GB',
    (bytes) => {
      bytes.writeUInt32LE(0xffffffff, 8);
      return bytes;
    },
    /its header is damaged/,
  ],
  ['another format version', withHeader({ formatVersion: IMAGE_FORMAT + 1 }), /its format version is/],
  ['another byte order', withHeader({ byteOrder: endianness() === 'LE' ? 'BE' : 'LE' }), /its byte order is/],
];

/** Changes the header and corrects its checksum. */
function withHeader(change: object): (bytes: Buffer) => Buffer {
  return (bytes) => {
    const end = 16 + bytes.readUInt32LE(8);
    const header = unpack(bytes.subarray(16, end)) as object;
    const packed = new Packr({ useRecords: false }).pack({ ...header, ...change });
    const prefix = Buffer.from(bytes.subarray(0, 16));
    prefix.writeUInt32LE(packed.length, 8);
    prefix.writeUInt32LE(crc32(packed), 12);
    return Buffer.concat([prefix, packed, bytes.subarray(end)]);
  };
}

for (const [name, make, reason] of FOREIGN) {
  fastTest(`a file that is not a Lectern image is not used: ${name}`, async (t) => {
    const { path, bytes } = written(t, imageOfCount(3));
    writeFileSync(path, make(bytes));
    t.match(reasonFor(path), reason);
    t.match(reasonFor(path), path, 'the message names the file');
  });
}

/** Images with right checksums that this version cannot serve. */
const OTHERS: readonly (readonly [string, (image: SnapshotImage) => object, RegExp])[] = [
  [
    'an id of another version',
    ({ summary }) => ({ summary: { ...summary, id: 'x'.repeat(22) } }),
    /its id does not match its content/,
  ],
  ['a missing array', ({ rows: { packedStart: _, ...rows } }) => ({ rows }), /an array is missing/],
  [
    'an array of another length',
    ({ rows }) => ({ rows: { ...rows, packedStart: rows.packedStart.slice(1) } }),
    /rows.packedStart has 3 entries; expected 4/,
  ],
  ['no names', () => ({ names: {} }), /names\.\w+: an array is missing/],
];

for (const [name, change, reason] of OTHERS) {
  fastTest(`a snapshot file of another form is refused: ${name}`, async (t) => {
    const image = imageOfCount(3);
    const { path } = written(t, { ...image, ...change(image) });
    t.match(reasonFor(path), reason);
  });
}

fastTest(
  'a file that another account owns or can write is refused, with the command that mends it',
  {
    skip: process.platform === 'win32' && 'no such permissions',
  },
  async (t) => {
    const { path } = written(t, imageOfCount(3));
    // Volumes of Kubernetes with fsGroup are writable by their group.
    chmodSync(path, 0o660);
    t.equal(reasonFor(path), 'used');
    chmodSync(path, 0o602);
    t.match(reasonFor(path), `every account can write to it; run: chmod o-w ${path}`);
    chmodSync(path, 0o600);
    if (process.geteuid?.() !== 0) return;
    chownSync(path, 12345, 12345);
    t.match(
      reasonFor(path),
      `it belongs to user 12345, and this process runs as user 0; run: chown 0 ${path}`,
    );
  },
);

fastTest('a file larger than the memory is refused before it is read', async (t) => {
  const { path } = written(t, imageOfCount(3));
  truncateSync(path, 2 * totalmem());
  t.match(reasonFor(path), /this machine has \d+ bytes of memory$/);
});

fastTest('a directory or a missing file is reported', async (t) => {
  const folder = folderFor(t);
  t.match(reasonFor(folder), /it is a directory$/);
  t.throws(() => readImageFile(join(folder, 'none')), {
    code: 'source-unreadable',
    message: /there is no such file/,
  });
});

fastTest('an image that cannot be written leaves the present file and nothing else', async (t) => {
  const { path } = written(t, imageOfCount(3));
  const unwritable = { ...imageOfCount(4), ids: new Int8Array(3) } as unknown as SnapshotImage;
  t.throws(() => writeImageFile(path, stored(unwritable)), /ids is an array of an unknown type/);
  t.equal(readImageFile(path).image.summary.events, 3);
  t.strictSame(readdirSync(join(path, '..')), ['image']);
  t.throws(() => writeImageFile(join(path, 'below a file'), stored(imageOfCount(1))), {
    code: 'image-not-written',
    message: /below a file could not be written: a part of its path is not a directory$/,
  });
  t.equal(readImageFile(path).image.summary.events, 3);
});

fastTest('files of another kind are never replaced, except empty ones', async (t) => {
  const path = join(folderFor(t), 'notes.txt');
  for (const text of ['notes of mine, a whole page of them', 'LECTER']) {
    writeFileSync(path, text);
    t.throws(() => writeImageFile(path, stored(imageOfCount(1))), {
      code: 'image-not-written',
      message: /is not a snapshot file and is not overwritten/,
    });
    t.equal(readFileSync(path, 'utf8'), text);
  }
  writeFileSync(path, '');
  writeImageFile(path, stored(imageOfCount(1)));
  t.equal(readImageFile(path).image.summary.events, 1);
});

fastTest('a symbolic link stays, and the file to which it leads is replaced', async (t) => {
  const folder = folderFor(t);
  mkdirSync(join(folder, 'disk'));
  const [path, target] = [join(folder, 'image'), join(folder, 'disk/image')];
  writeImageFile(target, stored(imageOfCount(1)));
  symlinkSync(target, path);
  writeImageFile(path, stored(imageOfCount(2)));
  t.ok(lstatSync(path).isSymbolicLink());
  // A relative link starts from the real folder of the link.
  mkdirSync(join(folder, 'disk/deep'));
  symlinkSync('disk/deep', join(folder, 'short'));
  symlinkSync('../relative', join(folder, 'short/link'));
  writeImageFile(join(folder, 'short/link'), stored(imageOfCount(4)));
  t.equal(readImageFile(join(folder, 'disk/relative')).image.summary.events, 4);
  for (const name of ['short', 'disk/relative', 'disk/deep']) rmSync(join(folder, name), { recursive: true });
  const dangling = join(folder, 'dangling');
  symlinkSync('disk/later', dangling);
  writeImageFile(dangling, stored(imageOfCount(3)));
  t.equal(readImageFile(join(folder, 'disk/later')).image.summary.events, 3);
  rmSync(dangling);
  rmSync(join(folder, 'disk/later'));
  symlinkSync('no folder/image', dangling);
  t.throws(() => writeImageFile(dangling, stored(imageOfCount(3))), { code: 'image-not-written' });
  rmSync(dangling);
  t.equal(readImageFile(target).image.summary.events, 2);
  t.strictSame(
    [readdirSync(folder).sort(), readdirSync(join(folder, 'disk'))],
    [['disk', 'image'], ['image']],
  );
});

fastTest(
  'a pipe or device at the path is not replaced, and a loop of links gives a clear message',
  {
    skip: process.platform === 'win32' && 'no named pipes',
  },
  async (t) => {
    const folder = folderFor(t);
    const path = join(folder, 'image');
    const problem = (): string => {
      try {
        writeImageFile(path, stored(imageOfCount(1)));
        return 'written';
      } catch (error) {
        if (!(error instanceof LecternError) || error.code !== 'image-not-written') throw error;
        return error.message;
      }
    };
    execFileSync('mkfifo', [path]);
    t.match(problem(), /the path is not a regular file and is not overwritten$/);
    t.ok(statSync(path).isFIFO());
    rmSync(path);
    symlinkSync('/dev/null', path);
    t.match(problem(), /the path is not a regular file and is not overwritten$/);
    rmSync(path);
    symlinkSync('image', path);
    t.match(problem(), /its symbolic links form a loop$/);
    t.throws(() => readImageFile(path), { code: 'source-unreadable', message: /links form a loop$/ });
    rmSync(path);
    t.strictSame(readdirSync(folder), []);
    t.equal(problem(), 'written');
  },
);

fastTest(
  'the next writer removes the files of killed writers, and none that another process may be writing',
  async (t) => {
    const folder = folderFor(t);
    const path = join(folder, 'image');
    const leave = (name: string, ageMs: number): string => {
      appendFileSync(join(folder, name), 'half an image');
      const at = new Date(Date.now() - ageMs);
      utimesSync(join(folder, name), at, at);
      return name;
    };
    const tooOldMs = ABANDONED_MS + 60_000;
    leave('image.0123456789abcdef.tmp', tooOldMs);
    const others = [
      // In a container of its own, its writer may have the number of this process, or of none.
      leave('image.fedcba9876543210.tmp', ABANDONED_MS - 60_000),
      leave('image.bak.tmp', tooOldMs),
      leave('other.0123456789abcdef.tmp', tooOldMs),
      leave('image.1', tooOldMs),
    ];
    writeImageFile(path, stored(imageOfCount(1)));
    t.strictSame(readdirSync(folder).sort(), ['image', ...others].sort());
    mkdirSync(join(folder, 'deep'));
    writeImageFile(join(folder, 'deep', 'image'), stored(imageOfCount(1)));
    t.strictSame(readdirSync(join(folder, 'deep')), ['image']);
  },
);

fastTest(
  'a pipe without a writer is refused at once',
  {
    skip: process.platform === 'win32' && 'no named pipes',
  },
  async (t) => {
    const path = join(folderFor(t), 'pipe');
    execFileSync('mkfifo', [path]);
    t.match(reasonFor(path), /it is not a regular file$/);
  },
);
