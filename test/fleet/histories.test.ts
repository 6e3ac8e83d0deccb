/** All replicas answer /schedule/changes alike, whatever they missed. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import type { Timetable } from '../../src/index.js';
import { MemorySource } from '../refresh/built.js';
import { NATS_MISSING } from '../store/nats-server.js';
import { SlowLink } from './chaos/slow-link.js';
import { events, openChannel, openFleet, titleOf, until, untilServed } from './fleet.js';

const options = { skip: NATS_MISSING };

const idOf = ({ summary }: Timetable): string => summary?.id ?? '';

test('late, skipping and restarted replicas know the same changes', options, async (t) => {
  const fleet = await openFleet(t, 'nats');
  const link = await new SlowLink(fleet.server?.port ?? 0).listen();
  t.teardown(() => link.close());
  const all = events(30, 'n 0');
  const source = new MemorySource(all);
  const publishing = await fleet.publisher(source);
  await publishing.announced;
  const snapshotFile = join(fleet.folder, 'replica', 'snapshot');
  mkdirSync(join(fleet.folder, 'replica'));
  const steady = fleet.replica();
  const skipping = fleet.replica({ source: `nats://127.0.0.1:${link.port}/timetable` });
  const first = fleet.replica({ snapshotFile });
  await untilServed([steady, skipping, first], 'n 0');
  const ids = [idOf(steady)];
  const step = async (title: string, change: () => void, replicas: readonly Timetable[]): Promise<void> => {
    change();
    await untilServed(replicas, title);
    ids.push(idOf(steady));
  };
  await step('n 1', () => source.replace(events(30, 'n 1')), [steady, skipping, first]);
  await first.close();
  link.cut();
  await step('n 2', () => source.apply({ upsert: [{ ...all[0], title: 'n 2' }] }), [steady]);
  await step('n 3', () => source.replace(events(29, 'n 3')), [steady]);
  await step('n 4', () => source.apply({ upsert: [{ ...all[0], title: 'n 4' }] }), [steady]);
  link.mend();
  const restarted = fleet.replica({ snapshotFile });
  const late = fleet.replica();
  const replicas = [steady, skipping, restarted, late];
  await untilServed(replicas, 'n 4');
  const haveEqualChanges = (message: string): void => {
    for (const since of ids) {
      const found = replicas.map((each) => each.changes(since));
      t.ok(found[0], `${message}: known since ${since}`);
      for (const each of found) t.strictSame(each, found[0], `${message}: since ${since}`);
    }
  };
  haveEqualChanges('whole images');
  await step('n 5', () => source.apply({ upsert: [{ ...all[0], title: 'n 5' }] }), replicas);
  haveEqualChanges('a patch');

  // The content returns while one replica is away.
  link.cut();
  await step('n 6', () => source.apply({ upsert: [{ ...all[0], title: 'n 6' }] }), [steady, restarted, late]);
  await step('n 5', () => source.apply({ upsert: [{ ...all[0], title: 'n 5' }] }), [steady, restarted, late]);
  link.mend();
  await until(() => skipping.view?.version === steady.view?.version, 'the version is that of the others');
  haveEqualChanges('content that returned');
});

test('a standby and a restarted publisher continue the announced history', options, async (t) => {
  const fleet = await openFleet(t, 'nats');
  const [source, other] = [new MemorySource(events(10, 'n 0')), new MemorySource(events(10, 'n 0'))];
  const leading = await fleet.publisher(source);
  await leading.announced;
  const steady = fleet.replica();
  await untilServed([steady], 'n 0');
  const ids = [idOf(steady)];
  source.replace(events(10, 'n 1'));
  await untilServed([steady], 'n 1');
  ids.push(idOf(steady));
  other.replace(events(10, 'n 1'));
  const standby = await fleet.publisher(other);
  await standby.loaded;
  await leading.close();
  await standby.announced;
  other.replace(events(10, 'n 2'));
  await untilServed([steady], 'n 2');
  const late = fleet.replica();
  await untilServed([late], 'n 2');
  for (const since of ids) {
    t.ok(late.changes(since), 'also known from the former leader');
    t.strictSame(late.changes(since), steady.changes(since));
  }

  const channel = await openChannel(fleet.address, { publisherKey: fleet.publisherKey });
  t.teardown(() => channel.close());
  const bad = idOf(late);
  await channel.rollback();
  await untilServed([late, steady], 'n 1');
  for (const each of [late, steady])
    t.ok(each.changes(bad), 'clients that had the image before a rollback learn the changes');
  await channel.unpin();
  await untilServed([late, steady], 'n 2');
  t.equal(titleOf(late), 'n 2');
  for (const since of ids) t.strictSame(late.changes(since), steady.changes(since));
});
