/** The acts of chaos. When an act ends, all processes run again, but the data that it damaged stays damaged. */
import { createHash, randomBytes } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { Head } from '../../../src/fleet/store-records.js';
import { openChannel, until } from '../fleet.js';
import type { ChaosFleet, Replica } from './chaos-fleet.js';
import type { Conditions, Machine } from './machine.js';

/** Gives numbers from 0 to 1. */
export type Random = () => number;
export type Act = (fleet: ChaosFleet, random: Random) => Promise<void>;

const HOUR_MS = 3_600_000;

function oneOf<T>(all: readonly T[], random: Random): T {
  return all[Math.floor(random() * all.length)] as T;
}

/** How long a failure lasts. Other steps wait for its effects. */
const failingFor = (ms: number): Promise<void> => delay(ms);
const pause = (random: Random, msMax = 3000): Promise<void> => failingFor(200 + random() * msMax);

async function restart(machine: Machine, random: Random, signal: NodeJS.Signals, conditions?: Conditions) {
  await machine.end(signal);
  await pause(random, 1000);
  await machine.start('timetable loaded', conditions);
}

async function restartReplica(
  fleet: ChaosFleet,
  replica: Replica,
  signal: NodeJS.Signals,
  conditions?: Conditions,
): Promise<void> {
  await fleet.endReplica(replica, signal);
  await replica.machine.start('listening', conditions);
}

async function withStreams(
  { server }: ChaosFleet,
  work: (streams: Awaited<ReturnType<typeof jetstreamManager>>['streams']) => Promise<unknown>,
): Promise<void> {
  const connection = await connect({ servers: `127.0.0.1:${server.port}` });
  try {
    await work((await jetstreamManager(connection)).streams);
  } finally {
    await connection.close();
  }
}

/** Puts another head into the store. An attacker with credentials of the store can do this. */
async function announce(
  { store, stranger, key, head, forged }: ChaosFleet,
  facts: Partial<Head> & Pick<Head, 'id'>,
  isSigned = true,
) {
  if (head === null) return;
  forged.add(facts.id);
  const next = { ...head, sequence: head.sequence + 1, patch: null, ...facts };
  const record = await store.read('head');
  await store.swap('head', await (isSigned ? key : stranger).sign('head', next), record?.revision ?? null);
  await failingFor(1500);
}

async function putGarbage({ store }: ChaosFleet): Promise<Pick<Head, 'id' | 'hash' | 'bytes'>> {
  const garbage = randomBytes(2000);
  const hash = createHash('sha256').update(garbage).digest('hex');
  await store.put(
    hash,
    (async function* () {
      yield garbage;
    })(),
  );
  return { id: randomBytes(16).toString('base64url').slice(0, 22), hash, bytes: garbage.length };
}

const serverFolder = ({ server }: ChaosFleet): string => join(server.folder, 'jetstream');

