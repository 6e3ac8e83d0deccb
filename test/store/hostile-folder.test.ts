/** Folders that another program has written to, and file systems that hang. */
import { spawnSync } from 'node:child_process';
import type { EventEmitter } from 'node:events';
import {
  existsSync,
  mkdirSync,
  promises,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { statInTime } from '../../src/base/files/file-calls.js';
import { STORE_RECORD_BYTES_MAX, STORE_REVISIONS_LISTED_MAX } from '../../src/base/limits.js';
import { FolderStore } from '../../src/store/folder-store.js';
import type { Store } from '../../src/store/store.js';
import { testFolder } from '../base/files/test-folder.js';
import { until } from '../waiting/until.js';

const REVISION = '000000000000099';

function makeFifo(path: string): void {
  const { status, stderr } = spawnSync('mkfifo', [path]);
  if (status !== 0) throw new Error(String(stderr));
}

function makeSparse(path: string, bytes: number): void {
  writeFileSync(path, '');
  truncateSync(path, bytes);
}

/** Each of these puts something else in the place of a record, at `records/<key>`. */
const HOSTILE: Readonly<Record<string, (record: string, elsewhere: string) => void>> = {
  'a named pipe': (record) => {
    mkdirSync(record);
    makeFifo(join(record, REVISION));
  },
  'a link to /dev/zero': (record) => {
    mkdirSync(record);
    symlinkSync('/dev/zero', join(record, REVISION));
  },
  'a link to a named pipe': (record, elsewhere) => {
    mkdirSync(record);
    makeFifo(join(elsewhere, 'pipe'));
    symlinkSync(join(elsewhere, 'pipe'), join(record, REVISION));
  },
  'a link to a good record': (record, elsewhere) => {
    mkdirSync(record);
    writeFileSync(join(elsewhere, 'good'), 'good');
    symlinkSync(join(elsewhere, 'good'), join(record, REVISION));
  },
  'a sparse file of 300 MB': (record) => {
    mkdirSync(record);
    makeSparse(join(record, REVISION), 300e6);
  },
  'a file one byte too long': (record) => {
    mkdirSync(record);
    writeFileSync(join(record, REVISION), '1'.repeat(STORE_RECORD_BYTES_MAX + 1));
  },
  'a folder': (record) => mkdirSync(join(record, REVISION), { recursive: true }),
  'too many revisions': (record) => {
    mkdirSync(record);
    for (let n = 0; n <= STORE_REVISIONS_LISTED_MAX; n++)
      writeFileSync(join(record, String(1e6 + n).padStart(15, '0')), '');
  },
  'the last revision of all': (record) => {
    mkdirSync(record);
    writeFileSync(join(record, '9'.repeat(15)), 'forged');
  },
  'a named pipe as the folder': (record) => makeFifo(record),
  'a link as the folder': (record, elsewhere) => {
    mkdirSync(join(elsewhere, 'other'));
    writeFileSync(join(elsewhere, 'other', REVISION), 'good');
    symlinkSync(join(elsewhere, 'other'), record);
  },
};

interface Trial {
  readonly store: Store;
  readonly share: string;
  readonly elsewhere: string;
}

async function openTrial(t: Test): Promise<Trial> {
  const folder = testFolder(t, { elsewhere: {} });
  const share = join(folder, 'share');
  const store = new FolderStore(share, 'make');
  await store.swap('other', 'other', null);
  return { store, share, elsewhere: join(folder, 'elsewhere') };
}

/** The files of another folder, with their lengths. */
function filesIn(folder: string): readonly (readonly [string, number])[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).map((each) => {
    const path = join(each.parentPath, each.name);
    return [path, each.isFile() ? statSync(path).size : 0];
  });
}

