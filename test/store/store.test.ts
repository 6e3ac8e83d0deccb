/** What every store promises. Inside, because publishers and replicas use only a part of it. */
import { mkdirSync, promises, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join, resolve } from 'node:path';
import { type Test, test } from 'tap';
import { STORE_RECORD_BYTES_MAX } from '../../src/base/limits.js';
import { NatsLink } from '../../src/store/nats-connection.js';
import { NatsStore } from '../../src/store/nats-store.js';
import { openStore } from '../../src/store/open-store.js';
import { type Store, UNUSABLE } from '../../src/store/store.js';
import { type NatsPlace, storeAddress, storePlaceOf } from '../../src/store/store-address.js';
import { testFolder } from '../base/files/test-folder.js';
import { timeForAFault, until } from '../waiting/until.js';
import { NATS_MISSING, startNats } from './nats-server.js';

/** One suite for every kind of store. */
const KINDS: Record<
  string,
  { skip: string | false; open(t: Test): Promise<{ readonly where: string; lose(): Promise<void> }> }
> = {
  'a folder': {
    skip: false,
    async open(t) {
      const folder = join(testFolder(t), 'share');
      return { where: storeAddress(folder), lose: async () => rmSync(folder, { recursive: true }) };
    },
  },
  'NATS JetStream': {
    skip: NATS_MISSING,
    async open(t) {
      const server = await startNats(join(testFolder(t), 'nats'));
      t.teardown(() => server.stop());
      const where = server.address();
      return {
        where,
        async lose() {
          const link = new NatsLink(new URL(where), 'timetable', where);
          const { streams } = await link.open();
          await streams.delete('KV_timetable');
          await streams.delete('OBJ_timetable');
          await link.close();
        },
      };
    },
  },
};

async function* bytes(...parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}

async function textOf(store: Store, name: string): Promise<string | null> {
  const chunks = await store.get(name);
  if (chunks === null) return null;
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString();
}

