import { test } from 'tap';
import { MemorySource } from '../refresh/built.js';
import { events, KINDS, openChannel, openFleet, titleOf, until, untilServed } from './fleet.js';

for (const { kind, skip } of KINDS) {
  test(`${kind}: a canary serves a candidate first, then all replicas do`, {
    skip,
    timeout: 170_000,
  }, async (t) => {
    const fleet = await openFleet(t, kind);
    const source = new MemorySource(events(10, 'first'));
    const publishing = await fleet.publisher(source);
    await publishing.announced;
    const [canary, replica] = [fleet.replica({ canary: true }), fleet.replica()];
    await untilServed([canary, replica], 'first');
    const channel = await openChannel(fleet.address);
    t.teardown(() => channel.close());
    await until(
      async () => (await channel.status()).replicas.some((each) => each.isCanary),
      'the canary reports',
    );
    source.replace(events(10, 'second'));
    await untilServed([canary], 'second');
    t.equal(titleOf(replica), 'first');
    const { candidate, head } = await channel.status();
    await t.rejects(channel.promote(head?.id ?? ''), { code: 'announcement-refused' });
    const isServed = async () =>
      (await channel.status()).replicas.some((each) => each.isCanary && each.serves?.id === candidate?.id);
    await until(isServed, 'the canary reports what it serves');
    await channel.promote(candidate?.id ?? '');
    await untilServed([canary, replica], 'second');
  });
}
