/** Publishers on one store. Tests can hold the calls of a publisher, as if its process were stopped. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { SigningKey } from '../../src/fleet/keys.js';
import { Publisher, type PublisherOptions } from '../../src/fleet/publisher.js';
import type { Head } from '../../src/fleet/store-records.js';
import type { Publication } from '../../src/refresh/keeper.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { storeAddress } from '../../src/store/store-address.js';
import { imageOfCount } from '../snapshot/images.js';
import { timeForAFault } from '../waiting/until.js';
import { headOf, until, writeKeys } from './fleet.js';

interface Swap {
  readonly who: string;
  readonly key: string;
}

interface Controls {
  /** Makes a call fail. */
  fails(method: string, key: string | undefined): boolean;
  /** Whether calls wait. */
  isHeld: boolean;
  /** Holds all calls from the next swap of the head on. */
  holdsAtSwap: boolean;
}

/** 10 s on a machine that does nothing else. */
const TAKEOVER_MS_MAX = 30_000;

/** A store of one publisher, and its log of successful swaps. */
function controlled(store: Store, who: string, log: Swap[], controls: Controls): Store {
  return new Proxy(store, {
    get(target, method: keyof Store) {
      const value = target[method];
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]) => {
        const key = typeof args[0] === 'string' ? args[0] : undefined;
        if (controls.holdsAtSwap && method === 'swap' && key === 'head') controls.isHeld = true;
        await until(() => !controls.isHeld, 'the publisher is released');
        if (controls.fails(method, key)) throw new Error('it fails once');
        const result: unknown = await (value as (...given: readonly unknown[]) => unknown).apply(
          target,
          args,
        );
        if (method === 'swap' && result !== null && key !== undefined) log.push({ who, key });
        return result;
      };
    },
  });
}

let publications = 0;

/** A publication of an image that the publisher writes without reading it. */
function publication(id: string): Publication {
  const summary = { id: id.padEnd(22, '-'), events: 1, rejected: 0 };
  const image = { ...imageOfCount(1), summary };
  return { image, sequence: ++publications, changes: [], history: null } as unknown as Publication;
}

async function openFleet(t: Test): Promise<{
  readonly store: Store;
  readonly key: SigningKey;
  readonly log: readonly Swap[];
  /** What publishers reported, in order. */
  readonly told: readonly string[];
  publisher(
    who: string,
    fails?: Controls['fails'],
  ): Promise<{ readonly publisher: Publisher; readonly controls: Controls }>;
}> {
  const closing: (() => Promise<void>)[] = [];
  t.teardown(() => Promise.all(closing.map((close) => close())));
  const folder = t.testdir();
  const key = new SigningKey(writeKeys(folder, 'publisher').publisherKey);
  const address = storeAddress(join(folder, 'share'));
  const log: Swap[] = [];
  const told: string[] = [];
  const loader = {
    async run(task: { readonly path: string; readonly image: Publication['image'] }) {
      writeFileSync(task.path, task.image.summary.id);
    },
  } as unknown as PublisherOptions['loader'];
  return {
    store: await openStore(address, 'make'),
    key,
    log,
    told,
    async publisher(who, fails: Controls['fails'] = () => false) {
      const controls: Controls = { fails, isHeld: false, holdsAtSwap: false };
      const store = controlled(await openStore(address, 'make'), who, log, controls);
      const events = {
        announced() {},
        led() {},
        failed: ({ message }: Error) => told.push(`failed: ${message}`),
        ignored() {},
        recovered: () => told.push('recovered'),
        cleaned: (fault: Error | null) => told.push(`cleaned: ${fault?.message ?? 'good'}`),
      };
      const publisher = new Publisher(store, { signer: key, loader, events });
      closing.push(async () => {
        controls.isHeld = false;
        controls.holdsAtSwap = false;
        await publisher.close();
      });
      return { publisher, controls };
    },
  };
}

const idOf = async (store: Store): Promise<string | undefined> =>
  headOf((await store.read('head'))?.text ?? '')?.id.replace(/-+$/, '');

/** Swaps of the head by a publisher whose successor had already replaced the head. */
function late(log: readonly Swap[]): Swap[] {
  let [leader, hasSwapped] = ['', false];
  return log.filter(({ who, key }) => {
    if (key === 'leader') {
      if (who !== leader) [leader, hasSwapped] = [who, false];
      return false;
    }
    if (key !== 'head') return false;
    if (who === leader) hasSwapped = true;
    return who !== leader && hasSwapped;
  });
}

