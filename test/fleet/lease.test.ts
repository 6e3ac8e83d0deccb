/** Which publisher leads. Inside, because it turns the clock of each. */
import { join } from 'node:path';
import { test } from 'tap';
import { LEASE_MS_MAX } from '../../src/base/limits.js';
import { UNSIGNED } from '../../src/fleet/keys.js';
import { Leadership } from '../../src/fleet/publisher.js';
import { openStore } from '../../src/store/open-store.js';
import { storeAddress } from '../../src/store/store-address.js';

test('a lease ends by the clock of its owner before a standby takes it', async (t) => {
  const store = await openStore(storeAddress(join(t.testdir(), 'share')), 'make');
  let nowMs = 0;
  let isLost = false;
  const lost = new Proxy(store, {
    get: (target, method: keyof typeof store) =>
      method === 'read' && isLost
        ? () => Promise.reject(new Error('the store does not answer'))
        : typeof target[method] === 'function'
          ? target[method].bind(target)
          : target[method],
  });
  const leader = new Leadership(lost, 'one', UNSIGNED, () => nowMs);
  const standby = new Leadership(store, 'two', UNSIGNED, () => nowMs);
  t.ok(await leader.renew());
  t.notOk(await standby.renew());
  isLost = true;
  nowMs = LEASE_MS_MAX - 1;
  await t.rejects(leader.renew());
  t.ok(leader.isLeader, 'one failure ends nothing');
  t.notOk(await standby.renew());
  nowMs = LEASE_MS_MAX;
  t.notOk(leader.isLeader);
  t.ok(await standby.renew());
  isLost = false;
  t.notOk(await leader.renew(), 'the lease has another owner');
});

test('a leader that renews its lease is never replaced; one that ends is replaced at once', async (t) => {
  const store = await openStore(storeAddress(join(t.testdir(), 'share')), 'make');
  let nowMs = 0;
  const [leader, standby] = ['one', 'two'].map((name) => new Leadership(store, name, UNSIGNED, () => nowMs));
  if (leader === undefined || standby === undefined) throw new Error('two were made');
  for (; nowMs < 60_000; nowMs += 1000) {
    t.ok(await leader.renew());
    t.notOk(await standby.renew());
  }
  await leader.release();
  t.notOk(leader.isLeader);
  t.ok(await standby.renew());
  nowMs += LEASE_MS_MAX - 1;
  t.notOk(await leader.renew());
  nowMs += LEASE_MS_MAX;
  t.ok(await leader.renew(), 'a standby that saw no renewal leads');
  t.notOk(standby.isLeader);
});

test('a copied lease is no sign of life', async (t) => {
  const store = await openStore(storeAddress(join(t.testdir(), 'share')), 'make');
  let nowMs = 0;
  const leader = new Leadership(store, 'one', UNSIGNED, () => nowMs);
  const standby = new Leadership(store, 'two', UNSIGNED, () => nowMs);
  t.ok(await leader.renew());
  const copies = [await store.read('leader')];
  t.ok(await leader.renew());
  copies.push(await store.read('leader'));
  t.notOk(await standby.renew());
  for (nowMs = 1000; nowMs < LEASE_MS_MAX; nowMs += 1000) {
    for (const copy of copies) {
      const revision = (await store.read('leader'))?.revision ?? null;
      await store.swap('leader', copy?.text ?? '', revision);
      t.notOk(await standby.renew());
    }
  }
  nowMs = LEASE_MS_MAX;
  t.ok(
    await standby.renew(),
    'the standby leads once the leader has renewed nothing for the time of a lease',
  );
});
