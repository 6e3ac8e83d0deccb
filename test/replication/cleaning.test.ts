import { existsSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { IMAGES_KEPT, IMAGES_UNUSED_BYTES_MAX } from '../../src/limits.js';
import { StoreCleaner } from '../../src/replication/cleaning.js';
import type { ReplicaReport } from '../../src/replication/store-records.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { storeAddress } from '../../src/store/store-address.js';

const MINUTE_MS = 60_000;
const hashOf = (n: number): string => n.toString(16).padStart(64, '0');
const idOf = (n: number): string => String(n).padStart(22, '0');

/** Announces an image. The cleaner checks no signature. */
async function announce(store: Store, n: number): Promise<void> {
  await store.put(
    hashOf(n),
    (async function* () {
      yield Buffer.from(`image ${n}`);
    })(),
  );
  const head = {
    epoch: idOf(0),
    sequence: n,
    previous: null,
    id: idOf(n),
    format: 1,
    hash: hashOf(n),
    bytes: 7,
  };
  const payload = JSON.stringify({ ...head, events: 1, rejected: 0, announcedAtMs: 0 });
  const text = `header.${Buffer.from(payload).toString('base64url')}.signature`;
  await store.swap(`announced.${idOf(n)}`, text, null);
  await store.swap('head', text, (await store.read('head'))?.revision ?? null);
}

async function storeOf(t: Test): Promise<Store> {
  return openStore(storeAddress(join(t.testdir(), 'share')), 'make');
}

const numbersIn = async (store: Store): Promise<number[]> =>
  (await store.list()).map(({ name }) => Number.parseInt(name, 16)).sort((a, b) => a - b);

test('an image whose fetch is not known yet stays for ten minutes after its last use', async (t) => {
  const store = await storeOf(t);
  let nowMs = 0;
  const cleaner = new StoreCleaner(store, () => nowMs);
  // A replica has read the first head, and its report has not arrived.
  for (let n = 1; n <= IMAGES_KEPT + 2; n++) {
    await announce(store, n);
    await cleaner.clean([]);
  }
  t.strictSame(await numbersIn(store), [1, 2, 3, 4, 5, 6, 7]);
  t.equal((await store.keys()).filter((key) => key.startsWith('announced.')).length, IMAGES_KEPT);
  nowMs = 9 * MINUTE_MS;
  const fetching = { serves: null, fetching: hashOf(1) } as ReplicaReport;
  await cleaner.clean([fetching]);
  nowMs = 11 * MINUTE_MS;
  await cleaner.clean([fetching]);
  t.strictSame(await numbersIn(store), [1, 3, 4, 5, 6, 7], 'a fetched image stays');
  await cleaner.clean([]);
  nowMs = 20 * MINUTE_MS;
  await cleaner.clean([]);
  t.strictSame(await numbersIn(store), [1, 3, 4, 5, 6, 7], 'its time begins after its last use');
  nowMs = 21 * MINUTE_MS;
  await cleaner.clean([]);
  t.strictSame(await numbersIn(store), [3, 4, 5, 6, 7]);
});

test('unused images that take too much are deleted at once, the longest unused first', async (t) => {
  const store = await storeOf(t);
  const bytes = IMAGES_UNUSED_BYTES_MAX / 2;
  const large = new Proxy(store, {
    get: (target, method: keyof Store) => {
      if (method === 'list') return async () => (await target.list()).map(({ name }) => ({ name, bytes }));
      return typeof target[method] === 'function' ? target[method].bind(target) : target[method];
    },
  });
  const cleaner = new StoreCleaner(large, () => 0);
  for (let n = 1; n <= IMAGES_KEPT + 4; n++) {
    await announce(store, n);
    await cleaner.clean([]);
  }
  t.strictSame(await numbersIn(store), [3, 4, 5, 6, 7, 8, 9]);
});

test('the remains of a killed writer are removed', async (t) => {
  const share = join(t.testdir(), 'share');
  const store = await openStore(storeAddress(share), 'make');
  await announce(store, 1);
  const left = join(share, 'images', `${hashOf(2)}.0123.tmp`);
  writeFileSync(left, 'half');
  const cleaner = new StoreCleaner(store);
  await cleaner.clean([]);
  t.ok(existsSync(left), 'its writer may be at work');
  const before = Date.now() / 1000 - 7200;
  utimesSync(left, before, before);
  await cleaner.clean([]);
  t.notOk(existsSync(left));
  t.strictSame(await numbersIn(store), [1]);
});