for (const [kind, make] of Object.entries(HOSTILE)) {
  test(`${kind} counts as no record, and the next write replaces it`, async (t) => {
    const { store, share, elsewhere } = await openTrial(t);
    make(join(share, 'records', 'head'), elsewhere);
    const again = join(elsewhere, 'again');
    mkdirSync(again);
    make(join(share, 'records', 'pin'), again);
    const before = filesIn(elsewhere);
    const peakKb = process.resourceUsage().maxRSS;
    const read = await store.read('head');
    t.not(read?.text, 'good', 'nothing is read through a link');
    t.ok((read?.text.length ?? 0) < 100);
    t.match(await store.read('other'), { text: 'other' }, 'other records are read');
    t.strictSame([...(await store.keys())].sort(), ['head', 'other', 'pin']);
    // The first write may fail, because it has to remove the other file.
    const text = 'signed';
    const isWritten = async (): Promise<boolean> =>
      (await store.swap('head', text, (await store.read('head'))?.revision ?? null)) !== null;
    t.ok((await isWritten()) || (await isWritten()));
    t.match(await store.read('head'), { text });
    await store.remove('head');
    await store.remove('pin');
    t.strictSame(await store.keys(), ['other'], 'it can be removed, too');
    t.strictSame(filesIn(elsewhere), before, 'files elsewhere are left alone');
    t.ok(process.resourceUsage().maxRSS - peakKb < 100_000, 'it was not read into memory');
  });
}

test('another file in place of an image counts as missing, and is replaced', async (t) => {
  const { store, share, elsewhere } = await openTrial(t);
  const content = async function* () {
    yield Buffer.from('image');
  };
  writeFileSync(join(elsewhere, 'good'), 'good');
  await store.put('a', content());
  for (const make of [
    makeFifo,
    (path: string) => symlinkSync('/dev/zero', path),
    (path: string) => symlinkSync(join(elsewhere, 'good'), path),
  ]) {
    rmSync(join(share, 'images', 'a'));
    make(join(share, 'images', 'a'));
    t.equal(await store.get('a'), null);
    t.equal(await store.bytesOf('a'), null);
    t.strictSame(await store.list(), []);
    await store.put('a', content());
    t.equal(await store.bytesOf('a'), 5);
  }
  t.equal(statSync(join(elsewhere, 'good')).size, 4);
});

test('nothing is listed, read, written or deleted through a link in place of a folder', async (t) => {
  const { store, share, elsewhere } = await openTrial(t);
  const content = async function* () {
    yield Buffer.from('image');
  };
  await store.put('a', content());
  for (const name of ['images', 'records']) {
    const folder = join(share, name);
    renameSync(folder, join(elsewhere, name));
    symlinkSync(join(elsewhere, name), folder);
  }
  const left = join(elsewhere, 'images', `a.${'0'.repeat(16)}.tmp`);
  writeFileSync(left, '');
  utimesSync(left, 1, 1);
  const before = filesIn(elsewhere);
  const refused = { code: 'store-unavailable', message: /is a symbolic link; expected a folder$/ };
  const all: readonly (() => Promise<unknown>)[] = [
    () => store.list(),
    () => store.get('a'),
    () => store.put('b', content()),
    () => store.delete('a'),
    () => store.removeAbandoned(),
    () => store.keys(),
    () => store.swap('head', 'text', null),
  ];
  for (const work of all) await t.rejects(work(), refused);
  t.strictSame(filesIn(elsewhere), before);
});

test('a removed record leaves nothing, and a late writer of it fails', async (t) => {
  const { store, share, elsewhere } = await openTrial(t);
  const records = join(share, 'records');
  let revision: number | null = null;
  for (let n = 0; n < 20; n++) revision = await store.swap('head', `${n}`, revision);
  for (let n = 0; n < 10; n++) {
    await store.swap(`replica.${n}`, 'a', await store.swap(`replica.${n}`, 'b', null));
    await store.remove(`replica.${n}`);
  }
  await until(() => readdirSync(records).sort().join() === 'head,other');

  // The record is removed and made again, by other machines, between the look of a writer and its link.
  const other = join(elsewhere, 'share');
  const made = await new FolderStore(other, 'make').swap('head', 'made again', null);
  const { link } = promises;
  promises.link = async (...args) => {
    promises.link = link;
    syncBuiltinESMExports();
    await promises.rm(join(records, 'head'), { recursive: true });
    await promises.rename(join(other, 'records', 'head'), join(records, 'head'));
    return link(...args);
  };
  syncBuiltinESMExports();
  t.equal(await store.swap('head', 'late', revision), null);
  t.strictSame(await store.read('head'), { text: 'made again', revision: made });
});

test('a record that is made again has other revisions, also while the clock stands or was set back', async (t) => {
  const { store } = await openTrial(t);
  const { now } = Date;
  t.teardown(() => {
    Date.now = now;
  });
  const noon = now();
  const made: (number | null)[] = [];
  for (const ms of [noon, noon, noon - 1]) {
    Date.now = () => ms;
    made.push(await store.swap('again', 'a', null));
    await store.remove('again');
  }
  const [first = null, second = null, third = null] = made;
  t.notOk(isNear(first, second) || isNear(second, third) || isNear(first, third), made.join());
});

