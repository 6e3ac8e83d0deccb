/** A fleet on a folder that another program writes to. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { keptLog } from '../app/threads.js';
import { testFolder } from '../base/files/test-folder.js';
import { MemorySource } from '../refresh/built.js';
import {
  events,
  openChannel,
  openFleet,
  openTimetable,
  publishTimetable,
  signed,
  titleOf,
  unsigned,
  until,
  untilServed,
  writeKeys,
} from './fleet.js';

/** Replaces the last revision of a record, or makes the record. */
function replaceRecord(share: string, key: string, make: (path: string) => void): void {
  const folder = join(share, 'records', key);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  make(join(folder, '000000000000099'));
}

const fifo = (path: string): void => void spawnSync('mkfifo', [path]);
const zero = (path: string): void => symlinkSync('/dev/zero', path);
const sparse = (path: string): void => {
  writeFileSync(path, '{"id":null,"sequence":1}');
  truncateSync(path, 180e6);
};
const json =
  (text: string) =>
  (path: string): void =>
    writeFileSync(path, text);

/** Records of every kind in a store. Each is wrong in another way. */
const WRONG: Readonly<Record<string, readonly ((path: string) => void)[]>> = {
  head: [fifo, sparse, json('null'), json('a.b.c')],
  pin: [fifo, zero, sparse, json('[]'), json('{"id":{"toString":1},"sequence":1e300}')],
  leader: [fifo, json('{"owner":{"toString":1},"beat":1,"renewedAtMs":1e300}')],
  'replica.a': [zero, json('{"name":{"toString":1},"formats":["x"]}')],
  'announced.A': [fifo, json('{}')],
};

test('with malformed and forged records, announcements continue, replicas serve, and the status names the records', async (t) => {
  const fleet = await openFleet(t, 'folder');
  const share = join(fleet.folder, 'share');
  const { log, lines } = keptLog();
  const source = new MemorySource(events(10, 'first'));
  const publishing = await fleet.publisher(source, { log });
  await publishing.announced;
  const replica = fleet.replica();
  await untilServed([replica], 'first');
  const channel = await openChannel(fleet.address, { publisherKey: fleet.publisherKey });
  t.teardown(() => channel.close());
  for (const round of [0, 1, 2, 3, 4]) {
    for (const [key, all] of Object.entries(WRONG)) {
      const make = all[round];
      if (make !== undefined) replaceRecord(share, key, make);
    }
    const { ignored } = await channel.status();
    t.ok(ignored.includes('pin') || round === 4, `the status names the pin, round ${round}`);
    source.replace(events(10, `round ${round}`));
    await untilServed([replica], `round ${round}`);
  }
  const reported = (): string[] => {
    const records = lines
      .filter(({ message }) => message === 'a record of the store is malformed or forged: it is ignored')
      .map(({ fields }) => (fields as { readonly record: string }).record);
    return [...new Set(records)].sort().filter((key) => key !== 'head');
  };
  // Reports are read in a loop of their own.
  await until(() => reported().includes('replica.a'), 'the report of a replica is named');
  t.strictSame(reported(), ['pin', 'replica.a']);
  await channel.unpin();
  t.strictSame(
    (await channel.status()).ignored.filter((key) => key === 'pin'),
    [],
    'the next choice of an operator replaces the record',
  );
});

