/** What a replica's own gate refuses. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import type { Head } from '../../src/fleet/store-records.js';
import { MemorySource } from '../refresh/built.js';
import { events, headOf, openChannel, openFleet, signed, titleOf, until, untilServed } from './fleet.js';

test('a refused image keeps its reason, and can be pinned and rolled back', async (t) => {
  const fleet = await openFleet(t, 'folder');
  const source = new MemorySource(events(10, 'good'));
  const publishing = await fleet.publisher(source);
  await publishing.announced;
  const replica = fleet.replica();
  await untilServed([replica], 'good');
  const server = await replica.serve({ port: 0, dev: true, admin: { port: 0 } });
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`${server.adminAddress?.origin}/metrics`)).text();
    return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
  };
  t.equal(await metric('lectern_channel_lag_seconds'), 0);
  const channel = await openChannel(fleet.address, { publisherKey: fleet.publisherKey });
  t.teardown(() => channel.close());

  const good = (await channel.status()).head;
  source.replace(events(2, 'poison'));
  await publishing.refresh(true);
  await until(() => replica.source.state === 'refused', 'the replica refuses it');
  const bad = (await channel.status()).head?.id ?? '';
  const reason = async (): Promise<string> => (await channel.status()).replicas[0]?.lastError ?? '';
  await until(async () => /80.0 % fewer/.test(await reason()), 'the reason is reported');
  await replica.refresh();
  await replica.refresh();
  t.match(await reason(), /80.0 % fewer/, 'also after it looked again');
  t.equal(titleOf(replica), 'good');
  t.ok((await metric('lectern_channel_lag_seconds')) > 0);
  t.equal(await metric('lectern_channel_quarantined_images'), 1);
  t.equal(await metric('lectern_channel_sequence'), good?.sequence);

  await channel.pin(bad);
  await untilServed([replica], 'poison');
  t.equal(await metric('lectern_channel_pinned'), 1);
  t.equal(await metric('lectern_channel_lag_seconds'), 0);
  await until(async () => (await reason()) === '', 'the reason is gone');
  await channel.rollback();
  await untilServed([replica], 'good');
  source.replace(events(11, 'better'));
  await publishing.refresh();
  await until(async () => (await channel.status()).head?.events === 11, 'it is announced');
  t.equal(titleOf(replica), 'good', 'the pin stands');
  await channel.unpin();
  await untilServed([replica], 'better');
  t.equal(await metric('lectern_channel_sequence'), (await channel.status()).head?.sequence);
  t.equal(await metric('lectern_channel_pinned'), 0);
});

test('a replica keeps the pinned image if the store loses the pin, until an operator chooses again', async (t) => {
  const fleet = await openFleet(t, 'folder');
  const source = new MemorySource(events(10, 'good'));
  const publishing = await fleet.publisher(source);
  await publishing.announced;
  const snapshotFile = join(fleet.folder, 'snapshot');
  const [replica, restarted] = [fleet.replica(), fleet.replica({ snapshotFile })];
  await untilServed([replica, restarted], 'good');
  const channel = await openChannel(fleet.address, { publisherKey: fleet.publisherKey });
  t.teardown(() => channel.close());
  source.replace(events(10, 'bad'));
  await publishing.refresh();
  await untilServed([replica, restarted], 'bad');
  await channel.rollback();
  await untilServed([replica, restarted], 'good');

  await restarted.close();
  rmSync(join(fleet.folder, 'share'), { recursive: true });
  await until(async () => (await channel.status()).head?.events === 10, 'the head is announced again');
  const again = fleet.replica({ snapshotFile });
  await untilServed([again], 'good');
  const reasons = async (): Promise<unknown[]> =>
    (await channel.status()).replicas.map(({ lastError }) => lastError);
  const lost = /the store has lost the last pin; to choose again, run `lectern channel pin <id>`/;
  await until(async () => {
    const all = await reasons();
    return all.length === 2 && all.every((reason) => lost.test(String(reason)));
  }, 'both replicas say so');
  t.strictSame([replica, again].map(titleOf), ['good', 'good']);
  await channel.unpin();
  await untilServed([replica, again], 'bad');
  await until(async () => (await reasons()).every((reason) => reason === null), 'nothing is wrong');
});

test('an image beyond the limits of a replica is refused with the reason', async (t) => {
  const fleet = await openFleet(t, 'folder');
  const { store } = fleet;
  const source = new MemorySource(events(10, 'small'));
  const publishing = await fleet.publisher(source);
  await publishing.announced;
  const replica = fleet.replica();
  await untilServed([replica], 'small');
  const channel = await openChannel(fleet.address, { publisherKey: fleet.publisherKey });
  t.teardown(() => channel.close());
  const reason = async (): Promise<string> => (await channel.status()).replicas[0]?.lastError ?? '';
  await publishing.close();
  const head = headOf((await store.read('head'))?.text ?? '') as Head;
  const { hash } = head;
  const lengths: readonly ((bytes: number) => Partial<Head>)[] = [
    (length) => ({ bytes: length }),
    (length) => ({ changes: [{ from: 1, hash, bytes: length }] }),
    (length) => ({ history: { hash, bytes: length } }),
  ];
  for (const [n, withLength] of lengths.entries()) {
    const more = { sequence: head.sequence + 1 + n, id: 'A'.repeat(22), events: 5 };
    const huge = { ...head, history: null, ...more, ...withLength(2 ** (50 - n)) };
    await store.swap(
      'head',
      await signed(fleet.publisherKey, 'head', huge),
      (await store.read('head'))?.revision ?? null,
    );
    const mebibytes = 2 ** (30 - n);
    await until(async () => {
      const [, needs] = /was refused: it needs (\d+) MiB of memory/.exec(await reason()) ?? [];
      return Math.floor(Number(needs) / 2) * 2 === mebibytes;
    }, `the reason is reported: ${mebibytes} MiB`);
    t.match(replica.source.lastError, /it needs \d+ MiB of memory, and only/);
    t.equal(titleOf(replica), 'small');
  }
});

test('a replica that cannot read the announced format serves on, and says so', async (t) => {
  const fleet = await openFleet(t, 'folder');
  const publishing = await fleet.publisher(new MemorySource(events(10, 'good')));
  await publishing.announced;
  const replica = fleet.replica();
  const errors: string[] = [];
  replica.on('error', ({ message }) => void errors.push(message));
  await untilServed([replica], 'good');
  const server = await replica.serve({ port: 0, dev: true, admin: { port: 0 } });
  const told = async (): Promise<{ readonly ready: unknown; readonly metric: string | undefined }> => {
    const [ready, metrics] = await Promise.all(
      ['ready', 'metrics'].map(async (path) => fetch(`${server.adminAddress?.origin}/${path}`)),
    );
    const metric = /^lectern_channel_format_unreadable (.*)$/m.exec((await metrics?.text()) ?? '')?.[1];
    return { ready: { status: ready?.status, body: await ready?.json() }, metric };
  };
  const known = {
    ready: { status: 200, body: { ready: true, reasons: [], overloaded: false } },
    metric: '0',
  };
  t.strictSame(await told(), known);
  await publishing.close();

  const { text = '', revision = null } = (await fleet.store.read('head')) ?? {};
  const head = headOf(text) as Head;
  const next = { ...head, sequence: head.sequence + 1, id: 'A'.repeat(22), format: head.format + 1 };
  const changed = await fleet.store.swap('head', await signed(fleet.publisherKey, 'head', next), revision);
  await replica.refresh();
  t.equal(titleOf(replica), 'good');
  const body = { ready: true, reasons: [], overloaded: false, unreadableFormat: next.format };
  t.strictSame(await told(), { ready: { status: 200, body }, metric: '1' });
  t.match(errors.at(-1), `cannot be read: it has format ${next.format}, and this version reads`);
  await fleet.store.swap(
    'head',
    await signed(fleet.publisherKey, 'head', { ...head, sequence: next.sequence + 1 }),
    changed,
  );
  await replica.refresh();
  t.strictSame(await told(), known);
});