/** Whether some writes lead from one revision to the other. Random ones are near once in ten billion times. */
function isNear(one: number | null, other: number | null): boolean {
  return one === null || other === null || Math.abs(one - other) < 10_000;
}

test('a removal that was interrupted is finished later', async (t) => {
  const { store, share } = await openTrial(t);
  // A removal moves the record away first.
  const removed = join(share, 'records', `replica.a.${'0'.repeat(16)}.tmp`);
  mkdirSync(removed);
  writeFileSync(join(removed, REVISION), 'a');
  utimesSync(removed, 1, 1);
  t.strictSame(await store.keys(), ['other']);
  await store.removeAbandoned();
  t.notOk(existsSync(removed));
});

test('a watch reports changes if it began before the store existed, and after a record was made again', async (t) => {
  const share = join(testFolder(t), 'share');
  const [store, reader] = [new FolderStore(share, 'make'), new FolderStore(share, 'fail')];
  let tell = (): void => {};
  const told = (): Promise<void> =>
    new Promise((resolve) => {
      tell = resolve;
    });
  const watch = reader.watch(['head'], () => tell());
  // Neither the watch nor its timer keeps a process alive.
  const timer = setInterval(() => {}, 1000);
  t.teardown(() => {
    clearInterval(timer);
    watch.close();
  });
  let next = told();
  let revision = await store.swap('head', 'first', null);
  await next;
  next = told();
  revision = await store.swap('head', 'second', revision);
  await next;
  await store.remove('head');
  next = told();
  await store.swap('head', 'third', null);
  await next;
  t.match(await reader.read('head'), { text: 'third' });
});

test('a file system that hangs blocks one thread, and is used again when it answers', async (t) => {
  const { share } = await openTrial(t);
  const store = new FolderStore(share, 'make', { silentMsMax: 100 });
  t.match(await store.read('other'), { text: 'other' });
  await statInTime(share);
  const { lstat } = promises;
  let [hanging, goOn] = [0, (): void => {}];
  const hung = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  promises.lstat = (async (...args: Parameters<typeof lstat>) => {
    hanging++;
    await hung;
    hanging--;
    return lstat(...args);
  }) as typeof lstat;
  syncBuiltinESMExports();
  t.teardown(() => {
    promises.lstat = lstat;
    syncBuiltinESMExports();
  });
  const silent = { code: 'store-unavailable', message: /has not answered for 0.1 s/ };
  const watch = store.watch(['head', 'pin'], () => {});
  for (let n = 0; n < 3; n++) {
    const all = [store.read('head'), store.keys(), store.list(), store.get('a')];
    await Promise.all(all.map((each: Promise<unknown>) => t.rejects(each, silent)));
    t.equal(hanging, 1);
    await t.rejects(
      statInTime(share),
      { message: 'its file system does not answer' },
      'nor does another file of this file system get a thread',
    );
  }
  watch.close();
  goOn();
  promises.lstat = lstat;
  syncBuiltinESMExports();
  const read = await until(
    () => store.read('other').catch(() => null),
    (record) => record !== null,
  );
  t.match(read, { text: 'other' });
});

test('a file whose write hangs is closed when the write returns', async (t) => {
  const { share } = await openTrial(t);
  const store = new FolderStore(share, 'make', { silentMsMax: 100 });
  const { open } = promises;
  let goOn = (): void => {};
  const hung = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const closed = new Promise<void>((resolve) => {
    promises.open = async (...args) => {
      const file = await open(...args);
      (file as unknown as EventEmitter).once('close', resolve);
      return Object.assign(file, { writeFile: () => hung });
    };
  });
  syncBuiltinESMExports();
  t.teardown(() => {
    promises.open = open;
    syncBuiltinESMExports();
  });
  const content = async function* () {
    yield Buffer.from('image');
  };
  await t.rejects(store.put('a', content()), { code: 'store-unavailable', message: /has not answered/ });
  goOn();
  // Without an end of this wait, the process would end before the test.
  const timer = setInterval(() => {}, 1000);
  t.teardown(() => clearInterval(timer));
  await closed;
  t.pass();
});