for (const [kind, { skip, open }] of Object.entries(KINDS)) {
  test(`${kind}: a missing store is not made, but a store that was found once is made again`, {
    skip,
  }, async (t) => {
    const { where, lose } = await open(t);
    const user = await openStore(where, 'fail');
    const missing = {
      code: 'store-unavailable',
      message: /failed: there is no store at this address yet; the publisher makes it$/,
    };
    const work: Readonly<Record<string, () => Promise<unknown>>> = {
      read: () => user.read('head'),
      keys: () => user.keys(),
      swap: () => user.swap('replica.a', '{}', null),
      remove: () => user.remove('replica.a'),
      get: () => user.get('a'),
      bytesOf: () => user.bytesOf('a'),
      list: () => user.list(),
      put: () => user.put('a', bytes('image')),
      delete: () => user.delete('a'),
      removeAbandoned: () => user.removeAbandoned(),
    };
    for (const [name, run] of Object.entries(work)) await t.rejects(run(), missing, name);
    const publisher = await openStore(where, 'make');
    t.teardown(() => Promise.all([user.close(), publisher.close()]));
    t.strictSame(await publisher.keys(), []);
    await publisher.swap('head', 'first', null);
    t.equal((await user.read('head'))?.text, 'first');
    t.type(await user.swap('replica.a', '{}', null), 'number');
    await lose();
    for (const [name, run] of Object.entries(work)) await t.resolves(run(), name);
    t.strictSame(await publisher.keys(), []);
  });

  test(`${kind}: objects and records are kept`, { skip }, async (t) => {
    const { where } = await open(t);
    const [store, other] = [await openStore(where, 'make'), await openStore(where, 'make')];
    t.teardown(() => Promise.all([store.close(), other.close()]));

    t.equal(await store.read('head'), null, 'a new store has no record');
    t.strictSame([await store.list(), await store.keys()], [[], []]);
    t.equal(await store.get('a'), null);

    await store.put('a', bytes('one ', 'image'));
    t.equal(await textOf(other, 'a'), 'one image');
    await other.put('a', bytes('another'));
    t.equal(await textOf(store, 'a'), 'one image', 'an object is never replaced');
    const failing = (async function* () {
      yield Buffer.from('half');
      throw new Error('the publisher died');
    })();
    await t.rejects(store.put('b', failing));
    t.equal(await store.get('b'), null, 'an interrupted put leaves no object');
    t.strictSame(await store.list(), [{ name: 'a', bytes: 9 }]);
    t.strictSame([await other.bytesOf('a'), await other.bytesOf('b')], [9, null]);
    await store.delete('a');
    await store.delete('a');
    t.equal(await store.bytesOf('a'), null);
    t.strictSame(await store.list(), []);
    await store.put('a', bytes('again'));
    t.equal(await textOf(store, 'a'), 'again');

    const first = await store.swap('head', 'first', null);
    t.type(first, 'number');
    t.equal(await other.swap('head', 'late', null), null, 'a record that exists is not made');
    const second = await other.swap('head', 'second', first);
    t.type(second, 'number');
    t.equal(await store.swap('head', 'stale', first), null, 'a stale revision is refused');
    t.strictSame(await store.read('head'), { text: 'second', revision: second });
    await store.swap('replica.a', '{}', null);
    t.strictSame([...(await other.keys())].sort(), ['head', 'replica.a']);
    t.strictSame(await other.keys('replica.'), ['replica.a']);
    await store.remove('replica.a');
    t.strictSame(await other.keys(), ['head']);
    t.equal(await other.read('replica.a'), null);
    t.equal(await store.swap('head', 'stale', first), null);
    t.type(
      await store.swap('replica.a', '{"again":1}', null),
      'number',
      'a removed record can be made again',
    );

    const racing = await store.read('head');
    const stores = [store, other, store, other, store, other];
    const won = await Promise.all(
      stores.map((each, n) => each.swap('head', `racer ${n}`, racing?.revision ?? 0)),
    );
    t.equal(won.filter((revision) => revision !== null).length, 1, 'one of six writers wins');
    const winner = won.findIndex((revision) => revision !== null);
    t.equal((await store.read('head'))?.text, `racer ${winner}`);

    let told = 0;
    const watch = other.watch(['head', 'pin'], () => told++);
    // A watch may begin later, and may report the present state first.
    await timeForAFault(300);
    const before = told;
    let revision = (await store.read('head'))?.revision ?? null;
    for (let n = 0; n < 20; n++) revision = await store.swap('head', `told ${n}`, revision);
    t.type(revision, 'number', 'twenty swaps in a row');
    await until(
      () => told,
      (seen) => seen !== before,
    );
    t.ok(told > before, 'a watch tells of changes');
    watch.close();

    let isReplacing = true;
    const replacing = (async () => {
      while (isReplacing) revision = await store.swap('head', 'again', revision);
    })();
    for (let n = 0; n < 200; n++) t.strictSame([...(await other.keys())].sort(), ['head', 'replica.a']);
    isReplacing = false;
    await replacing;
    t.type(revision, 'number', 'keys are listed while a record is replaced');
  });
}

test('removed objects and records leave nothing in NATS', { skip: NATS_MISSING }, async (t) => {
  const server = await startNats(join(testFolder(t), 'nats'));
  t.teardown(() => server.stop());
  const link = new NatsLink(new URL(server.address()), 'timetable', 'the store');
  const store = await openStore(server.address(), 'make');
  t.teardown(() => Promise.all([store.close(), link.close()]));
  for (let n = 0; n < 5; n++) {
    await store.put(`image ${n}`, bytes('bytes'));
    await store.swap(`replica.${n}`, '{}', null);
  }
  const messages = async (): Promise<number[]> => {
    const { streams } = await link.open();
    const infos = await Promise.all(['KV_timetable', 'OBJ_timetable'].map((each) => streams.info(each)));
    return infos.map(({ state }) => state.messages);
  };
  t.strictSame(await messages(), [5, 10]);
  for (let n = 0; n < 5; n++) {
    await store.delete(`image ${n}`);
    await store.remove(`replica.${n}`);
  }
  t.strictSame(await messages(), [0, 0]);
});

