import { join } from 'node:path';
import { test } from 'tap';
import { REPLICA_GONE_MS } from '../../src/limits.js';
import { SeenReports } from '../../src/replication/seen-reports.js';
import { openStore, storeAddress } from '../../src/store/open-store.js';

test('the record of a replica that is gone is removed, even if it has another name', async (t) => {
  const store = await openStore(storeAddress(join(t.testdir(), 'share')));
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
