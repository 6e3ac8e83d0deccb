import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import type { WatchOptions } from '../../src/base/files/path-watch.js';
import { type SourceSpec, watchSource } from '../../src/source/spec.js';
import { testFolder } from '../base/files/test-folder.js';
import { timeForAFault, until } from '../waiting/until.js';

/** Quick enough for a test, with a settling time clearly longer than a check takes. */
const QUICK = { pollMs: 25, settleMs: 60 } as const;

/** Counts the reports of a watch. */
function watching(t: Test, spec: SourceSpec, options: WatchOptions = QUICK) {
  let count = 0;
  const watch = watchSource(
    spec,
    () => {
      count++;
    },
    options,
  );
  t.teardown(() => watch.close());
  return {
    ready: watch.ready,
    close: () => watch.close(),
    get count() {
      return count;
    },
    /** Waits for a number of reports. */
    told: (times: number) =>
      until(
        () => count,
        (seen) => seen >= times,
      ),
  };
}

const file = (path: string): SourceSpec => ({ kind: 'file', path });

/** Replaces a link by a new one, as `ln -sfn` with a rename does. */
function swapLink(target: string, path: string): void {
  symlinkSync(target, `${path}.new`);
  renameSync(`${path}.new`, path);
}

test('every kind of change of a file is reported once', async (t) => {
  const folder = t.testdir({ data: 'a', other: 'b' });
  const path = join(folder, 'data');
  const watch = watching(t, file(path));
  const changes: [what: string, change: () => void][] = [
    ['a write in place', () => writeFileSync(path, 'c')],
    ['more at the end', () => appendFileSync(path, 'd')],
    [
      'an atomic rename',
      () => {
        writeFileSync(`${path}.tmp`, 'e');
        renameSync(`${path}.tmp`, path);
      },
    ],
    ['its end', () => unlinkSync(path)],
    ['its return', () => writeFileSync(path, 'f')],
    ['a link in its place', () => swapLink('other', path)],
    ['a write behind the link', () => writeFileSync(join(folder, 'other'), 'g')],
  ];
  for (const [i, [what, change]] of changes.entries()) {
    change();
    await watch.told(i + 1);
    t.equal(watch.count, i + 1, what);
  }
});

test('swapped links high up in the path are reported', async (t) => {
  // A ConfigMap as mounted by Kubernetes.
  const folder = t.testdir({
    mount: {
      '..2024_09_02': { 'events.ndjson': 'a' },
      '..2024_09_03': { 'events.ndjson': 'b' },
      '..data': t.fixture('symlink', '..2024_09_02'),
      'events.ndjson': t.fixture('symlink', '..data/events.ndjson'),
    },
    releases: { one: { data: { 'events.ndjson': 'c' } }, two: { data: { 'events.ndjson': 'd' } } },
    current: t.fixture('symlink', 'releases/one'),
  });
  const mounted = watching(t, file(join(folder, 'mount', 'events.ndjson')));
  const released = watching(t, file(join(folder, 'current', 'data', 'events.ndjson')));

  swapLink('..2024_09_03', join(folder, 'mount', '..data'));
  rmSync(join(folder, 'mount', '..2024_09_02'), { recursive: true });
  await mounted.told(1);
  mkdirSync(join(folder, 'mount', '..2024_09_04'));
  writeFileSync(join(folder, 'mount', '..2024_09_04', 'events.ndjson'), 'e');
  swapLink('..2024_09_04', join(folder, 'mount', '..data'));
  await mounted.told(2);

  t.equal(released.count, 0);
  swapLink('releases/two', join(folder, 'current'));
  await released.told(1);
  writeFileSync(join(folder, 'releases', 'two', 'data', 'events.ndjson'), 'f');
  await released.told(2);
  t.equal(mounted.count, 2);
  t.equal(released.count, 2);
});

test('a replaced directory is reported, and changes in the new one as well', async (t) => {
  const folder = t.testdir({ in: { data: 'a' }, next: { data: 'b' } });
  const path = join(folder, 'in', 'data');
  const watch = watching(t, file(path));
  renameSync(join(folder, 'in'), join(folder, 'old'));
  renameSync(join(folder, 'next'), join(folder, 'in'));
  await watch.told(1);
  writeFileSync(path, 'c');
  await watch.told(2);
  t.equal(watch.count, 2);
});

test('a file is reported once, when its writing is finished', async (t) => {
  const folder = t.testdir({ data: 'a' });
  const path = join(folder, 'data');
  const watch = watching(t, file(path), { pollMs: 20, settleMs: 300 });
  for (let i = 0; i < 8; i++) {
    appendFileSync(path, 'b');
    await timeForAFault(80);
    t.equal(watch.count, 0, `after ${i + 1} writes`);
  }
  await watch.told(1);
  await timeForAFault(350);
  t.equal(watch.count, 1);
});

