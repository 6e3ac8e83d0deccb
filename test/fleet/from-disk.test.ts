import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { MemorySource } from '../refresh/built.js';
import { NATS_MISSING } from '../store/nats-server.js';
import { events, openFleet, titleOf, until, untilServed } from './fleet.js';

test('a replica starts from its disk while the images of the store are damaged', async (t) => {
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
  await until(() => other.source.lastError !== null, 'the replica names the fault');
  t.match(other.source.lastError, /has other bytes than announced/, 'a flipped byte is never served');
  const mending = await fleet.publisher(new MemorySource(events(10, 'kept')));
  await mending.announced;
  await untilServed([other], 'kept');
});

test('a replica serves from its disk at once while NATS is down', {
  skip: NATS_MISSING,
}, async (t) => {
  const fleet = await openFleet(t, 'nats');
  const snapshotFile = join(fleet.folder, 'replica', 'snapshot');
  mkdirSync(join(fleet.folder, 'replica'));
  const source = new MemorySource(events(10, 'kept'));
  const publishing = await fleet.publisher(source);
  await publishing.announced;
  const firstBeganMs = performance.now();
  const first = fleet.replica({ snapshotFile });
  await first.ready;
  const firstMs = performance.now() - firstBeganMs;
  const version = first.view?.version;
  await first.close();
  await fleet.server?.stop();
  const began = performance.now();
  const again = fleet.replica({ snapshotFile });
  await again.ready;
  // A busy machine is slower.
  t.ok(performance.now() - began < 4000 + 3 * firstMs, 'it waits for no answer of the store');
  t.equal(titleOf(again), 'kept');
  t.equal(again.view?.version, version);
  t.equal(again.publication?.origin, 'disk');
  await until(() => again.status === 'degraded', 'it says that the store is down');
  await fleet.server?.start();
  source.replace(events(10, 'next'));
  await untilServed([again], 'next');
});
