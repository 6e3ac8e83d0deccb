import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { test } from 'tap';
import { READ_CHUNK_BYTES } from '../../src/base/limits.js';
import type { LoadProgress, RowSink } from '../../src/source/source.js';
import { collect, failureOf, sourceOf } from './collect.js';

const LINE = `${JSON.stringify({ title: 'Řízení', filler: 'x'.repeat(180) })}\n`;
const LINES = Math.ceil((4 * READ_CHUNK_BYTES) / Buffer.byteLength(LINE));
const BYTES = LINES * Buffer.byteLength(LINE);

/** Counts records and calls a function at the first. */
function counting(atFirst: () => void): RowSink & { records: number } {
  return {
    records: 0,
    row(): void {
      if (this.records++ === 0) atFirst();
    },
    fault(): void {},
  };
}

test('a file is read in chunks with progress, and its content decides the format', async (t) => {
  const folder = t.testdir({ 'data.json.gz': LINE.repeat(LINES) });
  const path = join(folder, 'data.json.gz');
  const progress: LoadProgress[] = [];
  const source = sourceOf({ kind: 'file', path });
  t.equal(source.name, path);
  const read = await collect(source, { onProgress: (p) => progress.push(p) });
  t.match(read.summary, { format: 'ndjson', gzipped: false, bytesRead: BYTES, version: String });
  t.equal(read.records.length, LINES);
  t.ok(progress.length >= 4, `${progress.length} reports`);
  t.match(progress.pop(), { bytesRead: BYTES, bytesTotal: BYTES, records: LINES }, 'all records, at the end');
  t.ok(progress.every((p, i) => i === 0 || p.bytesRead > (progress[i - 1]?.bytesRead ?? 0)));
  t.equal((await collect(source)).records.length, LINES, 'and it can be loaded again');
});

test('no record changes while the next bytes are read', async (t) => {
  const numbers = Array.from({ length: 2 * LINES }, (_, n) => n);
  const text = numbers.map((n) => `{"n":${n},"filler":"${'x'.repeat(n % 200)}"}\n`).join('');
  t.ok(Buffer.byteLength(text) > 4 * READ_CHUNK_BYTES);
  const array = `[${text.trimEnd().replaceAll('\n', ',')}]`;
  const folder = t.testdir({ lines: text, array, packed: gzipSync(text) });
  for (const name of ['lines', 'array', 'packed']) {
    const { records, rejections } = await collect(sourceOf({ kind: 'file', path: join(folder, name) }));
    t.strictSame(rejections, []);
    t.strictSame(
      records.map(({ value }) => (value as { n: number }).n),
      numbers,
      name,
    );
  }
});

test('the progress of a gzipped file counts its compressed bytes', async (t) => {
  const packed = gzipSync(LINE.repeat(LINES));
  const folder = t.testdir({ data: packed });
  const progress: LoadProgress[] = [];
  const read = await collect(sourceOf({ kind: 'file', path: join(folder, 'data') }), {
    onProgress: (p) => progress.push(p),
  });
  t.match(read.summary, { format: 'ndjson', gzipped: true, bytesRead: packed.length, version: String });
  t.match(progress.at(-1), { bytesRead: packed.length, bytesTotal: packed.length });
});

test('a file that cannot be opened gives one clear line', async (t) => {
  const folder = t.testdir({ file: 'x' });
  const cases: [path: string, reason: string][] = [
    [folder, 'it is a directory; expected a file'],
    [join(folder, 'missing'), 'there is no such file'],
    [join(folder, 'file', 'x'), 'a part of the path is not a directory'],
  ];
  for (const [path, reason] of cases) {
    const failure = await failureOf(collect(sourceOf({ kind: 'file', path })));
    t.match(failure, {
      name: 'LecternError',
      code: 'source-unreadable',
      message: `cannot read ${path}: ${reason}`,
    });
  }
});

test('a file without permission is unreadable', async (t) => {
  const folder = t.testdir({ file: LINE });
  const path = join(folder, 'file');
  chmodSync(path, 0);
  // The superuser can read everything, so the test changes its user for a moment.
  const superuser = process.geteuid?.() === 0;
  if (superuser) {
    chmodSync(folder, 0o755);
    process.seteuid?.(65534);
  }
  const failure = await failureOf(collect(sourceOf({ kind: 'file', path }))).finally(() => {
    if (superuser) process.seteuid?.(0);
  });
  t.match(failure, { code: 'source-unreadable', message: `cannot read ${path}: permission denied` });
});

