import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'tap';
import { FILE_AGE_MS_MIN, FILE_CUT_REST_MS, READ_CHUNK_BYTES } from '../../src/base/limits.js';
import type { RowSink } from '../../src/source/source.js';
import { collect, failureOf, isUnchanged, sourceOf } from './collect.js';

const LINE = `${JSON.stringify({ filler: 'x'.repeat(200) })}\n`;
/** More than the stream reads ahead. */
const MANY = LINE.repeat(Math.ceil((8 * READ_CHUNK_BYTES) / LINE.length));

/** Calls a function at the first record. */
function atFirst(action: () => void): RowSink {
  let done = false;
  return {
    row(): void {
      if (!done) action();
      done = true;
    },
    fault(): void {},
  };
}

test('an unchanged file is not read again', async (t) => {
  const path = join(t.testdir({ data: LINE }), 'data');
  const source = sourceOf({ kind: 'file', path });
  const { version } = (await collect(source)).summary;
  t.type(version, 'string');
  t.ok(await isUnchanged(source, version));
  t.ok(await isUnchanged(sourceOf({ kind: 'file', path }), version), 'also for another source object');
  t.notOk(await isUnchanged(source, null), 'but only if it is asked');
  t.notOk(await isUnchanged(source, 'of another kind of source'));
});

test('every way to change a file changes its version', async (t) => {
  const folder = t.testdir({ data: LINE, other: LINE, link: t.fixture('symlink', 'data') });
  const path = join(folder, 'link');
  const source = sourceOf({ kind: 'file', path });
  const changes: [how: string, change: () => void][] = [
    ['a write in place, of the same size', () => writeFileSync(join(folder, 'data'), LINE.replace('x', 'y'))],
    ['more at the end', () => appendFileSync(join(folder, 'data'), LINE)],
    ['less', () => truncateSync(join(folder, 'data'), LINE.length)],
    ['another time only', () => utimesSync(join(folder, 'data'), 1, 1)],
    [
      'an atomic rename that keeps size and time',
      () => {
        const { atime, mtime } = statSync(join(folder, 'data'));
        writeFileSync(join(folder, 'new'), LINE);
        utimesSync(join(folder, 'new'), atime, mtime);
        renameSync(join(folder, 'new'), join(folder, 'data'));
      },
    ],
    [
      'another target of the link',
      () => {
        symlinkSync('other', join(folder, 'new'));
        renameSync(join(folder, 'new'), path);
      },
    ],
  ];
  const seen = new Set<string | null>();
  let { version } = (await collect(source)).summary;
  seen.add(version);
  for (const [how, change] of changes) {
    change();
    t.notOk(await isUnchanged(source, version), how);
    version = (await collect(source)).summary.version;
    t.notOk(seen.has(version), how);
    seen.add(version);
  }
});

test('a file is read once it is old enough to show a further write', async (t) => {
  // File systems count time in ticks of several milliseconds, so two writes within one tick look the same.
  const path = join(t.testdir(), 'data');
  const source = sourceOf({ kind: 'file', path });
  for (let i = 0; i < 10; i++) {
    writeFileSync(path, '{"id":1}\n');
    let ageMs = 0;
    const sink = atFirst(() => {
      ageMs = Date.now() - statSync(path).mtimeMs;
      writeFileSync(path, '{"id":2}\n');
    });
    const failure = await failureOf(source.load(sink));
    t.match(failure.message, 'it changed while it was read');
    t.ok(ageMs >= FILE_AGE_MS_MIN - 1, `${ageMs} ms`);
  }
  const aborted = AbortSignal.abort(new Error('enough'));
  t.equal(
    (
      await failureOf(
        source.load(
          atFirst(() => {}),
          { signal: aborted },
        ),
      )
    ).message,
    'enough',
  );
});

