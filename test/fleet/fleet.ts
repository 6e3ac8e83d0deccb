/** Publishers, replicas and an operator of one store, from the build. */

import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CompactSign } from 'jose';
import type { Test } from 'tap';
import type { Publishing } from '../../src/app/publishing.js';
import type { Head } from '../../src/fleet/store-records.js';
import type { MemorySource, PublishingOptions, Timetable, TimetableOptions } from '../../src/index.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { storeAddress } from '../../src/store/store-address.js';
import { testFolder } from '../base/files/test-folder.js';
import { NATS_MISSING, type NatsServer, startNats } from '../store/nats-server.js';

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
const library = (await import(
  pathToFileURL(join(DIST, 'index.js')).href
)) as typeof import('../../src/index.js');

export const openTimetable: typeof library.openTimetable = library.openTimetable;
export const publishTimetable: typeof library.publishTimetable = library.publishTimetable;
export const openChannel: typeof library.openChannel = library.openChannel;

/** The kinds of store, with the reason why one is skipped. */
export const KINDS: readonly { readonly kind: 'folder' | 'nats'; readonly skip: string | false }[] = [
  { kind: 'folder', skip: false },
  { kind: 'nats', skip: NATS_MISSING },
];

export interface Fleet {
  readonly address: string;
  readonly folder: string;
  readonly server: NatsServer | null;
  readonly store: Store;
  readonly publisherKey: string;
  readonly publisherPublicKey: string;
  publisher(source: MemorySource, options?: Partial<PublishingOptions>): Promise<Publishing>;
  replica(options?: Partial<TimetableOptions>): Timetable;
}

export function writeKeys(
  folder: string,
  name: string,
): { readonly publisherKey: string; readonly publisherPublicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const [publisherKey, publisherPublicKey] = [join(folder, `${name}.key`), join(folder, `${name}.pub`)];
  writeFileSync(publisherKey, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(publisherPublicKey, publicKey.export({ type: 'spki', format: 'pem' }));
  return { publisherKey, publisherPublicKey };
}

type Kind = 'head' | 'pin' | 'lease';

/** A record that the holder of this private key has signed: a compact JWS (RFC 7515) whose type names the kind. */
export function signed(keyPath: string, kind: Kind, value: object): Promise<string> {
  return new CompactSign(Buffer.from(JSON.stringify(value)))
    .setProtectedHeader({ alg: 'EdDSA', typ: `lectern-${kind}+jws` })
    .sign(createPrivateKey(readFileSync(keyPath)));
}

/** A record of the same form that nobody has signed. */
export function unsigned(kind: Kind, value: object): string {
  const parts = [{ alg: 'none', typ: `lectern-${kind}+jws` }, value];
  return `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`;
}

/** A head without a check of its signature; null for text that is no head. */
export function headOf(text: string): Head | null {
  try {
    return JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString('utf8')) as Head;
  } catch {
    return null;
  }
}

export async function openFleet(t: Test, kind: 'folder' | 'nats'): Promise<Fleet> {
  const closing: (() => Promise<void>)[] = [];
  let server: NatsServer | null = null;
  t.teardown(async () => {
    const closed = await Promise.allSettled(closing.map((close) => close()));
    await server?.stop();
    for (const each of closed) if (each.status === 'rejected') throw each.reason;
  });
  const folder = testFolder(t);
  server = kind === 'nats' ? await startNats(join(folder, 'nats')) : null;
  const address = server?.address() ?? storeAddress(join(folder, 'share'));
  const store = await openStore(address, 'make');
  closing.push(() => store.close());
  const keys = writeKeys(folder, 'publisher');
  return {
    ...{ address, folder, server, store },
    ...keys,
    async publisher(source, options = {}) {
      const to = { to: address, publisherKey: keys.publisherKey, ...options };
      const publishing = await library.publishTimetable({ source }, to);
      closing.push(() => publishing.close());
      return publishing;
    },
    replica(options = {}) {
      const replica = openTimetable({
        source: address,
        publisherPublicKey: keys.publisherPublicKey,
        ...options,
      });
      closing.push(() => replica.close());
      // Replicas in tests report failures through /status.
      replica.on('error', () => {});
      return replica;
    },
  };
}

/** Another store of the same kind of folder. */
export async function openCopy(
  t: Test,
  { folder }: Pick<Fleet, 'folder'>,
): Promise<{ address: string; copy: Store }> {
  const address = storeAddress(join(folder, 'copy'));
  const copy = await openStore(address, 'make');
  t.teardown(() => copy.close());
  return { address, copy };
}

/** `count` events that differ from those of another title. */
export function events(count: number, title: string): object[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    time: '2026-11-23T08:00:00Z',
    endTime: '2026-11-23T09:30:00Z',
    title,
  }));
}

export function titleOf(timetable: Timetable): string {
  return timetable.summary === null ? 'nothing' : String(timetable.find({ limit: 1 }).events[0]?.title);
}

/** Generous: other tests may keep the machine busy. */
const WAIT_MS_MAX = 60_000;

/** Waits until the condition is true. Resolves to the milliseconds that it took, and rejects after WAIT_MS_MAX. */
export async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<number> {
  const beganMs = performance.now();
  let failure: unknown = null;
  while (performance.now() - beganMs < WAIT_MS_MAX) {
    try {
      if (await isSo()) return performance.now() - beganMs;
      failure = null;
    } catch (error) {
      // A store on a busy machine may not answer in time.
      if (!(error instanceof Error) || !('code' in error) || error.code !== 'store-unavailable') throw error;
      failure = error;
    }
    // A look may read the store, so there are pauses between them.
    await delay(50);
  }
  throw new Error(`after ${WAIT_MS_MAX / 1000} s it was not so: ${what}`, { cause: failure });
}

export async function untilServed(replicas: readonly Timetable[], title: string): Promise<number> {
  return until(() => replicas.every((replica) => titleOf(replica) === title), `all serve ${title}`);
}
