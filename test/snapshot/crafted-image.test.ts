/** Snapshot files with right checksums and wrong content: each is refused with a reason, or read without a fault. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'tap';
import { LecternError } from '../../src/errors.js';
import { DIRECTORIES } from '../../src/model/fields.js';
import { LIST_FORMATS } from '../../src/model/format.js';
import { checkRowsOf, readCheckedImage } from '../../src/snapshot/check-image.js';
import { writeImageFile } from '../../src/snapshot/image-file.js';
import { Snapshot } from '../../src/snapshot/snapshot.js';
import type { Answer } from '../../src/view/answer.js';
import { SnapshotView, type View } from '../../src/view/view.js';
import { recordFigure } from '../hard/figures.mjs';
import { HARD, size } from '../hard/size.js';
import { bytesOf, listOf, readOf, STRICT, unpackedListOf } from '../query/reading.js';
import { arrayAt, type Change, changes, crafted, takeApart } from './crafted.js';
import { eventOf, idOf, imageOf } from './images.js';

/** So many events that some codes take two bytes. */
const EVENTS = 300;
const RUNS = size(120, 5000, 500);
/** The largest cost of a crafted file, relative to the good file. */
const DEARER_MAX = 20;

const folder = mkdtempSync(join(tmpdir(), 'lectern-crafted-'));
const path = join(folder, 'image');
const titles = ['Lesson', 'Übung', 'a "quoted" one', 'x'.repeat(300)];
const events = Array.from({ length: EVENTS }, (_, n) =>
  eventOf(n, {
    title: titles[n % titles.length] ?? '',
    courseId: `Course ${n}`,
    lecturer: n % 3 === 0 ? null : `Lecturer ${n % 5}`,
    roomId: n % 7 === 0 ? null : `2c3c9bfd-5da4-5a45-8bdb-00000000000${n % 2}`,
    courseName: n % 9 === 0 ? null : `Course "${n % 40}"`,
  }),
);
writeImageFile(path, imageOf(events, 2), 'version 1', { name: 'events.ndjson', digest: 'abc' });
const ORIGINAL = readFileSync(path);

const QUERIES: readonly (readonly [string, string])[][] = [
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
];
const CONFLICT_QUERIES: readonly (readonly [string, string])[][] = [
  [],
  [['merge', 'false']],
  [['by', 'room']],
  [['limit', '3']],
];

const DIRECTORY_QUERIES: readonly (readonly [string, string])[][] = [
  [],
  [['q', 'course']],
  [
    ['type', 'Lab'],
    ['limit', '9'],
  ],
];

/** Every possible answer: a function that makes it, and its format. */
function* answersOf(view: View): Generator<readonly [() => Answer, string]> {
  for (const { name } of LIST_FORMATS) {
    yield [() => readOf(view.all([], STRICT)).execute(name), name];
    for (const query of QUERIES) yield [() => readOf(view.schedule(query, STRICT)).execute(name), name];
    for (const query of CONFLICT_QUERIES) {
      yield [() => readOf(view.conflicts(query, STRICT)).execute(name), name];
    }
    yield [() => readOf(view.types([], STRICT)).execute(name), name];
    for (const directory of DIRECTORIES) {
      for (const query of DIRECTORY_QUERIES) {
        yield [() => readOf(view.directory(directory.name, query, STRICT)).execute(name), name];
      }
    }
  }
}

const IDS = [idOf(999), ...Array.from({ length: EVENTS }, (_, n) => idOf(n))];

/** Checks that every answer has the announced form. */
function readStrictly(view: View): void {
  for (const id of IDS) JSON.parse(Buffer.from(view.eventOf(id) ?? 'null').toString('utf8'));
  for (const [makeAnswer, format] of answersOf(view)) {
    (format === 'json' ? listOf : unpackedListOf)(makeAnswer());
  }
  JSON.stringify(view.summary);
}

/** Every answer has the announced bytes, or fails. */
function readLightly(view: View): void {
  const attempt = (read: () => unknown): void => {
    try {
      read();
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
    }
  };
  for (const id of IDS) attempt(() => view.eventOf(id));
  for (const [makeAnswer] of answersOf(view)) attempt(() => bytesOf(makeAnswer()));
}

const opened = async (use: 'restart' | 'pin'): Promise<View> =>
  new SnapshotView(new Snapshot((await readCheckedImage(path, use)).image));