test('a leader that continues after a pause replaces nothing, and there is one head at a time', async (t) => {
  const { store, log, publisher } = await openFleet(t);
  const one = await publisher('one');
  one.publisher.publish(publication('present'));
  await one.publisher.announced;
  const two = await publisher('two');
  // Announces nothing, because the head has the same content: only its fence stops the former leader.
  two.publisher.publish(publication('present'));
  one.controls.holdsAtSwap = true;
  one.publisher.publish(publication('older'));
  await until(() => one.controls.isHeld, 'the leader is stopped in its swap');
  const { revision } = (await store.read('head')) ?? {};
  const tookMs = await until(
    async () => (await store.read('head'))?.revision !== revision,
    'the standby leads, and has fenced off the former leader',
  );
  t.ok(tookMs <= TAKEOVER_MS_MAX, `the standby leads after ${Math.round(tookMs)} ms`);
  t.notOk(one.publisher.channel.isLeader, 'the stopped leader knows that its lease has ended');
  one.controls.holdsAtSwap = false;
  one.controls.isHeld = false;
  await timeForAFault(3000);
  t.equal(await idOf(store), 'present', 'the older timetable is not announced');

  two.controls.holdsAtSwap = true;
  two.publisher.publish(publication('newer'));
  await until(
    async () => (await idOf(store)) === 'older',
    'the other publisher leads, and announces its own',
  );
  two.controls.holdsAtSwap = false;
  two.controls.isHeld = false;
  await timeForAFault(3000);
  t.equal(await idOf(store), 'older');
  t.strictSame(late(log), []);
  t.ok(new Set(log.filter(({ key }) => key === 'leader').map(({ who }) => who)).size === 2, 'both have led');
});

test('a former leader is fenced off even if the first attempt fails', async (t) => {
  for (const method of ['keys', 'read'] as const) {
    const { store, log, publisher } = await openFleet(t);
    const first = await publisher('first');
    first.publisher.publish(publication('present'));
    await first.publisher.announced;
    await first.publisher.close();
    const { text, revision } = (await store.read('head')) ?? {};
    const { publisher: second, controls } = await publisher('second');
    let isLeading = false;
    let failures = 0;
    controls.fails = (called, key) => {
      isLeading ||= log.some(({ who, key: swapped }) => who === 'second' && swapped === 'leader');
      const isNext = isLeading && called === method && (method === 'keys' || key === 'head');
      return isNext && failures++ === 0;
    };
    second.publish(publication('present'));
    await second.announced;
    await until(
      async () => (await store.read('head'))?.revision !== revision,
      `a fence after ${method} failed`,
    );
    t.equal((await store.read('head'))?.text, text, method);
    t.ok(failures > 0, method);
    // Otherwise this publisher could lead in the store of the next round.
    await second.close();
  }
});

test('a standby announces with a higher sequence than any head that it saw', async (t) => {
  const { store, key, publisher } = await openFleet(t);
  const first = await publisher('first');
  first.publisher.publish(publication('present'));
  await first.publisher.announced;
  const { text = '', revision = null } = (await store.read('head')) ?? {};
  const present = headOf(text) as Head;
  // The clock of the leader is an hour ahead.
  const ahead = { ...present, sequence: present.sequence + 3_600_000 };
  await store.swap('head', await key.sign('head', ahead), revision);
  const standby = await publisher('standby');
  let hasRead = false;
  standby.controls.fails = (method, record) => {
    hasRead ||= method === 'read' && record === 'head';
    return false;
  };
  await until(() => hasRead, 'the standby reads the head');
  first.controls.isHeld = true;
  // The store is restored from an older copy.
  await store.remove('leader');
  await store.swap('head', text, (await store.read('head'))?.revision ?? null);
  standby.publisher.publish(publication('present'));
  const isAbove = async (): Promise<boolean> =>
    (headOf((await store.read('head'))?.text ?? '')?.sequence ?? 0) > ahead.sequence;
  await until(isAbove, 'a head with a higher sequence');
  t.equal(await idOf(store), 'present');
});

test('a publisher announces with a higher sequence than replicas serve, but believes none of the far future', async (t) => {
  const { store, publisher } = await openFleet(t);
  const report = (name: string, aheadMs: number): string =>
    JSON.stringify({
      name,
      version: '1',
      serves: {
        epoch: 'e'.repeat(22),
        sequence: Date.now() + aheadMs,
        id: 'i'.repeat(22),
        hash: 'f'.repeat(64),
      },
      damaged: null,
      lastError: null,
      beat: 1,
      reportedAtMs: 1,
    });
  // The store has lost the head of a publisher whose clock was an hour ahead.
  await store.swap('replica.one', report('one', 3_600_000), null);
  await store.swap('replica.false', report('false', 2 * 86_400_000), null);
  const { publisher: one } = await publisher('one');
  one.publish(publication('present'));
  const aheadMs = async (): Promise<number> =>
    (headOf((await store.read('head'))?.text ?? '')?.sequence ?? 0) - Date.now();
  await until(async () => (await aheadMs()) > 3_500_000, 'a head with a higher sequence');
  t.ok((await aheadMs()) < 86_400_000);
  t.equal(await idOf(store), 'present');
});

test('a store that cannot be cleaned is reported as such, and images are announced all the same', async (t) => {
  const { store, told, publisher } = await openFleet(t);
  const { publisher: one } = await publisher('one', (method) => method === 'list');
  await until(() => told.length > 0, 'the store was cleaned for the first time');
  for (const id of ['first', 'second']) {
    one.publish(publication(id));
    await until(async () => (await idOf(store)) === id, `the image ${id} is announced`);
    t.ok(one.channel.isLeader && !one.isFailing);
  }
  t.strictSame(told, ['cleaned: it fails once']);
});
