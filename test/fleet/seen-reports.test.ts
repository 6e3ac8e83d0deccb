/** Which replicas count as live. Inside, because it turns the clock. */
import { join } from 'node:path';
import { test } from 'tap';
import { REPLICA_GONE_MS, REPORTS_MAX } from '../../src/base/limits.js';
import { SeenReports } from '../../src/fleet/publisher.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { storeAddress } from '../../src/store/store-address.js';

const REPORT = {
  name: 'present',
  version: '1',
  serves: null,
  damaged: null,
  lastError: null,
  beat: 1,
  reportedAtMs: 1,
};

test('the record of a vanished replica is removed, even if the record names another replica', async (t) => {
  const store = await openStore(storeAddress(join(t.testdir(), 'share')), 'make');
  await store.swap('replica.gone', JSON.stringify(REPORT), null);
  let revision = await store.swap('replica.present', JSON.stringify(REPORT), null);
  let nowMs = 0;
  const reports = new SeenReports(
    store,
    () => {},
    () => nowMs,
  );
  await reports.read();
  t.equal(reports.live.length, 2);
  nowMs = REPLICA_GONE_MS + 1;
  revision = await store.swap('replica.present', JSON.stringify({ ...REPORT, beat: 2 }), revision);
  t.type(revision, 'number');
  await reports.read();
  t.strictSame(reports.live, [{ ...REPORT, beat: 2 }]);
  t.strictSame(await store.keys(), ['replica.present']);
  await reports.read();
  t.equal(reports.live.length, 1, 'it does not count again');
});

test('malformed reports are ignored and logged, and are removed after a minute', async (t) => {
  const store = await openStore(storeAddress(join(t.testdir(), 'share')), 'make');
  const served = { epoch: 'e'.repeat(22), sequence: 1, id: 'i'.repeat(22), hash: 'f'.repeat(64) };
  const malformed: readonly unknown[] = [
    ...[null, true, 0, 'text', [], {}, [REPORT]],
    ...['name', 'version', 'serves', 'damaged', 'lastError', 'beat'].flatMap((member) => [
      { ...REPORT, [member]: undefined },
      { ...REPORT, [member]: { toString: 1 } },
      { ...REPORT, [member]: [] },
      { ...REPORT, [member]: 'x'.repeat(2000) },
    ]),
    { ...REPORT, beat: -1 },
    { ...REPORT, beat: 1e300 },
    { ...REPORT, serves: { ...served, sequence: 1.5 } },
    { ...REPORT, serves: { ...served, hash: ['f'.repeat(64)] } },
    { ...REPORT, damaged: '../secret' },
  ];
  const keys: string[] = [];
  for (const [n, each] of malformed.entries()) {
    keys.push(`replica.${n}`);
    await store.swap(`replica.${n}`, JSON.stringify(each), null);
  }
  await store.swap('replica.text', '{"name":', null);
  await store.swap('replica.good', JSON.stringify({ ...REPORT, serves: served, more: 1 }), null);
  const told = new Set<string>();
  let nowMs = 0;
  const reports = new SeenReports(
    store,
    (key) => told.add(key),
    () => nowMs,
  );
  await reports.read();
  t.strictSame(reports.live, [{ ...REPORT, serves: served }]);
  t.strictSame([...told].sort(), [...keys, 'replica.text'].sort());
  nowMs = REPLICA_GONE_MS + 1;
  await reports.read();
  t.strictSame(await store.keys(), []);
});

test('at most a thousand reports are read', async (t) => {
  let reads = 0;
  const keys = Array.from({ length: 3 * REPORTS_MAX }, (_, n) => `replica.${n}`);
  const store = {
    keys: async () => keys,
    async read() {
      reads++;
      return { text: '{}', revision: 1 };
    },
  } as unknown as Store;
  await new SeenReports(store, () => {}).read();
  t.equal(reads, REPORTS_MAX);
});