/** The reason if `read` is refused; otherwise null. */
async function refusalOf(read: () => unknown): Promise<string | null> {
  try {
    await read();
    return null;
  } catch (error) {
    if (!(error instanceof LecternError) || error.code !== 'image-unusable') throw error;
    assert.ok(error.message.length < 500 && !/\p{Cc}/u.test(error.message), error.message);
    return error.message;
  }
}

async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

test('a file with right checksums and wrong content is refused or read without a fault', async (t) => {
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const good: number[] = [];
  for (let n = 0; n < 20; n++) good.push(await cpuMsOf(async () => readStrictly(await opened('pin'))));
  // The first ones cost more, because their code is being compiled.
  const floorMs = Math.max(...good.slice(10));
  const seen = { refused: 0, used: 0, refusedAtRestart: 0 };
  const reasons = new Set<string>();
  let dearestMs = 0;
  await fc.assert(
    fc.asyncProperty(changes, async (all) => {
      const bytes = crafted(ORIGINAL, all);
      if (bytes.equals(ORIGINAL)) return;
      writeFileSync(path, bytes);
      const reason = await refusalOf(async () => readStrictly(await opened('pin')));
      if (reason === null) seen.used++;
      else {
        seen.refused++;
        reasons.add(reason.replace(/\d+/g, 'n'));
      }
      // Before rows are checked, an answer may fail. It still ends, with the announced length.
      dearestMs = Math.max(
        dearestMs,
        await cpuMsOf(async () => {
          const fault = await refusalOf(async () => readLightly(await opened('restart')));
          if (fault !== null) seen.refusedAtRestart++;
        }),
      );
      assert.equal(Object.keys(Object.prototype).length, 0, 'nothing else was written to');
    }),
    { numRuns: RUNS, seed: 29 },
  );
  t.comment(`${JSON.stringify(seen)}, ${reasons.size} reasons`);
  t.ok(seen.refused > RUNS / 2, JSON.stringify(seen));
  t.ok(seen.refusedAtRestart > seen.refused / 2 && seen.refusedAtRestart < seen.refused, 'most at once');
  t.ok(reasons.size > 40, `${reasons.size} reasons`);
  t.ok(dearestMs < DEARER_MAX * floorMs, `${dearestMs} ms against ${floorMs} for the good file`);
  if (HARD) {
    const { refused, used } = seen;
    recordFigure(
      'crafted-images',
      `${refused} of ${refused + used} refused with a reason, ${used} served without a fault, 0 crashes; the slowest took ${(dearestMs / floorMs).toFixed(1)} times as long as the good one`,
    );
  }
});