test('a record in NATS that is longer than a record may be counts as malformed, and is replaced', {
  skip: NATS_MISSING,
}, async (t) => {
  const server = await startNats(join(testFolder(t), 'nats'));
  t.teardown(() => server.stop());
  const link = new NatsLink(new URL(server.address()), 'timetable', 'the store');
  const store = openStore(server.address(), 'make');
  t.teardown(() => Promise.all([store.close(), link.close()]));
  await store.swap('pin', 'first', null);
  const { records } = await link.open();
  for (const [bytes, isRecord] of [
    [STORE_RECORD_BYTES_MAX, true],
    [STORE_RECORD_BYTES_MAX + 1, false],
  ] as const) {
    await records.put('pin', '1'.repeat(bytes));
    t.equal((await store.read('pin'))?.text, isRecord ? '1'.repeat(bytes) : UNUSABLE);
  }
  t.type(await store.swap('pin', 'next', (await store.read('pin'))?.revision ?? null), 'number');
});

test('a folder ignores files of other programs', async (t) => {
  const folder = t.testdir();
  const store = await openStore(storeAddress(folder), 'make');
  await store.put('a', bytes('image'));
  const revision = await store.swap('head', 'first', null);
  mkdirSync(join(folder, 'images', 'lost+found'));
  mkdirSync(join(folder, 'images', 'snapshots'));
  for (const name of ['.nfs0000000000a1b2c3', 'a.0123.tmp', 'Thumbs.db:x'])
    for (const path of ['images', 'records', join('records', 'head')])
      writeFileSync(join(folder, path, name), 'foreign');
  t.strictSame(await store.list(), [{ name: 'a', bytes: 5 }]);
  t.strictSame(await store.keys(), ['head']);
  t.strictSame(await store.read('head'), { text: 'first', revision });
  const second = await store.swap('head', 'second', revision);
  t.type(second, 'number');
  t.strictSame(await store.read('head'), { text: 'second', revision: second });
  await store.remove('head');
  t.equal(await store.read('head'), null);
});

test('a swap in a folder succeeds even if other writers follow at once', async (t) => {
  const folder = join(testFolder(t), 'share');
  const address = storeAddress(folder);
  const [store, other] = [await openStore(address, 'make'), await openStore(address, 'make')];
  const first = await store.swap('head', 'first', null);
  // The other writer is at work between the two steps of the swap: a new file, and the removal of its old name.
  const { rm } = promises;
  let isBetween = true;
  promises.rm = async (...args) => {
    if (isBetween) {
      isBetween = false;
      const next = String((first ?? 0) + 2).padStart(15, '0');
      await promises.writeFile(join(folder, 'records', 'head', next), 'third');
    }
    return rm(...args);
  };
  syncBuiltinESMExports();
  t.teardown(() => {
    promises.rm = rm;
    syncBuiltinESMExports();
  });
  t.equal(await store.swap('head', 'second', first), (first ?? 0) + 1, 'the other writer has seen it');
  t.match(await store.read('head'), { text: 'third' });
  for (let n = 0; n < 20; n++) {
    const { revision = null } = (await other.read('head')) ?? {};
    await other.swap('head', `later ${n}`, revision);
  }
  t.equal(await store.swap('head', 'late', first), null);
  t.match(await store.read('head'), { text: 'later 19' });
});