test('a file that vanishes and returns unchanged is no change', async (t) => {
  const path = join(t.testdir({ data: 'a' }), 'data');
  const watch = watching(t, file(path), { pollMs: 10, settleMs: 100 });
  renameSync(path, `${path}.away`);
  await timeForAFault(40);
  renameSync(`${path}.away`, path);
  await timeForAFault(150);
  t.equal(watch.count, 0);
});

test('a missing file is reported when it appears, even with its directory', async (t) => {
  const folder = t.testdir({});
  const watch = watching(t, file(join(folder, 'sub', 'data')));
  mkdirSync(join(folder, 'sub'));
  writeFileSync(join(folder, 'sub', 'data'), 'a');
  await watch.told(1);
  t.equal(watch.count, 1);
});

test('links that form a loop are treated as a missing file', async (t) => {
  const folder = t.testdir({ one: t.fixture('symlink', 'two'), two: t.fixture('symlink', 'one'), data: 'a' });
  const watch = watching(t, file(join(folder, 'one')));
  swapLink('data', join(folder, 'one'));
  await watch.told(1);
  t.equal(watch.count, 1);
});

test('all files of a source are watched, including maps of lecturers, and nothing else', async (t) => {
  const folder = t.testdir({ one: 'a', two: 'a', ids: '{}', unrelated: 'a' });
  const watch = watching(t, {
    kind: 'merged',
    specs: [
      file(join(folder, 'one')),
      { kind: 'merged', specs: [file(join(folder, 'two'))] },
      { kind: 'http', url: 'http://localhost:1/' },
      file('-'),
    ],
    lecturerIds: join(folder, 'ids'),
  });
  writeFileSync(join(folder, 'unrelated'), 'b');
  await timeForAFault(150);
  t.equal(watch.count, 0);
  for (const [i, name] of ['one', 'two', 'ids'].entries()) {
    writeFileSync(join(folder, name), '{"b":"c"}');
    await watch.told(i + 1);
  }
  t.equal(watch.count, 3);
});

test('files added, changed or removed in a folder or glob are reported once each', async (t) => {
  const folder = t.testdir({ files: { 'a.ics': 'a' }, deep: {} });
  const path = (name: string): string => join(folder, name);
  const source: SourceSpec = {
    kind: 'merged',
    specs: [
      { kind: 'folder', path: path('files') },
      { kind: 'glob', pattern: `${folder}/deep/**/*.csv` },
    ],
  };
  const watch = watching(t, source);
  await watch.ready;
  const changes: [what: string, change: () => void][] = [
    ['a file is added', () => writeFileSync(path('files/b.ics'), 'b')],
    ['a file is changed', () => writeFileSync(path('files/a.ics'), 'c')],
    ['a file is renamed', () => renameSync(path('files/a.ics'), path('files/c.ics'))],
    ['a file is removed', () => unlinkSync(path('files/b.ics'))],
    ['the folder is gone', () => renameSync(path('files'), path('gone'))],
    ['and back', () => renameSync(path('gone'), path('files'))],
    [
      'a file is added deep down',
      () => {
        mkdirSync(path('deep/er'));
        writeFileSync(path('deep/er/a.csv'), 'a');
      },
    ],
  ];
  for (const [i, [what, change]] of changes.entries()) {
    change();
    await watch.told(i + 1);
    t.equal(watch.count, i + 1, what);
  }
  writeFileSync(path('files/readme.md'), 'a file that is not read');
  mkdirSync(path('files/folder.ics'));
  await timeForAFault(200);
  t.equal(watch.count, changes.length);
  watch.close();
  writeFileSync(path('files/d.ics'), 'd');
  await timeForAFault(200);
  t.equal(watch.count, changes.length, 'closed');
});

test('a closed watch reports nothing, not even a change it found before', async (t) => {
  const path = join(t.testdir({ data: 'a' }), 'data');
  const watch = watching(t, file(path), { pollMs: 10, settleMs: 100 });
  const early = watching(t, file(path));
  early.close();
  writeFileSync(path, 'bc');
  await timeForAFault(50);
  watch.close();
  watch.close();
  await timeForAFault(150);
  t.equal(watch.count + early.count, 0);
});

test('with production settings a change right after the call is reported within about a second', async (t) => {
  const path = join(t.testdir({ data: 'a' }), 'data');
  const watch = watching(t, file(path), {});
  writeFileSync(path, 'bc');
  await watch.told(1);
  t.equal(watch.count, 1);
});

test('a watch does not keep the process alive', async (t) => {
  const module = new URL('../../src/source/spec.ts', import.meta.url).href;
  const folder = testFolder(t, { data: 'a' });
  const script = join(folder, 'watch.mts');
  writeFileSync(
    script,
    `import { watchSource } from ${JSON.stringify(module)};
     watchSource({ kind: 'file', path: ${JSON.stringify(join(folder, 'data'))} }, () => {});
     setTimeout(() => console.log('done'), 100);`,
  );
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const child = spawn(process.execPath, ['--import=tsx', script], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill());
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
  t.equal(chunk.toString(), 'done\n');
  const [code] = (await once(child, 'close')) as [number];
  t.equal(code, 0);
});
