import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, closeSync, mkdtempSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { READ_CHUNK_BYTES } from '../../src/base/limits.js';
import { FilePatience, fileSource } from '../../src/source/file.js';
import { testFolder } from '../base/files/test-folder.js';
import { timeForAFault } from '../waiting/until.js';
import { collect, failureOf } from './collect.js';

const LINE = '{"id":1}\n';
const FOLDER = '/tmp';

test('a path that is not a file is refused at once, by its kind', {
  skip: process.platform === 'win32',
}, async (t) => {
  const folder = testFolder(t);
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  // The name of a socket has at most 107 bytes, so it is not in the folder of the test.
  const short = mkdtempSync(join(tmpdir(), 'lectern-'));
  t.teardown(() => rmSync(short, { recursive: true, force: true }));
  const server = createServer().listen(join(short, 'socket'));
  t.teardown(() => server.close());
  const cases: [path: string, reason: string][] = [
    [FOLDER, 'it is a directory; expected a file'],
    [join(folder, 'pipe'), 'it is a named pipe; expected a regular file'],
    [join(short, 'socket'), 'it is a socket; expected a regular file'],
    ['/dev/zero', 'it is a character device; expected a regular file'],
  ];
  for (const [path, reason] of cases) {
    const failure = await failureOf(collect(fileSource(path, { isPipe: false })));
    t.match(failure, { code: 'source-unreadable', message: `cannot read ${path}: ${reason}` });
  }
});

test('a pipe without a writer is given up, and a replaced pipe at once', {
  skip: process.platform === 'win32',
}, async (t) => {
  const folder = testFolder(t, { good: LINE });
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  t.match(await failureOf(collect(fileSource(path, { totalMsMax: 200 }))), {
    code: 'source-unreadable',
    message: `cannot read ${path}: it was not read whole within 0.2 s, after 0 bytes`,
  });
  // Opened for both, it counts as a writer and does not wait for one.
  const writer = openSync(path, 'r+');
  t.teardown(() => closeSync(writer));
  const reading = failureOf(collect(fileSource(path)));
  // No event tells that the pipe is being read.
  await timeForAFault(100);
  renameSync(join(folder, 'good'), path);
  t.match(await reading, {
    code: 'source-unreadable',
    message: `cannot read ${path}: it was replaced by another file while it was read`,
  });
});

test('an expected pipe is read to its end, even a slow one', {
  skip: process.platform === 'win32',
}, async (t) => {
  const path = join(t.testdir(), 'pipe');
  execFileSync('mkfifo', [path]);
  const script = `(printf '%s\\n' '{"id":1}'; sleep 0.4; printf '%s\\n' '{"id":2}') > "$1"`;
  spawn('/bin/sh', ['-c', script, 'sh', path]);
  const read = await collect(fileSource(path, { idleMsMax: 100 }));
  t.equal(read.records.length, 2);
  t.equal(read.summary.version, null);
});

test('a growing file is read up to its length at the start', async (t) => {
  const path = join(t.testdir({ data: LINE.repeat(3 * Math.ceil(READ_CHUNK_BYTES / LINE.length)) }), 'data');
  const more = LINE.repeat(100_000);
  let records = 0;
  const sink = {
    row(): void {
      // The data comes as fast as it is read, so it never ends.
      if (records++ % 50_000 === 0) appendFileSync(path, more);
    },
    fault(): void {},
  };
  const failure = await failureOf(fileSource(path).load(sink));
  t.match(failure, { code: 'source-unreadable', message: /it changed while it was read$/ });
  t.ok(records < 400_000, `${records} records`);
});

test('a file system that does not answer is given up, at each step', async (t) => {
  const path = join(t.testdir({ data: LINE }), 'data');
  const never = new Promise<never>(() => {});
  const idle = { message: `cannot read ${path}: nothing came for 0.1 s, after 0 bytes` };
  t.match(await failureOf(new FilePatience(path, { idleMsMax: 100 }).wait(never)), idle, 'opening');
  async function* hanging(pieces: number): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < pieces; n++) yield Buffer.alloc(10);
    await never;
  }
  const taken: number[] = [];
  const reading = async (): Promise<void> => {
    const patience = new FilePatience(path, { idleMsMax: 100 });
    for await (const piece of patience.pieces(hanging(2))) taken.push(piece.length);
  };
  t.match(await failureOf(reading()), {
    message: `cannot read ${path}: nothing came for 0.1 s, after 20 bytes`,
  });
  t.strictSame(taken, [10, 10]);
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield Buffer.alloc(1);
  }
  const dripping = async (): Promise<void> => {
    for await (const _ of new FilePatience(path, { totalMsMax: 100 }).pieces(endless()));
  };
  t.match(await failureOf(dripping()), { message: /it was not read whole within 0\.1 s, after \d+ bytes/ });
  t.equal(await new FilePatience(path, { idleMsMax: 100 }).wait(Promise.resolve(7)), 7);
});

test('a read of a removed file continues, but a replaced file is given up', async (t) => {
  const folder = t.testdir({ data: LINE });
  const patience = new FilePatience(join(folder, 'none'), { idleMsMax: 300 });
  patience.opened({ dev: 1n, ino: 1n });
  const late = timeForAFault(200).then(() => 'read');
  t.equal(await patience.wait(late), 'read');
  writeFileSync(join(folder, 'none'), 'another');
  const failure = await failureOf(patience.wait(new Promise(() => {})));
  t.match(failure, { message: /it was replaced by another file while it was read$/ });
});