export const ACTS: Readonly<Record<string, Act>> = {
  async 'server killed'({ server }, random) {
    await server.stop('SIGKILL');
    await pause(random);
    await server.start();
  },
  async 'server stopped'({ server }, random) {
    server.signal('SIGSTOP');
    await pause(random, 8000);
    server.signal('SIGCONT');
  },
  async 'server restarted'({ server }, random) {
    await server.stop('SIGTERM');
    await pause(random);
    await server.start();
  },
  async 'publisher killed'({ publishers }, random) {
    await restart(oneOf(publishers, random), random, 'SIGKILL');
  },
  async 'publisher restarted'({ publishers }, random) {
    await restart(oneOf(publishers, random), random, 'SIGTERM');
  },
  async 'publisher stopped for longer than its lease'({ publishers }, random) {
    const machine = oneOf(publishers, random);
    machine.stop();
    await failingFor(9000 + random() * 2000);
    machine.goOn();
  },
  async 'both publishers killed'({ publishers }, random) {
    await Promise.all(publishers.map((each) => restart(each, random, 'SIGKILL')));
  },
  async 'replica killed'(fleet, random) {
    await restartReplica(fleet, oneOf(fleet.replicas, random), 'SIGKILL');
  },
  async 'replica restarted'(fleet, random) {
    await restartReplica(fleet, oneOf(fleet.replicas, random), 'SIGTERM');
  },
  async 'replica stopped'(fleet, random) {
    const { machine, reader } = oneOf(fleet.replicas, random);
    reader.interrupt();
    machine.stop();
    await pause(random, 8000);
    machine.goOn();
    reader.interrupt();
  },
  async 'replica killed, and its disk lost'(fleet, random) {
    const replica = oneOf(fleet.replicas, random);
    await fleet.endReplica(replica, 'SIGKILL');
    fleet.wipe(replica);
    await replica.machine.start('listening');
  },
  async 'buckets deleted'(fleet) {
    await withStreams(fleet, async (streams) => {
      await streams.delete('KV_timetable');
      await streams.delete('OBJ_timetable');
    });
  },
  async 'one bucket deleted'(fleet, random) {
    await withStreams(fleet, (streams) => streams.delete(oneOf(['KV_timetable', 'OBJ_timetable'], random)));
  },
  async 'one bucket purged'(fleet, random) {
    await withStreams(fleet, (streams) => streams.purge(oneOf(['KV_timetable', 'OBJ_timetable'], random)));
  },
  async 'object deleted in the middle of a get'(fleet, random) {
    fleet.link.bytesPerSecond = 200_000;
    const before = fleet.head?.id;
    fleet.publish(`deleted ${Math.floor(random() * 1e9)}`);
    await until(() => fleet.head?.id !== before, 'the next head');
    await failingFor(500);
    if (fleet.head !== null) await fleet.store.delete(fleet.head.hash);
    fleet.link.mend();
  },
  async 'a flipped byte in a chunk'(fleet, random) {
    await fleet.server.stop('SIGKILL');
    const folder = join(serverFolder(fleet), '$G', 'streams', 'OBJ_timetable', 'msgs');
    const file = join(
      folder,
      oneOf(
        readdirSync(folder).filter((name) => name.endsWith('.blk')),
        random,
      ),
    );
    const bytes = readFileSync(file);
    const at = Math.floor(random() * bytes.length);
    if (bytes.length > 0) bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(file, bytes);
    await fleet.server.start();
    const replica = oneOf(fleet.replicas, random);
    await fleet.endReplica(replica, 'SIGKILL');
    fleet.wipe(replica);
    await replica.machine.start('listening');
  },
  async 'restored from an older copy'(fleet, random) {
    const [folder, copy] = [serverFolder(fleet), join(fleet.folder, 'copy')];
    await fleet.server.stop('SIGTERM');
    cpSync(folder, copy, { recursive: true });
    await fleet.server.start();
    fleet.publish(`later ${Math.floor(random() * 1e9)}`);
    await failingFor(4000);
    await fleet.server.stop('SIGKILL');
    rmSync(folder, { recursive: true });
    renameSync(copy, folder);
    await fleet.server.start();
  },
  async 'slow link'({ link }) {
    Object.assign(link, { bytesPerSecond: 400_000, latencyMs: 100 });
    await failingFor(6000);
    link.mend();
  },
  async 'link cut'({ link }, random) {
    link.cut();
    await pause(random, 6000);
    link.mend();
  },
  async 'clock of a publisher an hour off'({ publishers }, random) {
    const clockMs = oneOf([HOUR_MS, -HOUR_MS], random);
    await restart(oneOf(publishers, random), random, 'SIGKILL', { clockMs });
  },
  async 'clock of a replica an hour off'(fleet, random) {
    const clockMs = oneOf([HOUR_MS, -HOUR_MS], random);
    await restartReplica(fleet, oneOf(fleet.replicas, random), 'SIGKILL', { clockMs });
  },
  async 'disk of a replica full'(fleet, random) {
    const replica = oneOf(fleet.replicas, random);
    await restartReplica(fleet, replica, 'SIGTERM', { fileBlocksMax: 200 });
    fleet.publish(`while full ${Math.floor(random() * 1e9)}`);
    await until(async () => {
      const { adminPort } = replica.machine;
      const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
      return /^lectern_snapshot_file_failed 1$/m.test(text);
    }, 'the full disk shows in the metrics');
    await restartReplica(fleet, replica, 'SIGTERM');
  },
  async 'half of the events'(fleet) {
    fleet.publish('half', 1000);
    await failingFor(2500);
  },
  // Forced publishers announce this timetable, so it reaches the gates of the replicas.
  async 'half of the events, forced'(fleet) {
    fleet.publish('half', 1000);
    await failingFor(200);
    for (const each of fleet.publishers) each.force();
    await until(() => fleet.head?.events === 1000, 'the poison is announced');
    await failingFor(2500);
  },
  async 'garbage with a right hash'(fleet) {
    await announce(fleet, await putGarbage(fleet));
  },
  async 'a wrong signature'(fleet) {
    await announce(fleet, await putGarbage(fleet), false);
  },
  async 'an older head'({ store, olderHead }) {
    const record = await store.read('head');
    if (olderHead !== null) await store.swap('head', olderHead, record?.revision ?? null);
    await failingFor(1500);
  },
  async 'pinned, then not'(fleet) {
    const channel = await openChannel(fleet.server.address(), { publisherKey: fleet.publisherKey });
    try {
      const { images } = await channel.status();
      const id = images.at(-1)?.id;
      if (id !== undefined) await channel.pin(id).catch(() => {});
      await failingFor(3000);
      await channel.unpin();
    } finally {
      await channel.close();
    }
  },
};
