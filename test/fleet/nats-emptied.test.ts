import { setTimeout as delay } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { test } from 'tap';
import { MemorySource } from '../refresh/built.js';
import { NATS_MISSING } from '../store/nats-server.js';
import { events, openFleet, titleOf, untilServed } from './fleet.js';

const options = { skip: NATS_MISSING };

test('a download whose chunks vanish ends, whole or with an error', options, async (t) => {
  const fleet = await openFleet(t, 'nats');
  const big = Buffer.alloc(8 * 1024 * 1024, 1);
  await fleet.store.put(
    'big',
    (async function* () {
      yield big;
    })(),
  );
  const chunks = await fleet.store.get('big');
  const connection = await connect({ servers: `127.0.0.1:${fleet.server?.port}` });
  t.teardown(() => connection.close());
  const manager = await jetstreamManager(connection);
  await manager.streams.purge('OBJ_timetable');
  const read = async (): Promise<number> => {
    let bytes = 0;
    for await (const chunk of chunks ?? []) {
      bytes += chunk.length;
      // A slow reader.
      await delay(20);
    }
    return bytes;
  };
  // Either all bytes were already in transit, or the read ends with an error: it never hangs.
  const outcome = await read().catch((error: { readonly code?: string }) => error.code);
  t.ok(outcome === big.length || outcome === 'store-unavailable', String(outcome));
});

test('replicas survive purged streams and deleted buckets', options, async (t) => {
  const fleet = await openFleet(t, 'nats');
  const source = new MemorySource(events(10, 'first'));
  await (await fleet.publisher(source)).announced;
  const replica = fleet.replica();
  await untilServed([replica], 'first');
  const connection = await connect({ servers: `127.0.0.1:${fleet.server?.port}` });
  t.teardown(() => connection.close());
  const manager = await jetstreamManager(connection);
  const acts = {
    'objects purged': () => manager.streams.purge('OBJ_timetable'),
    'records purged': () => manager.streams.purge('KV_timetable'),
    'objects deleted': () => manager.streams.delete('OBJ_timetable'),
    'records deleted': () => manager.streams.delete('KV_timetable'),
  };
  for (const [title, act] of Object.entries(acts)) {
    await act();
    const late = fleet.replica();
    await untilServed([late], titleOf(replica));
    source.replace(events(10, title));
    t.ok(await untilServed([replica, late], title), title);
    await late.close();
  }
});
