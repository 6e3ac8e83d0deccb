/** What a publisher deletes from a store, and when. Inside, because it turns the clock by days. */
import { existsSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { ANNOUNCED_MAX, IMAGES_KEPT, IMAGES_UNUSED_BYTES_MIN } from '../../src/base/limits.js';
import { SigningKey } from '../../src/fleet/keys.js';
import { StoreCleaner } from '../../src/fleet/publisher.js';
import type { Head } from '../../src/fleet/store-records.js';
import { announcedHeads } from '../../src/fleet/store-records.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { storeAddress } from '../../src/store/store-address.js';
import { writeKeys } from './fleet.js';

const MINUTE_MS = 60_000;
const hashOf = (n: number): string => n.toString(16).padStart(64, '0');
const idOf = (n: number): string => String(n).padStart(22, '0');

/** Announces an image. */
async function announce({ store, key }: Trial, n: number, announcedAtMs = 0): Promise<void> {
  await store.put(
    hashOf(n),
    (async function* () {
      yield Buffer.from(`image ${n}`);
    })(),
  );
  const head: Head = {
    epoch: idOf(0),
    sequence: n,
    previous: null,
    id: idOf(n),
    format: 1,
    hash: hashOf(n),
    bytes: 7,
    changes: [],
    contained: 0,
    history: null,
    hidden: hashOf(0),
    events: 1,
    rejected: 0,
    announcedAtMs,
  };
  const text = await key.sign('head', head);
  await store.swap(`announced.${idOf(n)}`, text, null);
  await store.swap('head', text, (await store.read('head'))?.revision ?? null);
}

interface Trial {
  readonly store: Store;
  readonly key: SigningKey;
  readonly folder: string;
}

async function openTrial(t: Test): Promise<Trial> {
  const folder = t.testdir();
  const key = new SigningKey(writeKeys(folder, 'publisher').publisherKey);
  return { store: await openStore(storeAddress(join(folder, 'share')), 'make'), key, folder };
}

const numbersIn = async (store: Store): Promise<number[]> =>
  (await store.list()).map(({ name }) => Number.parseInt(name, 16)).sort((a, b) => a - b);

test('an image is kept for ten minutes after five newer ones, even if unsigned records say otherwise', async (t) => {
  const trial = await openTrial(t);
  const { store, key } = trial;
  let nowMs = 0;
  const cleaner = new StoreCleaner(store, key, () => nowMs);
  for (let n = 1; n <= IMAGES_KEPT + 2; n++) {
    await announce(trial, n);
    await cleaner.clean();
  }
  t.strictSame(await numbersIn(store), [1, 2, 3, 4, 5, 6, 7]);
  t.equal((await store.keys()).filter((each) => each.startsWith('announced.')).length, IMAGES_KEPT);
  // Forged heads would be the newest, and a forged report names an old image.
  const [header, payload] = (await store.read('head'))?.text.split('.') ?? [];
  const newer = { ...JSON.parse(Buffer.from(payload ?? '', 'base64url').toString()), sequence: 99 };
  const forged = `${header}.${Buffer.from(JSON.stringify(newer)).toString('base64url')}.c2lnbmF0dXJl`;
  for (let n = 0; n < IMAGES_KEPT; n++) await store.swap(`announced.${idOf(100 + n)}`, forged, null);
  await store.swap('replica.a', JSON.stringify({ name: 'a', serves: { hash: hashOf(1) } }), null);
  nowMs = 9 * MINUTE_MS;
  await cleaner.clean();
  t.strictSame(await numbersIn(store), [1, 2, 3, 4, 5, 6, 7]);
  nowMs = 11 * MINUTE_MS;
  await cleaner.clean();
  t.strictSame(await numbersIn(store), [3, 4, 5, 6, 7]);
  t.equal((await store.keys()).filter((each) => each.startsWith('announced.')).length, IMAGES_KEPT);
});

test('the last image of each minute is kept for five minutes, of each hour for a day, of each day for a week', async (t) => {
  const trial = await openTrial(t);
  const nowMs = Date.parse('2026-11-27T12:30:30Z');
  const [minute, hour, day] = [1, 60, 24 * 60];
  const ages: (readonly [age: number, isKept: boolean])[] = [
    ...Array.from({ length: IMAGES_KEPT }, (): [number, boolean] => [0, true]),
    ...([
      [1.2 * minute, true],
      [1.4 * minute, false],
      [2.3 * minute, true],
      [6.5 * minute, false],
      [50 * minute, true],
      [90 * minute, false],
      [100 * minute, true],
      [23 * hour, true],
      [25 * hour, false],
      [50 * hour, true],
      [51 * hour, false],
      [6.9 * day, true],
      [8 * day, false],
    ] as const),
  ];
  const oldestFirst = ages.toReversed();
  for (const [n, [age]] of oldestFirst.entries()) await announce(trial, n, nowMs - age * MINUTE_MS);
  await new StoreCleaner(
    trial.store,
    trial.key,
    () => 0,
    () => nowMs,
  ).clean();
  const keys = await trial.store.keys();
  const kept = oldestFirst.flatMap(([age], n) => (keys.includes(`announced.${idOf(n)}`) ? [age] : []));
  t.strictSame(
    kept,
    oldestFirst.flatMap(([age, isKept]) => (isKept ? [age] : [])),
  );
});

/** The records of a store, with one method replaced. */
function withMethod<Name extends keyof Store>(store: Store, name: Name, method: Store[Name]): Store {
  return new Proxy(store, {
    get: (target, key: keyof Store) => {
      if (key === name) return method;
      return typeof target[key] === 'function' ? target[key].bind(target) : target[key];
    },
  });
}

test('no image is deleted because of copied records, or because there are too many records', async (t) => {
  const trial = await openTrial(t);
  const { store, key } = trial;
  for (let n = 1; n <= IMAGES_KEPT; n++) await announce(trial, n);
  const text = (await store.read('head'))?.text ?? '';
  for (let n = 0; n < IMAGES_KEPT; n++) await store.swap(`announced.${idOf(100 + n)}`, text, null);
  let nowMs = 0;
  const cleanIn = async (each: Store): Promise<void> => {
    const cleaner = new StoreCleaner(each, key, () => nowMs);
    await cleaner.clean();
    nowMs += 11 * MINUTE_MS;
    await cleaner.clean();
  };
  await cleanIn(store);
  t.strictSame(await numbersIn(store), [1, 2, 3, 4, 5], 'copies do not count');
  const junk = Array.from({ length: ANNOUNCED_MAX }, (_, n) => `announced.${n}`);
  const crowded = withMethod(store, 'keys', async (start) => [...junk, ...(await store.keys(start))]);
  await cleanIn(crowded);
  t.strictSame(await numbersIn(store), [1, 2, 3, 4, 5], 'unread records keep their images');
  t.equal((await announcedHeads(crowded, key.keys)).unread, IMAGES_KEPT, 'and their number is told');
});

test('unused images that take too much are deleted at once, the longest unused first', async (t) => {
  const trial = await openTrial(t);
  const bytes = IMAGES_UNUSED_BYTES_MIN / 2;
  const large = withMethod(trial.store, 'list', async () =>
    (await trial.store.list()).map(({ name }) => ({ name, bytes })),
  );
  const cleaner = new StoreCleaner(large, trial.key, () => 0);
  for (let n = 1; n <= IMAGES_KEPT + 4; n++) {
    await announce(trial, n);
    await cleaner.clean();
  }
  t.strictSame(await numbersIn(trial.store), [3, 4, 5, 6, 7, 8, 9]);
});

test('the remains of a killed writer are removed', async (t) => {
  const trial = await openTrial(t);
  const { store, key, folder } = trial;
  await announce(trial, 1);
  const left = join(folder, 'share', 'images', `${hashOf(2)}.0123456789abcdef.tmp`);
  writeFileSync(left, 'half');
  const cleaner = new StoreCleaner(store, key);
  await cleaner.clean();
  t.ok(existsSync(left), 'its writer may be at work');
  const before = Date.now() / 1000 - 7200;
  utimesSync(left, before, before);
  await cleaner.clean();
  t.notOk(existsSync(left));
  t.strictSame(await numbersIn(store), [1]);
});
