/**
 * Stores that are damaged, restored or emptied. Inside for the order that one replica has seen, which has no other
 * witness.
 */
import { test } from 'tap';
import { SeenOrder } from '../../src/fleet/replica.js';
import { MemorySource } from '../refresh/built.js';
import { timeForAFault } from '../waiting/until.js';
import { events, headOf, KINDS, openChannel, openFleet, titleOf, until, untilServed } from './fleet.js';

test('forged sequences do not stop announcements', async (t) => {
  const fleet = await openFleet(t, 'folder');
  const { store } = fleet;
  const source = new MemorySource(events(10, 'first'));
  const publishing = await fleet.publisher(source);
  await publishing.announced;
  const epoch = headOf((await store.read('head'))?.text ?? '')?.epoch;
  const sequence = Number.MAX_SAFE_INTEGER;
  await store.swap('pin', JSON.stringify({ id: null, sequence }), null);
  const serves = { epoch, sequence, id: 'i'.repeat(22), hash: 'f'.repeat(64) };
  const forged = {
    name: 'forged',
    version: '1',
    serves,
    damaged: null,
    lastError: null,
    beat: 1,
    reportedAtMs: 1,
  };
  await store.swap('replica.forged', JSON.stringify(forged), null);
  const replica = fleet.replica();
  await untilServed([replica], 'first');
  // The publisher reads reports every four rounds.
  await timeForAFault(5000);
  source.replace(events(10, 'second'));
  await untilServed([replica], 'second');
  const head = headOf((await store.read('head'))?.text ?? '');
  t.equal(head?.epoch, epoch);
  t.ok((head?.sequence ?? sequence) < Date.now() + 60_000, 'sequences still come from the clock');
  const channel = await openChannel(fleet.address, { publisherKey: fleet.publisherKey });
  t.teardown(() => channel.close());
  const [, earlier] = (await channel.status()).images;
  await channel.pin(earlier?.id ?? '');
  await untilServed([replica], 'first');
});

for (const { kind, skip } of KINDS) {
  test(`${kind}: replicas survive a store that is damaged, restored or emptied`, {
    skip,
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

test('a replica refuses lower sequences, also of another epoch', (t) => {
  const seen = new SeenOrder();
  seen.serves({ epoch: 'A'.repeat(22), sequence: 10 });
  t.throws(() => seen.checkHead({ epoch: 'B'.repeat(22), sequence: 9 }), { code: 'announcement-refused' });
  t.doesNotThrow(() => seen.checkHead({ epoch: 'B'.repeat(22), sequence: 11 }));
  t.end();
});
