/** The logs of a replica that has no timetable yet, and of a publisher. */
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { publishTimetable } from '../../src/app/publishing.js';
import { startService } from '../../src/app/service.js';
import { SigningKey } from '../../src/fleet/keys.js';
import type { Head } from '../../src/fleet/store-records.js';
import { readReports } from '../../src/fleet/store-records.js';
import { MemorySource } from '../../src/index.js';
import type { ServiceOptions } from '../../src/options/option-types.js';
import { IMAGE_FORMAT } from '../../src/snapshot/image-layout.js';
import { openStore } from '../../src/store/open-store.js';
import { storeAddress } from '../../src/store/store-address.js';
import { keptLog } from '../app/threads.js';
import { SECRET } from '../auth/tokens.js';
import { testFolder } from '../base/files/test-folder.js';
import { events, until, writeKeys } from './fleet.js';

const HEAD: Head = {
  epoch: 'e'.repeat(22),
  sequence: 1,
  previous: null,
  id: 'i'.repeat(22),
  format: IMAGE_FORMAT,
  hash: 'f'.repeat(64),
  bytes: 1000,
  changes: [],
  contained: 0,
  history: null,
  hidden: 'f'.repeat(64),
  events: 10,
  rejected: 0,
  announcedAtMs: 1,
};

/** A replica with its messages. */
async function startReplica(
  t: Test,
  options: ServiceOptions,
): Promise<(message: string) => readonly string[]> {
  const { log, lines } = keptLog();
  const service = await startService({ dev: false, port: 0, hs256Secret: SECRET, ...options }, { log });
  t.teardown(() => service.close());
  return (message) =>
    lines
      .filter((line) => line.message === message)
      .map(({ fields }) => String((fields as { readonly reason?: string }).reason));
}

const FAILED = 'timetable not loaded';
const WAITING = 'still waiting for the source';

test('each reason is logged once and at once; a replica that still waits is logged, too', async (t) => {
  const folder = testFolder(t, { share: { records: {} } });
  const source = storeAddress(join(folder, 'share'));
  const store = await openStore(source, 'make');
  t.teardown(() => store.close());
  const [right, other] = [writeKeys(folder, 'right'), writeKeys(folder, 'other')];
  const reasonsOf = await startReplica(t, { source, publisherPublicKey: right.publisherPublicKey });
  await until(() => reasonsOf(FAILED).length > 0, 'the reason is logged');
  t.strictSame(reasonsOf(WAITING), [], 'before the wait is logged');
  await until(() => reasonsOf(WAITING).length > 0, 'the wait is logged');
  t.match(reasonsOf(WAITING), [/^no publisher has announced an image/]);
  t.strictSame(reasonsOf(FAILED), reasonsOf(WAITING));

  await store.swap('head', await new SigningKey(other.publisherKey).sign('head', HEAD), null);
  await until(() => reasonsOf(FAILED).length > 1, 'another reason is logged');
  t.match(reasonsOf(FAILED)[1], /its signature is not valid/);
  const late = await startReplica(t, {
    source,
    publisherPublicKey: right.publisherPublicKey,
    refreshSeconds: 1,
  });
  await until(() => late(WAITING).length > 0, 'another replica waits');
  t.equal(late(FAILED).length, 1);
  t.equal(reasonsOf(FAILED).length, 2, 'no reason was repeated');
  const named = async (): Promise<string[]> =>
    (await readReports(store)).flatMap(({ report }) => report?.name ?? []);
  await until(
    async () => (await named()).every((name) => /^.+:\d+$/.test(name)),
    'replicas report host and port',
  );
  t.equal(new Set(await named()).size, 2, 'two replicas of one machine have two names');
});

test('a refused first image and an absent server are logged', async (t) => {
  const folder = testFolder(t);
  const source = storeAddress(join(folder, 'share'));
  const store = await openStore(source, 'make');
  t.teardown(() => store.close());
  const { publisherKey, publisherPublicKey } = writeKeys(folder, 'publisher');
  await store.swap(
    'head',
    await new SigningKey(publisherKey).sign('head', { ...HEAD, bytes: 2 ** 40 }),
    null,
  );
  const refused = await startReplica(t, { source, publisherPublicKey, memoryMbMax: 64 });
  const absent = await startReplica(t, { source: 'nats://127.0.0.1:1/timetable', publisherPublicKey });
  await until(() => refused('timetable refused').length > 0, 'the refusal is logged');
  t.match(refused('timetable refused'), [/it needs 1048576 MiB of memory, and only 64 MiB are left/]);
  await until(() => absent(FAILED).length > 0 && absent(WAITING).length > 0, 'the failure is logged');
  t.equal(absent(FAILED).length, 1);
  t.match(absent(FAILED), [/127\.0\.0\.1:1/]);
});

test('a publisher warns of a field that has lost its values', async (t) => {
  const folder = testFolder(t);
  const { log, lines } = keptLog();
  const source = new MemorySource(events(3, 'first'));
  const to = storeAddress(join(folder, 'share'));
  const { publisherKey } = writeKeys(folder, 'publisher');
  const publishing = await publishTimetable({ source }, { to, publisherKey, log });
  t.teardown(() => publishing.close());
  await publishing.loaded;
  source.replace(events(3, 'second').map((event) => ({ ...event, title: null })));
  await publishing.refresh();
  t.match(
    lines.filter(({ level, message }) => level === 'warn' && message !== 'fields without values'),
    [
      {
        message: 'fields have lost their values',
        fields: { fields: ['title'], reason: /has a title any more$/ },
      },
    ],
  );
});