test('chunks of a killed writer are removed from NATS, and others stay', {
  skip: NATS_MISSING,
}, async (t) => {
  const server = await startNats(join(testFolder(t), 'nats'));
  t.teardown(() => server.stop());
  const link = new NatsLink(new URL(server.address()), 'timetable', 'the store');
  let nowMs = 0;
  const store = new NatsStore(storePlaceOf(server.address()) as NatsPlace, 'make', () => nowMs);
  t.teardown(() => Promise.all([store.close(), link.close()]));
  await store.removeAbandoned();
  await store.put('image', bytes('complete'));
  const { connection, streams } = await link.open();
  const { jetstream } = await import('@nats-io/jetstream');
  const client = jetstream(connection);
  const subjects = async (): Promise<string[]> => {
    const { state } = await streams.info('OBJ_timetable', { subjects_filter: '$O.timetable.C.>' });
    return Object.keys(state.subjects ?? {})
      .filter((each) => /KILLED|GROWING/.test(each))
      .sort();
  };
  const send = (nuid: string) => client.publish(`$O.timetable.C.${nuid}`, Buffer.alloc(1000));
  await Promise.all([send('KILLED'), send('GROWING')]);
  await store.removeAbandoned();
  nowMs = 59_000;
  await send('GROWING');
  await store.removeAbandoned();
  t.strictSame(await subjects(), ['$O.timetable.C.GROWING', '$O.timetable.C.KILLED']);
  nowMs = 61_000;
  await store.removeAbandoned();
  t.strictSame(await subjects(), ['$O.timetable.C.GROWING'], 'a put that goes on is left alone');
  nowMs = 200_000;
  await store.removeAbandoned();
  t.strictSame(await subjects(), []);
  t.equal(await textOf(store, 'image'), 'complete');
});

test('one of several servers is enough', { skip: NATS_MISSING }, async (t) => {
  const server = await startNats(join(testFolder(t), 'nats'), ['--user', 'ada', '--pass', 's3cret']);
  t.teardown(() => server.stop());
  const hosts = `127.0.0.1:1,127.0.0.1:${server.port}`;
  const store = await openStore(`nats://ada:s3cret@${hosts}/timetable`, 'make');
  t.teardown(() => store.close());
  t.equal(store.name, `nats://${hosts}/timetable`);
  t.type(await store.swap('head', 'text', null), 'number');
  t.match(await store.read('head'), { text: 'text' });
});

test('store addresses are parsed', async (t) => {
  for (const address of [
    'nats://host',
    'nats://',
    'nats://host/a b',
    'nats://one,/name',
    'nats://one,two',
    'nats://one,two:port/name',
    'folder://host/path',
    'folder:///path#1',
    'folder:///path?a',
    'nats://host/name?a',
    'nats://host/%zz',
    'http://host/name',
  ]) {
    t.throws(() => openStore(address, 'make'), { code: 'option-invalid' }, address);
  }
  for (const text of [
    'nats:/127.0.0.1:4222/name',
    'http://host/name',
    'folder:/path',
    'Nats:name',
    '',
    undefined as never,
  ])
    t.throws(() => storeAddress(text), { code: 'option-invalid', message: /or the path of a folder$/ }, text);
  t.equal(storeAddress('/a/b c'), 'folder:///a/b%20c');
  t.equal(storeAddress('2026-11-26'), storeAddress(resolve('2026-11-26')));
  t.match(storeAddress('C:\\store'), /^folder:\/\/\//);
  const store = await openStore('nats://user:secret@127.0.0.1:1/timetable', 'make');
  const error = await store.read('head').catch((reason: Error) => reason);
  t.match(error, { code: 'store-unavailable' });
  t.notMatch(String((error as Error).message), 'secret');
  await store.close();
  const folder = t.testdir({ file: '' });
  mkdirSync(join(folder, 'dir'));
  const broken = await openStore(storeAddress(join(folder, 'file')), 'make');
  await t.rejects(broken.read('head'), { code: 'store-unavailable' });
  const lost = await openStore(storeAddress(join(folder, 'not mounted', 'share')), 'make');
  const missing = { code: 'store-unavailable', message: /failed: there is no folder .*not mounted$/ };
  await t.rejects(lost.swap('head', 'text', null), missing);
  await t.rejects(lost.put('a', bytes('image')), missing);
});
