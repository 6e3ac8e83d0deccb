import { test } from 'tap';
import { MemorySource } from '../refresh/built.js';
import { events, KINDS, openChannel, openFleet, signed, titleOf, until, untilServed } from './fleet.js';

for (const { kind, skip } of KINDS) {
  test(`${kind}: a standby takes over, and old images are removed`, { skip }, async (t) => {
    const fleet = await openFleet(t, kind);
    const { store } = fleet;
    // A leader that was killed: its lease stays and is never renewed.
    const killed = { owner: 'killed', beat: 1, renewedAtMs: 1 };
    await store.swap('leader', await signed(fleet.publisherKey, 'lease', killed), null);
    const source = new MemorySource(events(10, 'n 0'));
    const [one, two] = [await fleet.publisher(source), await fleet.publisher(source)];
    const tookMs = await until(async () => (await store.read('head')) !== null, 'a standby leads');
    t.ok(tookMs > 3000, 'a leader is not replaced while it may be alive');
    // On a machine that does nothing else, within 10 s.
    t.ok(tookMs <= 30_000, `a standby takes over: ${Math.round(tookMs)} ms`);
    const replica = fleet.replica();
    await untilServed([replica], 'n 0');
    const channel = await openChannel(fleet.address, { publisherKey: fleet.publisherKey });
    t.teardown(() => channel.close());
    await channel.pin(replica.summary?.id ?? '');
    for (let n = 1; n <= 6; n++) {
      const last = (await channel.status()).head?.id;
      source.replace(events(10, `n ${n}`));
      await until(async () => (await channel.status()).head?.id !== last, `announcement ${n}`);
    }
    // The pinned image, the newest five, and the last of each minute.
    const hasStayed = ({ images }: Awaited<ReturnType<typeof channel.status>>): boolean => {
      const minuteOf = (n: number): number => Math.floor((images[n]?.announcedAtMs ?? 0) / 60_000);
      return images.length === 6 || (images.length === 7 && minuteOf(5) !== minuteOf(4));
    };
    await until(async () => hasStayed(await channel.status()), 'old images are removed');
    t.equal(titleOf(replica), 'n 0', 'a pinned image is served');
    await channel.unpin();
    await untilServed([replica], 'n 6');

    const { leader } = await channel.status();
    await Promise.all([one.close(), two.close()]);
    const three = await fleet.publisher(new MemorySource(events(10, 'taken over')));
    await three.announced;
    await untilServed([replica], 'taken over');
    t.not((await channel.status()).leader, leader);
  });
}