/** Changes by an attacker who knows the code. */
const ATTACKS: readonly (readonly [string, Change, RegExp, 'at once' | 'with its rows'])[] = [
  [
    'no quote in any row: the search for the end of an id must end',
    (parts) => {
      const rows = arrayAt(parts, 'rows.bytes');
      rows.fill(0x20, 1, rows.length - 1);
    },
    /row 0 is not a row/,
    'with its rows',
  ],
  [
    'rows that are not JSON',
    (parts) => arrayAt(parts, 'rows.bytes').write('{{', 1),
    /row 0 is not a row/,
    'with its rows',
  ],
  [
    'rows that are not UTF-8',
    (parts) => arrayAt(parts, 'rows.bytes').writeUInt8(0xff, 60),
    /rows are not UTF-8/,
    'with its rows',
  ],
  [
    'rows that are shorter in MessagePack than the image says',
    (parts) => {
      const start = arrayAt(parts, 'rows.packedStart');
      for (let n = 1; n <= EVENTS; n++) start.writeUInt32LE(start.readUInt32LE(4 * n) + n, 4 * n);
    },
    /row 0 has another length in MessagePack/,
    'with its rows',
  ],
  [
    'conflict entries that are longer than the image says',
    (parts) => {
      const bytes = arrayAt(parts, 'clusters.merged.jsonBytes');
      for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(bytes.readUInt32LE(at) - 1, at);
    },
    /jsonBytes does not match its data/,
    'with its rows',
  ],
  [
    'one id on all rows: building the table of ids takes quadratic time',
    (parts) => {
      const rows = arrayAt(parts, 'rows.bytes');
      const start = arrayAt(parts, 'rows.start');
      const id = Buffer.from(idOf(0));
      for (let n = 0; n < EVENTS; n++) id.copy(rows, start.readUInt32LE(4 * n) + 7);
    },
    /ids(?:\.hashes)? does not match its data/,
    'with its rows',
  ],
  [
    'buckets that end before they begin: building their tree would never end',
    (parts) => {
      const last = arrayAt(parts, 'slots.index.bucketLast');
      for (let at = 0; at < last.length; at += 8) last.writeDoubleLE(-1, at);
    },
    /slots\.index\.bucketLast does not match/,
    'at once',
  ],
  [
    'a list of ordinals that are all the same',
    (parts) => arrayAt(parts, 'fields.roomId.postings.ordinals').fill(0),
    /roomId: postings\.ordinals does not match/,
    'at once',
  ],
  [
    'a reason that is long, and many lines',
    ({ header }) => {
      header.byteOrder = 'one\r\ntwo\u001b[2J'.repeat(1000);
    },
    /its byte order is one\?\?two\?\[2J/,
    'at once',
  ],
  [
    'days of recurring events that are no days',
    ({ header }) => {
      header.summary.expanded = { from: '2026-01-01', to: '2026\r\n', outside: null };
    },
    /its summary has no days of recurring events/,
    'at once',
  ],
  [
    'a summary with lines of its own for the terminal',
    ({ header }) => {
      for (const rejection of header.summary.rejections as { detail: string }[]) {
        rejection.detail = 'fine\r\nall is well\u001b[2J';
      }
    },
    /its summary has no rejections/,
    'at once',
  ],
];

for (const [name, change, reason, when] of ATTACKS) {
  test(`wrong content is refused: ${name}`, async (t) => {
    const file = join(t.testdir(), 'image');
    writeFileSync(file, crafted(ORIGINAL, [change]));
    t.match(await refusalOf(() => readCheckedImage(file, 'pin')), reason, 'where it is pinned');
    if (when === 'at once')
      t.match(await refusalOf(() => readCheckedImage(file, 'restart')), reason, 'at a restart');
    else {
      const { image } = await readCheckedImage(file, 'restart');
      readLightly(new SnapshotView(new Snapshot(image)));
      t.match(await refusalOf(() => checkRowsOf(file, image)), reason, 'once its rows are gone through');
    }
  });
}

test('a table of ids with slow look-ups is refused', async (t) => {
  const file = join(t.testdir(), 'image');
  const many = imageOf(Array.from({ length: 2000 }, (_, n) => eventOf(n)));
  // Every event is in the slot where it is found last.
  many.ids.table.fill(0);
  for (let n = 0; n < 2000; n++) many.ids.table[n] = n + 1;
  writeImageFile(file, many, null);
  t.match(await refusalOf(() => readCheckedImage(file, 'restart')), /ids has look-ups that are too long/);
});

test('a sparse file larger than the memory is refused before allocation', async (t) => {
  const file = join(t.testdir(), 'image');
  const bytes = takeApart(ORIGINAL);
  const entry = bytes.header.arrays.find(({ path }) => (path as string[]).join('.') === 'rows.bytes');
  if (entry !== undefined) entry.byteLength = 2 * totalmem();
  writeFileSync(file, crafted(ORIGINAL, [({ header }) => Object.assign(header, bytes.header)]));
  const fd = openSync(file, 'r+');
  ftruncateSync(fd, 2 * totalmem());
  closeSync(fd);
  const before = process.memoryUsage().rss;
  t.match(await refusalOf(() => readCheckedImage(file, 'restart')), /this machine has \d+ bytes of memory/);
  t.ok(process.memoryUsage().rss - before < 2 ** 28);
});

test('a file that other accounts can write is refused', {
  skip: process.platform === 'win32' && 'no such permissions',
}, async (t) => {
  const file = join(t.testdir(), 'image');
  writeFileSync(file, ORIGINAL, { mode: 0o600 });
  t.equal(await refusalOf(() => readCheckedImage(file, 'restart')), null);
  // Volumes of Kubernetes with fsGroup are writable by their group.
  chmodSync(file, 0o660);
  t.equal(await refusalOf(() => readCheckedImage(file, 'restart')), null);
  chmodSync(file, 0o602);
  t.match(
    await refusalOf(() => readCheckedImage(file, 'restart')),
    /it is world-writable; expected mode 0600/,
  );
  t.equal(
    await refusalOf(() => readCheckedImage(file, 'pin')),
    null,
    'a pinned file is chosen by the operator',
  );
  chmodSync(file, 0o600);
  if (process.geteuid?.() !== 0) return;
  chownSync(file, 12345, 12345);
  t.match(
    await refusalOf(() => readCheckedImage(file, 'restart')),
    /it belongs to user 12345; expected user 0/,
  );
});
