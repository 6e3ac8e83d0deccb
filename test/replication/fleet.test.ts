import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { MemorySource } from '../refresh/built.js';
import { type Head, headOf, SigningKey } from '../../src/replication/head.js';
import { events, KINDS, openChannel, openFleet, titleOf, until, untilServed, writeKeys } from './fleet.js';

for (const { kind, skip } of KINDS) {
  test(`${kind}: one builds, all serve the same`, { skip }, async (t) => {
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
    t.equal(new Set(replicas.map((each) => Buffer.from(each.findBytes({})).toString())).size, 1, 'equal bytes');

    source.replace(events(3, 'poison'));
    await publishing.refresh();
    const channel = await openChannel(fleet.address, { publicKeyFile: fleet.publicKeyFile });
    t.teardown(() => channel.close());
    t.equal((await channel.status()).head?.events, 11, 'what the gate refuses is not announced');

    await publishing.refresh(true);
    await until(async () => (await channel.status()).head?.events === 3, 'the forced load is announced');
    await until(
      async () => (await channel.status()).replicas.every(({ quarantined }) => quarantined.length === 1),
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
    await until(async () => (await channel.status()).head?.events === 12, 'the next is announced beside the pin');
    await channel.unpin();
    await untilServed([...replicas, fresh], 'third');
    const { head, leader, replicas: reports } = await channel.status();
    t.equal(head?.sequence, 4);
    t.type(leader, 'string');
    t.equal(reports.length, 4);
    await fresh.close();
    await until(async () => (await channel.status()).replicas.length === 3, 'a closed replica is gone');
  });

  test(`${kind}: announcements that are not good`, { skip }, async (t) => {
    const fleet = await openFleet(t, kind);
    const source = new MemorySource(events(10, 'good'));
    const publishing = await fleet.publisher(source);
    await publishing.announced;
    const replica = fleet.replica();
    await untilServed([replica], 'good');
    await publishing.close();
    const { store } = fleet;
    const good = await store.read('head');
    const head = headOf(good?.text ?? '') as Head;
    let revision = good?.revision ?? null;
    const announce = async (text: string): Promise<string> => {
      revision = await store.swap('head', text, revision);
      await replica.refresh();
      t.equal(titleOf(replica), 'good', 'the good one is served on');
      return replica.source.lastError ?? '';
    };
    const garbage = Buffer.alloc(1000, 7);
    const hash = createHash('sha256').update(garbage).digest('hex');
    await store.put(hash, (async function* () { yield garbage; })());
    const bad = { ...head, sequence: 7, id: 'A'.repeat(22), hash, bytes: garbage.length };
    const key = new SigningKey(fleet.keyFile);
    const stranger = new SigningKey(writeKeys(fleet.folder, 'stranger').keyFile);
    t.match(await announce(await stranger.sign(bad)), /signature is not good/);
    t.match(await announce('no JWS'), /signature is not good/);
    const [protectedHeader, , signature] = (good?.text ?? '').split('.');
    const forged = Buffer.from(JSON.stringify(bad)).toString('base64url');
    t.match(await announce(`${protectedHeader}.${forged}.${signature}`), /signature is not good/);
    t.match(await announce(await key.sign(bad)), /not a snapshot file/, 'garbage with the right hash');
    t.match(await announce(await key.sign({ ...bad, bytes: 10 })), /not a snapshot file|longer/);
    t.match(await announce(await key.sign({ ...bad, hash: 'f'.repeat(64) })), /is missing/);
    t.match(await announce(await key.sign({ ...bad, hash: 'e'.repeat(64), format: 1 })), /format 1/);
    t.match(await announce(await key.sign({ ...bad, hash: head.hash, bytes: head.bytes })), /its content is/);
    t.match(await announce(await key.sign({ ...bad, sequence: 0 })), /older copy/);

    const healing = await fleet.publisher(new MemorySource(events(11, 'healed')));
    await healing.announced;
    await untilServed([replica], 'healed');
  });

  test(`${kind}: a store that is damaged, restored or emptied`, { skip }, async (t) => {
    const fleet = await openFleet(t, kind);
    const { store } = fleet;
    const source = new MemorySource(events(10, 'first'));
    const publishing = await fleet.publisher(source);
    await publishing.announced;
    const replica = fleet.replica();
    await untilServed([replica], 'first');
    const old = await store.read('head');
    source.replace(events(10, 'second'));
    await untilServed([replica], 'second');

    const present = await store.read('head');
    await store.swap('head', old?.text ?? '', present?.revision ?? null);
    await until(
      async () => headOf((await store.read('head'))?.text ?? '')?.sequence === 3,
      'the publisher announces again with a higher sequence',
    );
    t.equal(titleOf(replica), 'second', 'the older head was never served');

    const hash = headOf((await store.read('head'))?.text ?? '')?.hash ?? '';
    await store.delete(hash);
    const late = fleet.replica();
    await untilServed([late], 'second');

    await Promise.all((await store.keys()).map((key) => store.remove(key)));
    await Promise.all((await store.list()).map(({ name }) => store.delete(name)));
    source.replace(events(10, 'third'));
    await untilServed([replica, late], 'third');
    t.ok((headOf((await store.read('head'))?.text ?? '')?.sequence ?? 0) > 3, 'sequences go on');
  });

  test(`${kind}: a canary, then all`, { skip }, async (t) => {
    const fleet = await openFleet(t, kind);
    const source = new MemorySource(events(10, 'first'));
    const publishing = await fleet.publisher(source);
    await publishing.announced;
    const [canary, replica] = [fleet.replica({ canary: true }), fleet.replica()];
    await untilServed([canary, replica], 'first');
    const channel = await openChannel(fleet.address);
    t.teardown(() => channel.close());
    await until(async () => (await channel.status()).replicas.some((each) => each.isCanary), 'the canary reports');
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

  test(`${kind}: a standby takes over; images are cleaned away`, { skip }, async (t) => {
    const fleet = await openFleet(t, kind);
    const { store } = fleet;
    // A leader that was killed: its lease stays, and is never renewed.
    await store.swap('leader', JSON.stringify({ owner: 'killed', beat: 1 }), null);
    const source = new MemorySource(events(10, 'n 0'));
    const [one, two] = [await fleet.publisher(source), await fleet.publisher(source)];
    const tookMs = await until(async () => (await store.read('head')) !== null, 'a standby leads');
    t.ok(tookMs > 3000, 'a live leader is not replaced');
    const replica = fleet.replica();
    await untilServed([replica], 'n 0');
    const channel = await openChannel(fleet.address);
    t.teardown(() => channel.close());
    await channel.pin(replica.summary?.id ?? '');
    for (let n = 1; n <= 8; n++) {
      source.replace(events(10, `n ${n}`));
      await until(async () => (await channel.status()).head?.sequence === n + 1, `announcement ${n}`);
    }
    await until(async () => (await store.list()).length === 6, 'five images and the pinned one stay');
    t.equal(titleOf(replica), 'n 0', 'a pinned image is served');
    await channel.unpin();
    await untilServed([replica], 'n 8');

    const { leader } = await channel.status();
    await Promise.all([one.close(), two.close()]);
    const three = await fleet.publisher(new MemorySource(events(10, 'taken over')));
    await three.announced;
    await untilServed([replica], 'taken over');
    t.not((await channel.status()).leader, leader);
  });
}

test('a replica starts from its disk while the store is away', async (t) => {
  const fleet = await openFleet(t, 'folder');
  const snapshotFile = join(fleet.folder, 'replica', 'snapshot');
  mkdirSync(join(fleet.folder, 'replica'));
  const publishing = await fleet.publisher(new MemorySource(events(10, 'kept')));
  await publishing.announced;
  const first = fleet.replica({ snapshotFile });
  await first.ready;
  await first.close();
  await publishing.close();
  const images = join(fleet.folder, 'share', 'images');
  for (const name of readdirSync(images)) {
    const bytes = readFileSync(join(images, name));
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    writeFileSync(join(images, name), bytes);
  }
  const again = fleet.replica({ snapshotFile });
  await again.ready;
  t.equal(titleOf(again), 'kept');
  t.equal(again.publication?.origin, 'disk');
  const other = fleet.replica();
  await t.rejects(
    Promise.race([other.ready, until(() => false, 'x').catch(() => {}), until(() => other.source.lastError !== null, 'a fault').then(() => Promise.reject(new Error(other.source.lastError ?? '')))]),
    /has other bytes than announced/,
    'a flipped byte is never served',
  );
  const mending = await fleet.publisher(new MemorySource(events(10, 'kept')));
  await mending.announced;
  await untilServed([other], 'kept');
});
