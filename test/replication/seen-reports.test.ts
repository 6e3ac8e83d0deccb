import { join } from 'node:path';
import { test } from 'tap';
import { REPLICA_GONE_MS, REPLICAS_NAMED_MAX } from '../../src/limits.js';
import { SeenReports } from '../../src/replication/seen-reports.js';
import { tellUnable } from '../../src/replication/store-records.js';
import { openStore } from '../../src/store/open-store.js';
import { storeAddress } from '../../src/store/store-address.js';

test('the record of a vanished replica is removed, even if the record names another replica', async (t) => {
  const store = await openStore(storeAddress(join(t.testdir(), 'share')), 'make');
  await store.swap('replica.gone', JSON.stringify({ name: 'present', formats: [] }), null);
  let revision = await store.swap('replica.present', JSON.stringify({ name: 'present', formats: [1] }), null);
  let nowMs = 0;
  const reports = new SeenReports(store, () => nowMs);
  await reports.read();
  t.equal(reports.live.length, 2);
  nowMs = REPLICA_GONE_MS + 1;
  const next = JSON.stringify({ name: 'present', formats: [1], beat: 1 });
  revision = await store.swap('replica.present', next, revision);
  t.type(revision, 'number');
  await reports.read();
  t.match(reports.live, [{ formats: [1] }]);
  t.equal(reports.live.length, 1);
  t.strictSame(await store.keys(), ['replica.present']);
  await reports.read();
  t.equal(reports.live.length, 1, 'it does not count again');
});

test('a message counts the replicas that cannot read an image, and names the first', (t) => {
  t.equal(tellUnable(['a']), '1 replica cannot read: a');
  t.equal(tellUnable(['a', 'b']), '2 replicas cannot read: a, b');
  const many = Array.from({ length: REPLICAS_NAMED_MAX + 1 }, (_, n) => `r${n}`);
  t.equal(tellUnable(many), `${many.length} replicas cannot read: ${many.slice(0, -1).join(', ')}`);
  t.end();
});
