import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import { test } from 'tap';
import type { Timetable } from '../../src/index.js';
import { MemorySource } from '../refresh/built.js';
import { NATS_MISSING } from '../store/nats-server.js';
import { type Read, read } from './chaos/reader.js';
import { SlowLink } from './chaos/slow-link.js';
import { events, openChannel, openFleet, until, untilServed } from './fleet.js';

const PUBLICATIONS = 6;
const options = { skip: NATS_MISSING };

async function portOf(t: Test, timetable: Timetable): Promise<number> {
  const server = createServer(timetable.handler()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

/** A client behind a balancer that asks one replica after another. */
class Client {
  readonly #ports: readonly number[];
  readonly #namesVersion: boolean;
  #turn = 0;
  #version = '';
  /** The sequence of each answer. */
  readonly seen: number[] = [];
  refused = 0;

  constructor(ports: readonly number[], namesVersion: boolean) {
    this.#ports = ports;
    this.#namesVersion = namesVersion;
  }

  async read(): Promise<void> {
    const port = this.#ports[this.#turn++ % this.#ports.length] ?? 0;
    const isNamed = this.#namesVersion && this.#version !== '';
    const headers = isNamed ? { 'Lectern-Min-Version': this.#version } : {};
    const { status, version, body } = await read(port, '/schedule?limit=1', { headers });
    if (status === 503 && body.includes('version-not-yet')) this.refused++;
    else if (status !== 200) throw new Error(`status ${status}: ${body}`);
    else {
      this.#version = version;
      this.seen.push(Number.parseInt(version, 10));
    }
  }

  get goesBack(): boolean {
    return this.seen.some((number, n) => n > 0 && number < (this.seen[n - 1] ?? 0));
  }
}

test('a client behind a balancer never sees an older version', options, async (t) => {
  const fleet = await openFleet(t, 'nats');
  const link = await new SlowLink(fleet.server?.port ?? 0).listen();
  t.teardown(() => link.close());
  const source = new MemorySource(events(10, 'n 0'));
  const publishing = await fleet.publisher(source);
  await publishing.announced;
  const late = fleet.replica({ source: `nats://127.0.0.1:${link.port}/timetable` });
  const replicas = [fleet.replica(), fleet.replica(), fleet.replica(), late];
  await untilServed(replicas, 'n 0');
  const ports = await Promise.all(replicas.map((each) => portOf(t, each)));
  const [careful, careless] = [new Client(ports, true), new Client(ports, false)];
  let isEnding = false;
  const reading = [careful, careless].map(async (client) => {
    while (!isEnding) {
      await client.read();
      // The client pauses between requests.
      await delay(10);
    }
  });
  link.latencyMs = 400;
  // Only two contents alternate, so the old content of the late replica is also the content of a later version.
  for (let n = 1; n <= PUBLICATIONS; n++) {
    source.replace(events(10, `n ${n % 2}`));
    await untilServed(replicas.slice(0, 3), `n ${n % 2}`);
  }
  await until(() => careless.goesBack, 'a client that names no version sees an older one');
  link.mend();
  const versions = (): string[] => replicas.map(({ view }) => view?.version ?? '');
  await until(() => new Set(versions()).size === 1, 'all serve the last version');
  isEnding = true;
  await Promise.all(reading);
  t.notOk(careful.goesBack, `${careful.seen.length} answers, ${careful.refused} times refused`);
  t.ok(careful.seen.length > PUBLICATIONS);

  // Late or not, all replicas answer alike.
  const all = (path: string): Promise<Read[]> => Promise.all(ports.map((port) => read(port, path)));
  const lists = await all('/schedule');
  t.strictSame(new Set(lists.map(({ etag, version, body }) => `${etag} ${version} ${body}`)).size, 1);
  const last = lists[0]?.version.split('.')[1] ?? '';
  source.replace([...events(9, `n ${PUBLICATIONS % 2}`), ...events(11, 'new').slice(10)]);
  await until(() => replicas.every(({ summary }) => summary?.id !== last), 'all serve the next');
  const changes = await all(`/schedule/changes?since=${last}`);
  t.strictSame(
    changes.map(({ status }) => status),
    [200, 200, 200, 200],
  );
  t.equal(new Set(changes.map(({ etag, body }) => `${etag} ${body}`)).size, 1, 'equal changes');
});

test(
  'a timetable that returns has a newer version than the one that a replica missed',
  options,
  async (t) => {
    const fleet = await openFleet(t, 'nats');
    const link = await new SlowLink(fleet.server?.port ?? 0).listen();
    t.teardown(() => link.close());
    const source = new MemorySource(events(10, 'n 0'));
    const publishing = await fleet.publisher(source);
    await publishing.announced;
    const late = fleet.replica({ source: `nats://127.0.0.1:${link.port}/timetable` });
    const quick = fleet.replica();
    await untilServed([quick, late], 'n 0');
    link.cut();
    source.replace(events(10, 'n 1'));
    await untilServed([quick], 'n 1');
    const missed = quick.view?.version ?? '';
    source.replace(events(10, 'n 0'));
    await untilServed([quick], 'n 0');
    link.mend();
    await until(() => late.view?.version === quick.view?.version, 'one number for one announcement');
    const port = await portOf(t, late);
    const { status } = await read(port, '/schedule', { headers: { 'Lectern-Min-Version': missed } });
    t.equal(status, 200);
  },
);

test('after a rollback, the earlier content has only its new version', options, async (t) => {
  const fleet = await openFleet(t, 'nats');
  const link = await new SlowLink(fleet.server?.port ?? 0).listen();
  t.teardown(() => link.close());
  const source = new MemorySource(events(10, 'good'));
  const publishing = await fleet.publisher(source);
  await publishing.announced;
  const late = fleet.replica({ source: `nats://127.0.0.1:${link.port}/timetable` });
  const quick = fleet.replica();
  await untilServed([quick, late], 'good');
  source.replace(events(10, 'poison'));
  await untilServed([quick, late], 'poison');
  link.cut();
  const channel = await openChannel(fleet.address, { publisherKey: fleet.publisherKey });
  t.teardown(() => channel.close());
  await channel.rollback();
  await untilServed([quick], 'good');
  const headers = { 'Lectern-Min-Version': quick.view?.version ?? '' };
  const { status, body } = await read(await portOf(t, late), '/schedule', { headers });
  t.equal(status, 503, 'the late replica has the content in its history, but an older version');
  t.match(body, 'version-not-yet');
});
