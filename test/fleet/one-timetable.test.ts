import { test } from 'tap';
import { MemorySource } from '../refresh/built.js';
import { events, KINDS, openChannel, openFleet, titleOf, until, untilServed } from './fleet.js';

for (const { kind, skip } of KINDS) {
  test(`${kind}: one publisher builds, and all replicas serve the same`, {
    skip,
  }, async (t) => {
    const fleet = await openFleet(t, kind);
    const source = new MemorySource(events(10, 'first'));
    const early = fleet.replica();
    const publishing = await fleet.publisher(source);
    await publishing.announced;
    const replicas = [early, fleet.replica(), fleet.replica()];
    await untilServed(replicas, 'first');
    source.replace(events(11, 'second'));
    await untilServed(replicas, 'second');
    const ids = new Set(replicas.map(({ summary }) => summary?.id));
    t.equal(ids.size, 1);
    t.equal(
      new Set(replicas.map((each) => Buffer.from(each.findBytes({})).toString())).size,
      1,
      'equal bytes',
    );

    source.replace(events(3, 'poison'));
    await publishing.refresh();
    const channel = await openChannel(fleet.address, { publisherKey: fleet.publisherKey });
    t.teardown(() => channel.close());
    await until(
      async () => (await channel.status()).head?.events === 11,
      'what the gate refuses is not announced',
    );

    await publishing.refresh(true);
    await until(async () => (await channel.status()).head?.events === 3, 'the forced load is announced');
    await until(
      async () => (await channel.status()).replicas.every(({ lastError }) => lastError !== null),
      'replicas judge with gates of their own',
    );
    t.strictSame(replicas.map(titleOf), ['second', 'second', 'second']);
    const fresh = fleet.replica();
    await untilServed([fresh], 'poison');
    const back = await channel.rollback();
    t.equal(back, replicas[0]?.summary?.id);
    await untilServed([...replicas, fresh], 'second');
    await t.rejects(channel.pin('A'.repeat(22)), { code: 'announcement-refused' });
    source.replace(events(12, 'third'));
    await publishing.refresh(true);
    await until(
      async () => (await channel.status()).head?.events === 12,
      'the next is announced beside the pin',
    );
    await channel.unpin();
    await untilServed([...replicas, fresh], 'third');
    await until(async () => (await channel.status()).replicas.length === 4, 'all report');
    const { head, leader } = await channel.status();
    t.equal(new Set(replicas.map(({ view }) => view?.version)).size, 1, 'equal versions');
    t.ok(Number.parseInt(replicas[0]?.view?.version ?? '', 10) >= (head?.sequence ?? Number.NaN));
    t.type(leader, 'string');
    await fresh.close();
    await until(async () => (await channel.status()).replicas.length === 3, 'a closed replica is gone');
  });
}
