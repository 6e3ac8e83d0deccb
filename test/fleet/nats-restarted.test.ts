import { test } from 'tap';
import { MemorySource } from '../refresh/built.js';
import { NATS_MISSING } from '../store/nats-server.js';
import { events, openFleet, titleOf, until, untilServed } from './fleet.js';

const options = { skip: NATS_MISSING };

test('replicas survive a killed and restarted server', options, async (t) => {
  const fleet = await openFleet(t, 'nats');
  const source = new MemorySource(events(10, 'first'));
  await (await fleet.publisher(source)).announced;
  const replicas = [fleet.replica(), fleet.replica()];
  await untilServed(replicas, 'first');
  let reads = 0;
  const reading = setInterval(() => {
    for (const replica of replicas) reads += replica.find({ limit: 1 }).events.length;
  }, 10);
  t.teardown(() => clearInterval(reading));
  await fleet.server?.stop('SIGKILL');
  source.replace(events(10, 'second'));
  await until(() => replicas.every(({ status }) => status === 'degraded'), 'replicas are degraded');
  t.strictSame(replicas.map(titleOf), ['first', 'first']);
  await fleet.server?.start();
  await untilServed(replicas, 'second');
  await until(() => replicas.every(({ status }) => status === 'ok'), 'replicas are well again');
  t.ok(reads > 100, 'no read failed');
});
