import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'tap';
import { headOf } from '../../src/replication/head.js';
import { SeenOrder } from '../../src/replication/seen-order.js';
import { IMAGE_FORMAT_VERSION } from '../../src/snapshot/image-format.js';
import { MemorySource } from '../refresh/built.js';
import { events, KINDS, openChannel, openFleet, titleOf, until, untilServed } from './fleet.js';

test('forged sequences do not stop announcements', { timeout: 170_000 }, async (t) => {
  const fleet = await openFleet(t, 'folder');
  const { store } = fleet;
  const source = new MemorySource(events(10, 'first'));
  const publishing = await fleet.publisher(source);
  await publishing.announced;
  const epoch = headOf((await store.read('head'))?.text ?? '')?.epoch;
  const sequence = Number.MAX_SAFE_INTEGER;
  await store.swap('pin', JSON.stringify({ id: null, sequence }), null);
  const report = { name: 'forged', formats: [IMAGE_FORMAT_VERSION], quarantined: [] };
  const forged = { ...report, floor: { epoch, sequence }, serves: null, fetching: null, damaged: null };
  await store.swap('replica.forged', JSON.stringify(forged), null);
  const replica = fleet.replica();
  await untilServed([replica], 'first');
  // The publisher reads reports every four rounds.
  await delay(5000);
  source.replace(events(10, 'second'));
  await untilServed([replica], 'second');
  const head = headOf((await store.read('head'))?.text ?? '');
  t.equal(head?.epoch, epoch);
  t.ok((head?.sequence ?? sequence) < Date.now() + 60_000, 'sequences still come from the clock');
  const channel = await openChannel(fleet.address, { publicKeyFile: fleet.publicKeyFile });
  t.teardown(() => channel.close());
  const [, earlier] = (await channel.status()).images;
  await channel.pin(earlier?.id ?? '');
  await untilServed([replica], 'first');
});

for (const { kind, skip } of KINDS) {
  test(`${kind}: replicas survive a store that is damaged, restored or emptied`, {
    skip,
    timeout: 170_000,
  }, async (t) => {
    const fleet = await openFleet(t, kind);
    const { store } = fleet;
    const source = new MemorySource(events(10, 'first'));
    const publishing = await fleet.publisher(source);
    await publishing.announced;
    const replica = fleet.replica();
    await untilServed([replica], 'first');
    const old = await store.read('head');
    const sequence = async (): Promise<number> =>
      headOf((await store.read('head'))?.text ?? '')?.sequence ?? 0;
    source.replace(events(10, 'second'));
    await untilServed([replica], 'second');

    const [present, last] = [await store.read('head'), await sequence()];
    await store.swap('head', old?.text ?? '', present?.revision ?? null);
    await until(
      async () => (await sequence()) > last,
      'the publisher announces again with a higher sequence',
    );
    t.equal(titleOf(replica), 'second', 'the older head was never served');

    const hash = headOf((await store.read('head'))?.text ?? '')?.hash ?? '';
    await store.delete(hash);
    const late = fleet.replica();
    await untilServed([late], 'second');

    const before = await sequence();
    await Promise.all((await store.keys()).map((key) => store.remove(key)));
    await Promise.all((await store.list()).map(({ name }) => store.delete(name)));
    source.replace(events(10, 'third'));
    await untilServed([replica, late], 'third');
    t.ok((await sequence()) > before, 'sequences go on');
  });
}

test('a new announcement has a higher sequence than replicas served in another epoch', {
  timeout: 60_000,
}, async (t) => {
  const fleet = await openFleet(t, 'folder');
  const { store } = fleet;
  const publishing = await fleet.publisher(new MemorySource(events(10, 'first')));
  await publishing.announced;
  const sequenceOfHead = async (): Promise<number> =>
    headOf((await store.read('head'))?.text ?? '')?.sequence ?? 0;
  // The clock of an earlier publisher was an hour ahead, and the store lost its records since.
  const sequence = (await sequenceOfHead()) + 3_600_000;
  const report = { name: 'other', formats: [IMAGE_FORMAT_VERSION], quarantined: [], serves: null };
  const other = { ...report, floor: { epoch: 'A'.repeat(22), sequence }, fetching: null, damaged: null };
  await store.swap('replica.other', JSON.stringify(other), null);
  await until(async () => (await sequenceOfHead()) > sequence, 'a head above it');
  const seen = new SeenOrder();
  seen.serves({ epoch: 'A'.repeat(22), sequence });
  t.throws(() => seen.checkHead({ epoch: 'B'.repeat(22), sequence: sequence - 1 }), {
    code: 'announcement-refused',
  });
  t.doesNotThrow(() => seen.checkHead({ epoch: 'B'.repeat(22), sequence: sequence + 1 }));
});