test('a file removed during reading is read to its end', async (t) => {
  const folder = t.testdir({ data: LINE.repeat(LINES) });
  const path = join(folder, 'data');
  const sink = counting(() => unlinkSync(path));
  await sourceOf({ kind: 'file', path }).load(sink);
  t.equal(sink.records, LINES);
  t.match(
    await failureOf(collect(sourceOf({ kind: 'file', path }))),
    { code: 'source-unreadable' },
    'and gone the next time',
  );
});

test('a file cut during reading is unreadable', async (t) => {
  const folder = t.testdir({ data: LINE.repeat(LINES * 8) });
  const path = join(folder, 'data');
  const sink = counting(() => truncateSync(path, Buffer.byteLength(LINE)));
  const failure = await failureOf(sourceOf({ kind: 'file', path }).load(sink));
  t.equal(failure.code, 'source-unreadable');
  t.match(
    failure.message,
    new RegExp(`it ended after \\d+ of ${8 * BYTES} bytes: it was cut while it was read$`),
  );
});

test('a device that fails during reading is unreadable', {
  skip: process.platform !== 'linux' && 'no /proc',
}, async (t) => {
  const failure = await failureOf(collect(sourceOf({ kind: 'file', path: '/proc/self/mem' })));
  t.match(failure, {
    code: 'source-unreadable',
    message: 'cannot read /proc/self/mem: the device failed (input/output error)',
  });
});

test('an abort ends the load with its reason', async (t) => {
  const folder = t.testdir({ plain: LINE.repeat(LINES), packed: gzipSync(LINE.repeat(LINES)) });
  for (const name of ['plain', 'packed']) {
    const controller = new AbortController();
    const sink = counting(() => controller.abort(new Error('enough')));
    const failure = await failureOf(
      sourceOf({ kind: 'file', path: join(folder, name) }).load(sink, { signal: controller.signal }),
    );
    t.equal(failure.message, 'enough');
    t.ok(sink.records < LINES, `${sink.records} records`);
    const aborted = await failureOf(
      sourceOf({ kind: 'file', path: join(folder, name) }).load(sink, { signal: controller.signal }),
    );
    t.equal(aborted.message, 'enough', 'also before it begins');
  }
});

test('an abort at any moment only rejects the load', async (t) => {
  const folder = t.testdir({ plain: LINE.repeat(LINES) });
  const outcomes = new Set<string>();
  for (let turns = 0; turns < 60; turns++) {
    const controller = new AbortController();
    const loading = sourceOf({ kind: 'file', path: join(folder, 'plain') }).load(
      counting(() => {}),
      { signal: controller.signal },
    );
    const outcome = loading.then(
      () => 'loaded',
      (error: Error) => error.message,
    );
    for (let turn = 0; turn < turns; turn++) await (turn % 2 === 0 ? Promise.resolve() : nextTurn());
    controller.abort(new Error('enough'));
    outcomes.add(await outcome);
  }
  t.ok(outcomes.delete('enough'));
  outcomes.delete('loaded');
  t.same([...outcomes], []);
});

test('errors of the sink come through unchanged', async (t) => {
  const folder = t.testdir({ plain: LINE.repeat(LINES), packed: gzipSync(LINE.repeat(LINES)) });
  for (const name of ['plain', 'packed']) {
    const mistake = new TypeError('a mistake');
    const sink = counting(() => {
      throw mistake;
    });
    t.equal(await failureOf(sourceOf({ kind: 'file', path: join(folder, name) }).load(sink)), mistake);
  }
});

test('standard input is a source that can be read once', async (t) => {
  const module = new URL('../../src/source/spec.ts', import.meta.url).href;
  const folder = t.testdir();
  const script = join(folder, 'read.mts');
  writeFileSync(
    script,
    `const { sourceOfSpec } = await import(${JSON.stringify(module)});
     let records = 0;
     const sink = { row() { records++; }, fault() {} };
     const source = sourceOfSpec({ kind: 'file', path: '-' });
     const summary = await source.load(sink);
     const again = await source.load(sink).catch((error) => error.message);
     console.log(JSON.stringify({ name: source.name, records, summary, again }));`,
  );
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const child = spawn(process.execPath, ['--import=tsx', script], {
    cwd,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const packed = gzipSync(LINE.repeat(1000));
  child.stdin.end(packed);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await once(child, 'close');
  t.same(JSON.parse(output), {
    name: 'standard input',
    records: 1000,
    summary: { format: 'ndjson', gzipped: true, bytesRead: packed.length, version: null },
    again: 'cannot read standard input: it was read already',
  });
});
