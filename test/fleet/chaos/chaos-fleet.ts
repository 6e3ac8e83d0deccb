/** A NATS server, two publishers and three replicas as processes, each replica with a client and the third with a slow link. */

import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import { SigningKey } from '../../../src/fleet/keys.js';
import { type Head, readHead } from '../../../src/fleet/store-records.js';
import { openStore } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { testFolder } from '../../base/files/test-folder.js';
import { type NatsServer, startNats } from '../../store/nats-server.js';
import { events, writeKeys } from '../fleet.js';
import { Machine } from './machine.js';
import { Reader } from './reader.js';
import { SlowLink } from './slow-link.js';

const EVENTS = 2000;

export interface Replica {
  readonly machine: Machine;
  readonly reader: Reader;
  readonly snapshotFile: string;
}

export class ChaosFleet {
  readonly folder: string;
  readonly server: NatsServer;
  /** A connection of the test itself, with which it does what operators and accidents do. */
  readonly store: Store;
  readonly link: SlowLink;
  readonly publisherKey: string;
  readonly key: SigningKey;
  readonly stranger: SigningKey;
  readonly publishers: readonly Machine[];
  readonly replicas: readonly Replica[];
  /** Ids that publishers announced. */
  readonly announced: Set<string> = new Set();
  /** Ids that the test itself announces, as an attacker with the key would. */
  readonly forged: Set<string> = new Set();
  /** The head before the present one. */
  olderHead: string | null = null;
  /** The head as the fleet saw it last. */
  head: Head | null = null;
  #headText = '';
  #looking: Promise<void> = Promise.resolve();
  #isEnding = false;
  #title = '';

  private constructor(
    folder: string,
    server: NatsServer,
    store: Store,
    link: SlowLink,
    ports: readonly number[],
  ) {
    this.folder = folder;
    this.server = server;
    this.store = store;
    this.link = link;
    const [own, stranger] = [writeKeys(folder, 'publisher'), writeKeys(folder, 'stranger')];
    this.publisherKey = own.publisherKey;
    this.key = new SigningKey(own.publisherKey);
    this.stranger = new SigningKey(stranger.publisherKey);
    const to = ['--to', server.address(), '--publisher-key', own.publisherKey];
    this.publishers = ['publisher', 'standby'].map((name) => {
      const machine = new Machine(name, ['publish', this.#source, '--refresh-seconds', '1', ...to]);
      machine.onLine = (line) => {
        const id = /"snapshot":"([\w-]{22})".*timetable announced/.exec(line)?.[1];
        if (id !== undefined) this.announced.add(id);
      };
      return machine;
    });
    this.replicas = ports.map((port, n) => {
      const name = `replica${n + 1}`;
      mkdirSync(join(folder, name));
      const snapshotFile = join(folder, name, 'snapshot');
      const files = ['--publisher-public-key', own.publisherPublicKey, '--snapshot-file', snapshotFile];
      const address = `nats://127.0.0.1:${port}/timetable`;
      const argv = ['serve', address, ...files, '--port', '0', '--admin-port', '0', '--overload-ms', '0'];
      const machine = new Machine(name, argv);
      return { machine, reader: new Reader(machine, EVENTS), snapshotFile };
    });
  }

  /** Resolves once all replicas serve the first timetable. */
  static async open(t: Test): Promise<ChaosFleet> {
    const closing: (() => unknown)[] = [];
    t.teardown(async () => {
      for (const close of closing.reverse()) await close();
    });
    const folder = testFolder(t);
    const server = await startNats(join(folder, 'nats'));
    closing.push(() => server.stop());
    const link = await new SlowLink(server.port).listen();
    closing.push(() => link.close());
    const store = await openStore(server.address(), 'make');
    closing.push(() => store.close());
    const fleet = new ChaosFleet(folder, server, store, link, [server.port, server.port, link.port]);
    closing.push(() => fleet.#close());
    fleet.#looking = fleet.#look();
    fleet.publish('first');
    for (const { reader } of fleet.replicas) reader.interrupt(false);
    await Promise.all(fleet.publishers.map((each) => each.start('timetable loaded')));
    await Promise.all(fleet.replicas.map(({ machine }) => machine.start('listening')));
    return fleet;
  }

  /** Replaces the source. */
  publish(title: string, count: number = EVENTS): void {
    if (count === EVENTS) this.#title = title;
    const lines = events(count, title).map((event) => JSON.stringify(event));
    writeFileSync(`${this.#source}.new`, `${lines.join('\n')}\n`);
    renameSync(`${this.#source}.new`, this.#source);
  }

  /** Whether all replicas serve the present source, and answer alike. */
  get isEqual(): boolean {
    const reads = this.replicas.map(({ reader }) => reader.last);
    const [first] = reads;
    return (
      first?.body.includes(`"title":"${this.#title}"`) === true &&
      reads.every((each) => each?.etag === first.etag && each.version === first.version)
    );
  }

  /** How the replicas still differ, for the message of a failure. */
  describe(): string {
    const served = this.replicas.map(
      ({ machine, reader }) => `${machine.name} ${reader.last?.version} ${reader.last?.etag}`,
    );
    const logs = [...this.publishers, ...this.replicas.map(({ machine }) => machine)].map(
      ({ name, log }) => `--- ${name}\n${log.split('\n').slice(-8).join('\n')}`,
    );
    const head = `head ${this.head?.sequence}.${this.head?.id}`;
    return [`wanted: ${this.#title}`, head, ...served, ...logs].join('\n');
  }

  async endReplica({ machine, reader }: Replica, signal: NodeJS.Signals): Promise<void> {
    // A replica that starts answers 503 until it has read its disk.
    reader.interrupt(false);
    await machine.end(signal);
  }

  wipe({ snapshotFile }: Replica): void {
    rmSync(snapshotFile, { force: true });
  }

  async #close(): Promise<void> {
    this.#isEnding = true;
    const readers = this.replicas.map(({ reader }) => reader.close());
    const machines = [...this.publishers, ...this.replicas.map(({ machine }) => machine)];
    await Promise.all([this.#looking, ...readers, ...machines.map((each) => each.end('SIGKILL'))]);
  }

  /** A publisher may be killed before it logs what it announced. */
  async #look(): Promise<void> {
    while (!this.#isEnding) {
      const text = (await this.store.read('head').catch(() => null))?.text ?? this.#headText;
      const head = text === this.#headText ? null : await readHead(this.key.keys, text).catch(() => null);
      if (head !== null) {
        if (this.#headText !== '') this.olderHead = this.#headText;
        this.#headText = text;
        this.head = head;
        if (!this.forged.has(head.id)) this.announced.add(head.id);
      }
      // The head is read with pauses.
      await delay(50);
    }
  }

  get #source(): string {
    return join(this.folder, 'events.ndjson');
  }
}
