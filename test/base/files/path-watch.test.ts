/**
 * Watched files on a file system that hangs: a call to it opens a pipe without a writer, and so keeps a thread of the
 * process. Inside, because the watches of all files share this code, with other pauses in tests.
 */
import { execFileSync } from 'node:child_process';
import fs, { closeSync, constants, mkdirSync, openSync, promises, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { statInTime } from '../../../src/base/files/file-calls.js';
import { KeptFiles, keptText } from '../../../src/base/files/kept-files.js';
import { PathWatch, watchPath } from '../../../src/base/files/path-watch.js';
import { readTextFile } from '../../../src/base/files/text-file.js';
import { sourceOfSpec, watchSource } from '../../../src/source/spec.js';
import { timeForAFault, until } from '../../waiting/until.js';
import { testFolder } from './test-folder.js';

const QUICK = { pollMs: 10, settleMs: 5, lookMsMax: 100 } as const;

/** A folder that is a file system of its own, and its calls. */
function shareThatHangs(t: Test) {
  const folder = testFolder(t);
  const path = join(folder, 'share');
  mkdirSync(path);
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const [{ stat }, { statSync }] = [promises, fs];
  const state = { isDown: false, calls: 0, callsMax: 0 };
  const links = new Set<string>();
  const isOn = (at: unknown): boolean => String(at).startsWith(path) || links.has(String(at));
  promises.stat = (async (...args: Parameters<typeof stat>) => {
    if (isOn(args[0]) && state.isDown) {
      state.callsMax = Math.max(state.callsMax, ++state.calls);
      const file = await promises.open(pipe, 'r');
      await file.close();
      state.calls--;
    }
    const status = await stat(...args);
    return isOn(args[0]) ? Object.assign(status, { dev: 1n }) : status;
  }) as typeof stat;
  const statNow = (...args: Parameters<typeof statSync>) => {
    const status = statSync(...args);
    return isOn(args[0]) && status ? Object.assign(status, { dev: 1n }) : status;
  };
  Object.assign(fs, { statSync: statNow });
  syncBuiltinESMExports();
  const up = async (): Promise<void> => {
    state.isDown = false;
    while (state.calls > 0) {
      // Opening fails as long as no reader waits.
      try {
        closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK));
      } catch {}
      await new Promise(setImmediate);
    }
  };
  t.teardown(async () => {
    await up();
    Object.assign(promises, { stat });
    Object.assign(fs, { statSync });
    syncBuiltinESMExports();
  });
  return { folder, path, links, state, up };
}

test('watched files on a file system that hangs take one thread, are told once, and are watched again when it answers', {
  skip: process.platform === 'win32',
}, async (t) => {
  const share = shareThatHangs(t);
  const told = new Map<string, number>();
  const watch = (path: string): void => {
    const watched = watchPath(path, () => told.set(path, (told.get(path) ?? 0) + 1), QUICK);
    t.teardown(() => watched.close());
  };
  const paths = Array.from({ length: 6 }, (_, n) => join(share.path, `file-${n}`));
  for (const path of paths) {
    writeFileSync(path, 'first');
    // Reading finds out which file system the path is of.
    await readTextFile(path, { name: path, bytesMax: 10, code: 'key-invalid' });
    watch(path);
  }
  const other = join(share.folder, 'other');
  writeFileSync(other, 'first');
  watch(other);
  share.state.isDown = true;
  await until(() => share.state.calls > 0);
  writeFileSync(other, 'second');
  await until(() => told.get(other) === 1);
  await until(() => told.size === 7);
  await t.rejects(readTextFile(paths[0] as string, { name: 'it', bytesMax: 10, code: 'key-invalid' }), {
    message: 'it cannot be read: its file system does not answer',
  });
  t.equal(share.state.callsMax, 1);
  t.strictSame([...told.values()], Array(7).fill(1), 'each is told once');
  writeFileSync(paths[3] as string, 'a change meanwhile');
  await share.up();
  await until(() => paths.every((path) => told.get(path) === 2));
  writeFileSync(paths[5] as string, 'a later change');
  await until(() => told.get(paths[5] as string) === 3);
});

test('a slow answer of a file system does not make the pause until the next check longer', async (t) => {
  const [endsMs, tookMs]: [number[], number[]] = [[], []];
  const look = async (): Promise<string> => {
    const beganMs = performance.now();
    await timeForAFault(100);
    endsMs.push(performance.now());
    tookMs.push(performance.now() - beganMs);
    return 'state';
  };
  const watch = new PathWatch(look, null, () => {}, QUICK);
  t.teardown(() => watch.close());
  await until(() => endsMs.length === 3);
  const [first = 0, , last = 0] = endsMs;
  t.ok(last - first < 10 * ((tookMs[1] ?? 0) + (tookMs[2] ?? 0)), endsMs.join());
});

test('of many parts of a source on a file system that hangs, one waits in the system', {
  skip: process.platform === 'win32',
}, async (t) => {
  const share = shareThatHangs(t);
  const specs = Array.from({ length: 6 }, (_, n) => {
    const path = join(share.path, `part-${n}.csv`);
    writeFileSync(path, '');
    return { kind: 'file', path, isPipe: false, idleMsMax: 100, totalMsMax: 200 } as const;
  });
  share.state.isDown = true;
  const source = sourceOfSpec({ kind: 'merged', specs });
  await t.rejects(source.load(null as never), { code: 'source-unreadable' });
  t.equal(share.state.callsMax, 1);
});

test('a look at many files and links keeps no other call to the file system of their folder waiting', {
  skip: process.platform === 'win32',
}, async (t) => {
  const share = shareThatHangs(t);
  const [found, other] = [join(share.folder, 'found'), join(share.folder, 'other')];
  mkdirSync(found);
  const target = join(share.path, 'part.csv');
  for (const path of [target, other]) writeFileSync(path, '');
  await statInTime(other);
  const link = join(found, 'link.csv');
  symlinkSync(target, link);
  share.links.add(link);
  share.state.isDown = true;
  const watch = watchSource({ kind: 'folder', path: found }, () => {}, QUICK);
  t.teardown(() => watch.close());
  await until(() => share.state.calls > 0);
  writeFileSync(other, 'content');
  t.equal((await statInTime(other)).size, 7n);
});

test('a file of the configuration whose file system hangs is told once, and again when it can be read', {
  skip: process.platform === 'win32',
}, async (t) => {
  const share = shareThatHangs(t);
  const path = join(share.path, 'revocations');
  writeFileSync(path, 'first');
  const taken: string[] = [];
  const given = { path, name: 'the file', bytesMax: 10, code: 'key-invalid' } as const;
  const file = keptText('feed-revocations', given, (text) => () => taken.push(text));
  const files = new KeptFiles();
  const told: (string | undefined)[] = [];
  const group = files.keep([file], ({ error }) => told.push(error?.message));
  t.teardown(() => group.close());
  await group.open();
  // Another file of the same file system, so that the test need not wait for a check of the usual length.
  const other = watchPath(path, () => {}, QUICK);
  t.teardown(() => other.close());
  share.state.isDown = true;
  await until(() => told.length > 0);
  writeFileSync(path, 'second');
  await share.up();
  await until(() => taken.length === 2);
  t.strictSame(told, ['the file cannot be read: its file system does not answer', undefined]);
  t.strictSame(taken, ['first', 'second']);
  t.equal(share.state.callsMax, 1);
});
