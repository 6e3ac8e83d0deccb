import { setTimeout as delay } from 'node:timers/promises';
import tap, { type Test, test } from 'tap';
import type { Channel, MemorySource as Source, Timetable } from '../../src/index.js';
import { MemorySource } from '../refresh/built.js';
import { events, type Fleet, KINDS, openChannel, openFleet, titleOf, until, untilServed } from './fleet.js';

tap.setTimeout(180_000);

interface Trial {
  readonly fleet: Fleet;
  readonly source: Source;
  readonly canary: Timetable;
  readonly replica: Timetable;
  readonly channel: Channel;
}

/** A fleet that serves `first`, with a canary. */
async function openTrial(t: Test, kind: 'folder' | 'nats'): Promise<Trial> {
  const fleet = await openFleet(t, kind);
  const source = new MemorySource(events(10, 'first'));
  const publishing = await fleet.publisher(source);
  await publishing.announced;
  const [canary, replica] = [fleet.replica({ canary: true }), fleet.replica()];
  await untilServed([canary, replica], 'first');
  const channel = await openChannel(fleet.address);
  t.teardown(() => channel.close());
  await until(async () => (await channel.status()).isCanaryExpected, 'the publisher knows of the canary');
  return { fleet, source, canary, replica, channel };
}

/** Loads a timetable, and waits until it is the candidate that the canary serves. Resolves to its id. */
async function propose({ source, canary, channel }: Trial, title: string): Promise<string> {
  source.replace(events(10, title));
  await untilServed([canary], title);
  const id = canary.summary?.id ?? '';
  const isReported = async (): Promise<boolean> =>
    (await channel.status()).replicas.some((each) => each.isCanary && each.serves?.id === id);
  await until(isReported, 'the canary reports what it serves');
  return id;
}

for (const { kind, skip } of KINDS) {
  test(`${kind}: a canary serves a candidate first, then all replicas do`, {
    skip,
    timeout: 170_000,
  }, async (t) => {
    const trial = await openTrial(t, kind);
    const { canary, replica, channel } = trial;
    const id = await propose(trial, 'second');
    t.equal(titleOf(replica), 'first');
    const { candidate, head } = await channel.status();
    t.equal(candidate?.id, id);
    await t.rejects(channel.promote(head?.id ?? ''), { code: 'announcement-refused' });
    await t.rejects(channel.pin(id), { code: 'announcement-refused' }, 'a candidate cannot be pinned');
    await channel.promote(id);
    await t.rejects(channel.promote(id), { message: `the image ${id} is the head already` });
    await untilServed([canary, replica], 'second');
  });
}

test('a rollback never chooses a candidate that was not promoted', { timeout: 170_000 }, async (t) => {
  const trial = await openTrial(t, 'folder');
  const { canary, replica, channel } = trial;
  const head = (await channel.status()).head?.id;
  // The store keeps fewer candidates.
  for (let n = 0; n < 6; n++) await propose(trial, `bad ${n}`);
  await channel.promote(await propose(trial, 'second'));
  await untilServed([canary, replica], 'second');
  // The publisher cleans after each announcement, and every four rounds.
  await delay(5000);
  t.strictSame((await channel.status()).images.map(({ id }) => id).slice(1), [head]);
  t.equal(await channel.rollback(), head);
  await untilServed([canary, replica], 'first');
});

test('a canary that leaves promotes nothing', { timeout: 170_000 }, async (t) => {
  const trial = await openTrial(t, 'folder');
  const { fleet, source, canary, replica, channel } = trial;
  const id = await propose(trial, 'second');
  await t.rejects(channel.endCanary(), { message: /still reports/ });
  await canary.close();
  // The publisher inspects the store at least once in this time.
  await delay(9000);
  t.match(await channel.status(), { candidate: { id }, isCanaryExpected: true });
  t.equal(titleOf(replica), 'first');
  source.replace(events(10, 'third'));
  await until(async () => (await channel.status()).candidate?.id !== id, 'a new candidate');
  t.equal(titleOf(replica), 'first');

  const loseRecords = async (): Promise<void> => {
    await Promise.all((await fleet.store.keys()).map((key) => fleet.store.remove(key)));
  };
  await loseRecords();
  const isAnnounced = async (): Promise<boolean> => (await channel.status()).candidate !== null;
  await until(isAnnounced, 'the candidate is announced again');
  const { head, candidate } = await channel.status();
  t.equal(head, null, 'it is still a candidate');
  t.equal(titleOf(replica), 'first');
  await t.rejects(channel.promote(candidate?.id ?? ''), { message: /no canary serves/ });
  await channel.promote(candidate?.id ?? '', { force: true });
  await untilServed([replica], 'third');
  // The publisher sees the promotion in its next round.
  await delay(3000);
  await loseRecords();
  await until(async () => (await channel.status()).head !== null, 'the promoted image is the head again');

  source.replace(events(10, 'fourth'));
  await until(isAnnounced, 'the next candidate');
  await channel.endCanary();
  await untilServed([replica], 'fourth');
  t.match(await channel.status(), { candidate: null, isCanaryExpected: false });
  source.replace(events(10, 'fifth'));
  await untilServed([replica], 'fifth');
});
