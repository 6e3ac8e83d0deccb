import { createHash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { LecternError } from '../errors.js';
import { PUBLISHER_ROUND_MS, ROUNDS_PER_INSPECTION } from '../limits.js';
import type { Publication } from '../refresh/keeper.js';
import type { Loader } from '../refresh/loader.js';
import type { Store } from '../store/store.js';
import { cleanStore } from './cleaning.js';
import type { Head, SigningKey } from './head.js';
import { type ImageObjects, ImageWriter } from './image-objects.js';
import { Leadership } from './lease.js';
import { SeenReports } from './seen-reports.js';
import {
  announcedKey,
  CANDIDATE,
  type Floor,
  HEAD,
  readPin,
  replace,
  sequenceAfter,
} from './store-records.js';

export interface PublisherEvents {
  /** @param isCandidate canaries serve it first, until it is promoted */
  announced(head: Head, isCandidate: boolean): void;
  led(isLeader: boolean): void;
  failed(error: Error): void;
}

export interface PublisherOptions {
  readonly key: SigningKey;
  readonly loader: Pick<Loader, 'run'>;
  readonly events: PublisherEvents;
}

/** The announcements in a store, with the records' revisions. */
interface Announced {
  readonly head: Head | null;
  readonly headRevision: number | null;
  readonly candidate: Head | null;
  readonly candidateRevision: number | null;
  /** Of the last choice of an operator. */
  readonly pinSequence: number;
}

/**
 * Keeps a store as it should be: each round compares its head with the last image that passed the gate, and announces the
 * image if they differ. So a store that was emptied, damaged or restored from an older copy is right again within seconds.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #abort = new AbortController();
  readonly #store: Store;
  readonly #leadership: Leadership;
  readonly #reports: SeenReports;
  readonly #images: ImageWriter;
  readonly #running: Promise<unknown>;
  /** The last announcement of this process. */
  #last: Floor | null = null;
  #rounds = 0;
  #isHeld = false;
  readonly #wakes = new Set<() => void>();
  #announcedOnce = (): void => {};
  /** Resolves when the store announces an image of this publisher. */
  readonly announced: Promise<void> = new Promise((resolve) => {
    this.#announcedOnce = resolve;
  });

  /** Begins at once. `store` is closed with the publisher. */
  constructor(store: Store, options: PublisherOptions) {
    this.#options = options;
    this.#store = store;
    this.#images = new ImageWriter(options.loader, this.#abort.signal);
    this.#reports = new SeenReports(store);
    this.#leadership = new Leadership(
      store,
      `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`,
    );
    this.#running = Promise.all([
      this.#everyRound(() => this.#keepLease()),
      this.#everyRound(() => this.#keepHead()),
    ]);
  }

  /** The image has passed the gate. Of several the newest is announced. */
  publish(publication: Publication): void {
    this.#images.take(publication);
    this.#wake();
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.#running;
    await this.#leadership.release().catch(() => {});
    await this.#store.close();
    this.#images.close();
  }

  #wake(): void {
    for (const wake of this.#wakes) wake();
  }

  async #everyRound(work: () => Promise<void>): Promise<void> {
    const { signal } = this.#abort;
    let told = '';
    while (!signal.aborted) {
      let wake = (): void => {};
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      this.#wakes.add(wake);
      try {
        await work();
        told = '';
      } catch (error) {
        const failure = error instanceof Error ? error : new Error(String(error));
        if (failure.message !== told && !signal.aborted) this.#options.events.failed(failure);
        told = failure.message;
      }
      await Promise.race([woken, delay(PUBLISHER_ROUND_MS, undefined, { signal }).catch(() => {})]);
      this.#wakes.delete(wake);
    }
  }

  /** Beside the announcements, because a large image takes longer to send than a lease lasts. */
  async #keepLease(): Promise<void> {
    const { isLeader } = this.#leadership;
    try {
      await this.#leadership.renew();
    } finally {
      if (this.#leadership.isLeader !== isLeader) {
        this.#rounds = 0;
        this.#options.events.led(!isLeader);
        this.#wake();
      }
    }
  }

  async #keepHead(): Promise<void> {
    if (!this.#leadership.isLeader) return;
    const round = this.#rounds++;
    if (round === 0) await this.#fence();
    const objects = await this.#images.present();
    if (objects === null) return;
    const isInspection = round % ROUNDS_PER_INSPECTION === 0;
    if (isInspection) await this.#reports.read();
    const isNew = await this.#announce(objects, isInspection);
    if (isInspection || isNew) await cleanStore(this.#store, this.#reports.live);
  }

  /** Changes the revision of the head, so that the former leader's swap fails if it still runs. */
  async #fence(): Promise<void> {
    for (const key of [HEAD, CANDIDATE]) {
      const record = await this.#store.read(key);
      if (record !== null) await this.#store.swap(key, record.text, record.revision);
    }
  }

  /** @returns whether there is a new announcement */
  async #announce(objects: ImageObjects, isInspection: boolean): Promise<boolean> {
    const { facts: file } = objects;
    const found = await this.#readAnnounced();
    const { head, candidate } = found;
    const floors = [this.#last, ...this.#reports.live.map(({ floor }) => floor)];
    const epoch = head?.epoch ?? floors.find((each) => each !== null)?.epoch ?? newEpoch();
    const sequenceMin = highest(floors, epoch);
    const isCurrent = head !== null && head.id === file.id && head.sequence >= sequenceMin;
    const isWaiting = candidate?.id === file.id && candidate.epoch === epoch && this.#reports.hasCanary;
    const present = isCurrent
      ? head
      : isWaiting && candidate.sequence > Math.max(head?.sequence ?? 0, found.pinSequence)
        ? candidate
        : null;
    if (present !== null) {
      this.#announcedOnce();
      if (!isInspection || (await this.#isGood(present))) return false;
      if (present.hash === file.hash) {
        await this.#store.delete(file.hash);
        await objects.put(this.#store);
        return false;
      }
      // Another publisher's file of the same content was lost: this one is announced in its place.
    }
    await this.#reports.read();
    if (this.#reports.live.some(({ formats }) => !formats.includes(file.format)))
      return this.#hold(file.format);
    this.#isHeld = false;
    const sequence = sequenceAfter(highest([head, candidate, ...floors], epoch), found.pinSequence);
    const patch = (await objects.put(this.#store)) ?? null;
    const next = { epoch, sequence, previous: head?.id ?? null, ...file, patch, announcedAtMs: Date.now() };
    await this.#swapIn(next, found, head !== null && head.id !== file.id && this.#reports.hasCanary);
    this.#images.announced(objects);
    return true;
  }

  async #swapIn(next: Head, found: Announced, isCandidate: boolean): Promise<void> {
    const text = await this.#options.key.sign(next);
    await replace(this.#store, announcedKey(next.id), text);
    const [key, revision] = isCandidate ? [CANDIDATE, found.candidateRevision] : [HEAD, found.headRevision];
    if (!this.#leadership.isLeader || (await this.#store.swap(key, text, revision)) === null) {
      const message = 'the announcement was not made: another publisher leads, or was first';
      throw new LecternError('store-unavailable', message);
    }
    this.#last = { epoch: next.epoch, sequence: isCandidate ? 0 : next.sequence };
    this.#announcedOnce();
    this.#options.events.announced(next, isCandidate);
  }

  /** Heads with a bad signature count as none, and are replaced. */
  async #readAnnounced(): Promise<Announced> {
    const { reader } = this.#options.key;
    const records = await Promise.all([this.#store.read(HEAD), this.#store.read(CANDIDATE)]);
    const [head, candidate] = await Promise.all(
      records.map((record) => (record === null ? null : reader.read(record.text).catch(() => null))),
    );
    const [headRevision, candidateRevision] = records.map((record) => record?.revision ?? null);
    return {
      head: head ?? null,
      candidate: candidate ?? null,
      headRevision: headRevision ?? null,
      candidateRevision: candidateRevision ?? null,
      pinSequence: (await readPin(this.#store))?.sequence ?? 0,
    };
  }

  /** A replica of another version could not read the image: it would be left behind. */
  #hold(format: number): false {
    if (!this.#isHeld) {
      const message = `images of format ${format} are not announced yet: a replica of another version cannot read them`;
      this.#options.events.failed(new LecternError('announcement-refused', message));
    }
    this.#isHeld = true;
    return false;
  }

  /** Reads the whole object only if a replica reported a fault of it. */
  async #isGood({ hash, bytes }: Head): Promise<boolean> {
    const object = (await this.#store.list()).find(({ name }) => name === hash);
    if (object?.bytes !== bytes) return false;
    if (!this.#reports.live.some(({ damaged }) => damaged === hash)) return true;
    try {
      const digest = createHash('sha256');
      for await (const chunk of (await this.#store.get(hash)) ?? []) digest.update(chunk);
      return digest.digest('hex') === hash;
    } catch {
      return false;
    }
  }
}

function newEpoch(): string {
  return randomBytes(16).toString('base64url');
}

/** The highest sequence of an epoch; 0 for none. */
function highest(all: readonly (Floor | null)[], epoch: string): number {
  return Math.max(0, ...all.map((each) => (each?.epoch === epoch ? each.sequence : 0)));
}