test('a forged pin and a forged lease steer neither replicas nor publishers', async (t) => {
  const fleet = await openFleet(t, 'folder');
  const { store } = fleet;
  const source = new MemorySource(events(10, 'first'));
  const publishing = await fleet.publisher(source);
  await publishing.announced;
  const replica = fleet.replica();
  await untilServed([replica], 'first');
  const channel = await openChannel(fleet.address, { publisherKey: fleet.publisherKey });
  t.teardown(() => channel.close());
  const leader = (await channel.status()).leader;
  const stranger = writeKeys(fleet.folder, 'stranger').publisherKey;
  const head = await store.read('head');
  const id = replica.summary?.id ?? '';
  const pin = { id, sequence: Date.now() + 1e6 };
  const lease = (n: number): object => ({ owner: 'stranger', beat: n, renewedAtMs: Date.now() });
  const forge = async (key: string, text: string): Promise<void> => {
    await store.swap(key, text, (await store.read(key))?.revision ?? null);
  };
  const forgeries = [
    async (n: number) => [JSON.stringify(pin), JSON.stringify(lease(n))],
    async (n: number) => [unsigned('pin', pin), unsigned('lease', lease(n))],
    async (n: number) => [await signed(stranger, 'pin', pin), await signed(stranger, 'lease', lease(n))],
    // A signature of the right key, on a record of another kind.
    async () => [head?.text ?? '', head?.text ?? ''],
  ];
  for (const [n, make] of forgeries.entries()) {
    const [forgedPin = '', forgedLease = ''] = await make(n);
    await forge('pin', forgedPin);
    await forge('leader', forgedLease);
    const status = await channel.status();
    t.equal(status.pinned, null);
    t.ok(status.ignored.includes('pin'), `the status names the forged pin ${n}`);
    source.replace(events(10, `after ${n}`));
    await untilServed([replica], `after ${n}`);
    t.equal((await channel.status()).head?.id, replica.summary?.id);
  }
  await until(async () => (await channel.status()).leader === leader, 'the publisher leads on');
});

test('without signatures, only a folder of the own account is opened', async (t) => {
  const folder = testFolder(t);
  const share = join(folder, 'share');
  const { log, lines } = keptLog();
  const source = new MemorySource(events(10, 'first'));
  const publishing = await publishTimetable({ source }, { to: share, unsigned: true, log });
  t.teardown(() => publishing.close());
  await publishing.announced;
  t.ok(lines.some(({ message }) => message.startsWith('announcements are not signed')));
  const address = `folder://${share}`;
  const replica = openTimetable({ source: address, unsigned: true });
  t.teardown(() => replica.close());
  await untilServed([replica], 'first');
  const channel = await openChannel(address, { unsigned: true });
  await channel.pin(replica.summary?.id ?? '');
  t.equal((await channel.status()).pinned, replica.summary?.id);
  chmodSync(share, 0o777);
  await t.rejects(channel.status(), {
    code: 'store-unavailable',
    message:
      /other accounts may write to it, so announcements must be signed; make keys with: lectern channel keys$/,
  });
  await t.rejects(openChannel('nats://127.0.0.1:1/timetable', { unsigned: true }), {
    code: 'option-invalid',
    message: /need a folder of the own account; for NATS, make keys with: lectern channel keys/,
  });
  await t.rejects(openChannel(address), { code: 'key-missing', message: /^a channel needs a key/ });
  const { publisherPublicKey } = writeKeys(folder, 'publisher');
  const reading = await openChannel(address, { publisherPublicKey });
  await t.rejects(reading.unpin(), { code: 'key-missing', message: /^pin, unpin and rollback are signed/ });
});

test('an image that was replaced by a named pipe is stored again, and a linked folder of images is not changed', async (t) => {
  const fleet = await openFleet(t, 'folder');
  const images = join(fleet.folder, 'share', 'images');
  const { log, lines } = keptLog();
  const source = new MemorySource(events(10, 'first'));
  const publishing = await fleet.publisher(source, { log });
  await publishing.announced;
  const channel = await openChannel(fleet.address, { publisherKey: fleet.publisherKey });
  t.teardown(() => channel.close());
  const hash = (await channel.status()).head?.hash ?? '';
  rmSync(join(images, hash));
  fifo(join(images, hash));
  const replica = fleet.replica();
  await untilServed([replica], 'first');

  const elsewhere = join(fleet.folder, 'elsewhere');
  renameSync(images, elsewhere);
  writeFileSync(join(elsewhere, 'f'.repeat(64)), 'of somebody else');
  const before = readdirSync(elsewhere).sort();
  symlinkSync(elsewhere, images);
  source.replace(events(10, 'second'));
  const isTold = (): boolean =>
    lines.some(({ fields }) => / is a symbolic link; expected a folder/.test(JSON.stringify(fields)));
  await until(isTold, 'the publisher says what is wrong');
  t.strictSame(readdirSync(elsewhere).sort(), before);
  t.equal(titleOf(replica), 'first', 'served on');
  rmSync(images);
  renameSync(elsewhere, images);
  await untilServed([replica], 'second');
});