test('a file that changes during reading is refused', async (t) => {
  const cases: [how: string, contents: string, change: (path: string) => void][] = [
    ['more at the end', MANY, (path) => appendFileSync(path, LINE)],
    ['written again', MANY, (path) => writeFileSync(path, MANY.replaceAll('x', 'y'))],
    [
      'written again, so that it ends in the middle',
      `[${MANY.replaceAll('\n', ',')}{}]`,
      (path) => writeFileSync(path, '['),
    ],
    ['only begun', LINE, (path) => appendFileSync(path, MANY)],
  ];
  for (const [how, contents, change] of cases) {
    const path = join(t.testdir({ data: contents }), 'data');
    const failure = await failureOf(sourceOf({ kind: 'file', path }).load(atFirst(() => change(path))));
    t.match(failure, { code: 'source-unreadable' }, how);
    t.match(failure.message, /it (changed|was cut) while it was read$|it ended after \d+ of \d+ bytes/, how);
  }
});

test('a malformed file is not read again before it changes', async (t) => {
  const path = join(t.testdir({ data: '[{},' }), 'data');
  t.match(await failureOf(collect(sourceOf({ kind: 'file', path }))), { code: 'source-malformed' });
});

test('if a file is replaced during reading, the old file is read to its end; the new one has another version', async (t) => {
  const folder = t.testdir({ data: MANY, new: LINE });
  const path = join(folder, 'data');
  const source = sourceOf({ kind: 'file', path });
  const result = await source.load(atFirst(() => renameSync(join(folder, 'new'), path)));
  if (result === 'not-modified') throw new Error('nothing was read');
  t.equal(result.bytesRead, MANY.length);
  t.notOk(await isUnchanged(source, result.version));
  t.equal((await collect(source)).records.length, 1);
});

test('a file that is removed and written again has another version', async (t) => {
  const path = join(t.testdir({ data: LINE }), 'data');
  const source = sourceOf({ kind: 'file', path });
  const { version } = (await collect(source)).summary;
  unlinkSync(path);
  t.match(
    await failureOf(
      source.load(
        atFirst(() => {}),
        { previous: version },
      ),
    ),
    { code: 'source-unreadable', message: `cannot read ${path}: there is no such file` },
    'gone is not unchanged',
  );
  writeFileSync(path, LINE + LINE);
  t.notOk(await isUnchanged(source, version));
});

test('a pipe has no version', { skip: process.platform === 'win32' && 'no named pipes' }, async (t) => {
  const path = join(t.testdir({}), 'pipe');
  execFileSync('mkfifo', [path]);
  const [{ records, summary }] = await Promise.all([
    collect(sourceOf({ kind: 'file', path })),
    writeFile(path, LINE),
  ]);
  t.equal(records.length, 1);
  t.equal(summary.version, null);
});

const FULL = LINE.repeat(3);
const CUT = FULL.slice(0, -40);

test('a fresh file that ends inside a record is not read yet', async (t) => {
  const path = join(t.testdir({ data: CUT }), 'data');
  const loading = failureOf(collect(sourceOf({ kind: 'file', path })));
  // The last bytes are written while the reader waits for a pause.
  setTimeout(() => appendFileSync(path, FULL.slice(CUT.length)), 300);
  t.match(await loading, { code: 'source-unreadable', message: /it changed while it was read$/ });
  const whole = await collect(sourceOf({ kind: 'file', path }));
  t.strictSame([whole.records.length, whole.rejections.length], [3, 0]);
});

test('after a while without changes, the cut record of a file is rejected', async (t) => {
  const path = join(t.testdir({ data: CUT }), 'data');
  const beganMs = Date.now();
  const young = await collect(sourceOf({ kind: 'file', path }));
  t.strictSame([young.records.length, young.rejections.length], [2, 1]);
  t.ok(Date.now() - statSync(path).mtimeMs >= FILE_CUT_REST_MS);
  t.ok(Date.now() - beganMs < FILE_CUT_REST_MS + 3000);
  for (const seconds of [1e9, Date.now() / 1000 + 3600]) {
    utimesSync(path, seconds, seconds);
    const againMs = Date.now();
    t.equal((await collect(sourceOf({ kind: 'file', path }))).rejections.length, 1);
    t.ok(Date.now() - againMs < FILE_CUT_REST_MS, 'an old file is not waited for, nor one of the future');
  }
  const controller = new AbortController();
  writeFileSync(path, CUT);
  const aborted = failureOf(collect(sourceOf({ kind: 'file', path }), { signal: controller.signal }));
  // The reader is waiting for a pause in the writes.
  setTimeout(() => controller.abort(new Error('enough')), 100);
  t.match(await aborted, { message: 'enough' });
});
