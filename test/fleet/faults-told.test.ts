import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'tap';
import type { Head } from '../../src/fleet/store-records.js';
import { MemorySource } from '../refresh/built.js';
import { NATS_MISSING } from '../store/nats-server.js';
import { timeForAFault } from '../waiting/until.js';
import { SlowLink } from './chaos/slow-link.js';
import { events, headOf, openChannel, openFleet, signed, titleOf, until, untilServed } from './fleet.js';

test('a pin from an older copy of the store is not served', async (t) => {
  const fleet = await openFleet(t, 'folder');
  const { store } = fleet;
  const snapshotFile = join(fleet.folder, 'snapshot');
  const source = new MemorySource(events(10, 'first'));
  const publishing = await fleet.publisher(source);
  await publishing.announced;
  let replica = fleet.replica({ snapshotFile });
  await untilServed([replica], 'first');
  const channel = await openChannel(fleet.address, { publisherKey: fleet.publisherKey });
  t.teardown(() => channel.close());
  const first = replica.summary?.id ?? '';
  await channel.pin(first);
  const copy = await store.read('pin');
  await channel.unpin();
  source.replace(events(10, 'second'));
  await untilServed([replica], 'second');

  await store.swap('pin', copy?.text ?? '', (await store.read('pin'))?.revision ?? null);
  await replica.refresh();
  t.match(
    replica.source.lastError,
    /older copy; to choose again, run `lectern channel pin <id>` or `lectern channel unpin`/,
  );
  t.equal(titleOf(replica), 'second');
  await replica.close();
  replica = fleet.replica({ snapshotFile });
  await replica.ready;
  await until(() => /older copy/.test(replica.source.lastError ?? ''), 'also after a restart');
  t.equal(titleOf(replica), 'second');

  await channel.unpin();
  source.replace(events(10, 'third'));
  await untilServed([replica], 'third');
  await channel.pin(first);
  await untilServed([replica], 'first');
});

test('only faults of an object are reported as damage', {
  skip: NATS_MISSING,
}, async (t) => {
  const fleet = await openFleet(t, 'nats');
  const { store, server } = fleet;
  const source = new MemorySource(events(10, 'first'));
  const publishing = await fleet.publisher(source);
  await publishing.announced;
  const link = await new SlowLink(server?.port ?? 0).listen();
  t.teardown(() => link.close());
  const replica = fleet.replica({ source: `nats://127.0.0.1:${link.port}/timetable` });
  await untilServed([replica], 'first');
  await publishing.close();
  const head = headOf((await store.read('head'))?.text ?? '') as Head;
  const announce = async (facts: Partial<Head>): Promise<void> => {
    const revision = (await store.read('head'))?.revision ?? null;
    await store.swap(
      'head',
      await signed(fleet.publisherKey, 'head', {
        ...head,
        id: 'A'.repeat(22),
        changes: [],
        contained: 0,
        ...facts,
      }),
      revision,
    );
  };
  const damaged = async (): Promise<string | null> => {
    const key = (await store.keys()).find((each) => each.startsWith('replica.')) ?? '';
    return (JSON.parse((await store.read(key))?.text ?? '{}') as { damaged?: string }).damaged ?? null;
  };
  const bytes = 3_000_000;
  const big = Buffer.alloc(bytes, 7);
  const hash = createHash('sha256').update(big).digest('hex');
  await store.put(
    hash,
    (async function* () {
      yield big;
    })(),
  );
  link.bytesPerSecond = 100_000;
  await announce({ sequence: head.sequence + 1, hash, bytes });
  // The transfer is under way; nothing tells how far it is.
  await delay(1500);
  link.cut();
  await until(() => /has not answered/.test(replica.source.lastError ?? ''), 'the transfer fails');
  link.mend();
  await timeForAFault(3000);
  t.equal(await damaged(), null, 'a bad link is no damage');
  const missing = 'f'.repeat(64);
  await announce({ sequence: head.sequence + 2, hash: missing, bytes });
  await until(async () => (await damaged()) === missing, 'a missing object is reported');
});
