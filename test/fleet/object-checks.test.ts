/** When a publisher reads a stored image again. Inside, because it turns the clock. */
import { createHash } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { ObjectChecks } from '../../src/fleet/publisher.js';
import type { Head } from '../../src/fleet/store-records.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { storeAddress } from '../../src/store/store-address.js';
import { until } from '../waiting/until.js';

test('reports of a fault lead to one read of an image in five minutes, and announcements do not wait for the read', async (t) => {
  const share = join(t.testdir(), 'share');
  const store = await openStore(storeAddress(share), 'make');
  const content = Buffer.from('an image');
  const hash = createHash('sha256').update(content).digest('hex');
  await store.put(
    hash,
    (async function* () {
      yield content;
    })(),
  );
  let reads = 0;
  let isHung = true;
  const counted = new Proxy(store, {
    get: (target, method: keyof Store) => {
      if (method === 'get') {
        return async (name: string) => {
          reads++;
          await until(() => !isHung);
          return target.get(name);
        };
      }
      return typeof target[method] === 'function' ? target[method].bind(target) : target[method];
    },
  });
  let nowMs = 0;
  let told = 0;
  const checks = new ObjectChecks(
    counted,
    () => told++,
    () => nowMs,
  );
  const head = { hash, bytes: content.length, changes: [], contained: 0, history: null } as unknown as Head;
  const look = async (isSuspect: boolean): Promise<boolean> => {
    const isGood = await checks.isGood(head, isSuspect);
    if (!isHung) await checks.settled();
    return isGood;
  };

  t.ok(await look(false));
  t.equal(reads, 0, 'without a report nothing is read');
  for (let n = 0; n < 5; n++) t.ok(await look(true), 'the answer does not wait for the read');
  t.equal(reads, 1);
  isHung = false;
  await checks.settled();
  nowMs += 299_999;
  for (let n = 0; n < 5; n++) t.ok(await look(true));
  t.equal(reads, 1);
  nowMs += 1;
  await look(true);
  t.equal(reads, 2);

  writeFileSync(join(share, 'images', hash), 'an imagE');
  nowMs += 300_000;
  t.equal(told, 0);
  t.ok(await look(true));
  t.equal(told, 1);
  t.notOk(await look(true), 'other bytes');
  t.ok(await look(true));
  t.notOk(await look(true), 'it is checked again until it is stored again');
  rmSync(join(share, 'images', hash));
  t.notOk(await look(false), 'a missing image');
});

test('an object that goes on behind its announced length is bad, and is not read on', async (t) => {
  const [image, change] = [Buffer.from('an image'), Buffer.from('a change')];
  const [hash, other] = [image, change].map((each) => createHash('sha256').update(each).digest('hex'));
  let chunks = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    // Bounded, so that the test ends even if all is read.
    for (; chunks < 1000; chunks++) yield change;
  }
  const store = {
    bytesOf: async () => image.length,
    get: async (name: string) => Object.assign(name === hash ? [image] : endless(), { sha256: null }),
  } as unknown as Store;
  let told = 0;
  const checks = new ObjectChecks(store, () => told++);
  const changes = [{ from: 1, hash: other, bytes: change.length }];
  const head = { hash, bytes: image.length, changes, contained: 0, history: null } as unknown as Head;
  await checks.isGood(head, true);
  await checks.settled();
  t.equal(told, 1);
  t.equal(chunks, 1);
});
