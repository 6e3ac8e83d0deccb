import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { LecternError } from '../errors.js';
import { REPORTS_MAX, STORE_LEAVE_MS_MAX } from '../limits.js';
import { monotonicMs } from '../model/clock.js';
import type { FeedState } from '../refresh/feed-state.js';
import type { Publication } from '../refresh/keeper.js';
import type { Loader } from '../refresh/loader.js';
import { withinTime } from '../store/silent-reads.js';
import type { Store } from '../store/store.js';
import { StoreCleaner } from './cleaning.js';
import { type Head, type SigningKey, storedOf, withoutPatch } from './head.js';
import { type ImageObjects, ImageWriter } from './image-objects.js';
import { Leadership } from './lease.js';
import { ObjectChecks } from './object-checks.js';
import { SeenReports } from './seen-reports.js';
import { announcedKey, HEAD, readPin, replace, sequenceAfter } from './store-records.js';

/** Number of rounds between two checks that the store still has the image. */
const ROUNDS_PER_INSPECTION = 4;

/** Time between two readings of reports, each with a removal of old images. */
const CLEANING_MS = 4000;

/** Time between two rounds of a publisher. */
const PUBLISHER_ROUND_MS = 1000;

interface PublisherEvents {
  announced(head: Head): void;
  led(isLeader: boolean): void;
  /** An attempt to write an announcement or the lease failed. */
  failed(error: Error): void;
  /** A record of the store is malformed or forged, and counts for nothing. */
  ignored(key: string): void;
  /** Both succeed again. */
  recovered(): void;
}

export interface PublisherOptions {
  readonly key: SigningKey;
  readonly loader: Pick<Loader, 'run'>;
  readonly events: PublisherEvents;
}

/**
 * Keeps a store correct: each round compares the head in the store with the last image that passed the gate,
 * and announces this image if the two differ. So a store that was emptied, damaged or restored is correct
 * again within seconds.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #abort = new AbortController();
  readonly #store: Store;
  readonly #leadership: Leadership;
  readonly #reports: SeenReports;
  readonly #images: ImageWriter;
  readonly #cleaner: StoreCleaner;
  readonly #checks: ObjectChecks;
  readonly #running: Promise<unknown>;
  /** The highest sequence of a head that this process announced or found. */
  #sequenceSeen = 0;
  /** Sequence of the head that the last round announced or found. */
  #sequence: number | null = null;
  /** Loops whose last round failed. */
  readonly #failing = new Set<() => Promise<void>>();
  /**
   * What this publisher reported last: true if it leads, false if it stands by; null before the first report.
   */
  #isLeading: boolean | null = null;
  /** Whether this publisher, after it began to lead, has made the swaps of a former leader fail. */
  #isFenced = false;
  #rounds = 0;
  /** When reports are read and old images removed next. */
  #cleanAtMs = 0;
  /** Keys of ignored records that were told. */
  readonly #ignored = new Set<string>();
  readonly #wakes = new Set<() => void>();
  #announcedOnce = (): void => {};
  /** Resolves when the store announces an image of this publisher. */
  readonly announced: Promise<void> = new Promise((resolve) => {
    this.#announcedOnce = resolve;
  });

  /** Begins at once. `close` also closes `store`. */
  constructor(store: Store, options: PublisherOptions) {
    this.#options = options;
    this.#store = store;
    this.#images = new ImageWriter(options.loader, this.#abort.signal);
    this.#reports = new SeenReports(store, (key) => this.#ignore(key));
    this.#cleaner = new StoreCleaner(store, options.key);
    this.#checks = new ObjectChecks(store, () => this.#inspect());
    this.#leadership = new Leadership(
      store,
      `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`,
    );
    this.#running = Promise.all([
      this.#everyRound(() => this.#keepLease()),
      this.#everyRound(() => this.#keepHead()),
      this.#everyRound(() => this.#keepClean()),
    ]);
  }

  /** Takes an image that has passed the gate. Of several waiting images, only the newest is announced. */
  publish(publication: Publication): void {
    this.#images.take(publication);
    this.#wake();
  }

  /** Whether the last attempt to write an announcement or the lease failed. */
  get isFailing(): boolean {
    return this.#failing.size > 0;
  }

  get feed(): FeedState {
    // A leader that cannot reach the store announces nothing.
    const isLeader = this.#leadership.isLeader && !this.isFailing;
    return { sequence: isLeader ? this.#sequence : null, isLeader, replica: null };
  }

  async close(): Promise<void> {
    this.#abort.abort();
    this.#wake();
    await withinTime(this.#leave(), this.#store.name, STORE_LEAVE_MS_MAX).catch(() => {});
    await this.#store.close();
    this.#images.close();
  }

  /** A standby takes over at once if the lease is given up, otherwise within LEASE_MS_MAX. */
  async #leave(): Promise<void> {
    await this.#running;
    await this.#checks.settled();
    await this.#leadership.release();
  }

  /** Begins the next round now, with an inspection. */
  #inspect(): void {
    this.#rounds = 0;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#wakes) wake();
  }

  async #everyRound(work: () => Promise<void>): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      let wake = (): void => {};
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      this.#wakes.add(wake);
      try {
        await work();
        if (this.#failing.delete(work) && !this.isFailing) this.#options.events.recovered();
      } catch (error) {
        this.#failing.add(work);
        const failure = error instanceof Error ? error : new Error(String(error));
        if (!signal.aborted) this.#options.events.failed(failure);
      }
      const timer = setTimeout(wake, PUBLISHER_ROUND_MS);
      await woken;
      clearTimeout(timer);
      this.#wakes.delete(wake);
    }
  }

  /** Runs beside the announcements, because sending a large image takes longer than a lease lasts. */
  async #keepLease(): Promise<void> {
    let isKnown = this.#isLeading !== null;
    try {
      await this.#leadership.renew();
      isKnown = true;
    } finally {
      const { isLeader } = this.#leadership;
      if (isKnown && isLeader !== this.#isLeading) {
        this.#isLeading = isLeader;
        this.#isFenced = false;
        this.#options.events.led(isLeader);
        this.#inspect();
      }
    }
  }

  async #keepHead(): Promise<void> {
    const isInspection = this.#rounds % ROUNDS_PER_INSPECTION === 0;
    this.#rounds++;
    if (!this.#leadership.isLeader) {
      // After a takeover, this publisher announces with a higher sequence than any that it saw.
      if (isInspection) await this.#readHead();
      return;
    }
    if (!this.#isFenced) {
      // Set before the fence, because losing leadership during the fence must set `#isFenced` to false.
      this.#isFenced = true;
      await this.#fence().catch((error: unknown) => {
        this.#isFenced = false;
        throw error;
      });
    }
    const objects = await this.#images.present();
    if (objects === null) return;
    await this.#announce(objects, isInspection);
  }

  /** Runs beside the announcements, because a store may hold any number of records of others. */
  async #keepClean(): Promise<void> {
    if (!this.#leadership.isLeader || monotonicMs() < this.#cleanAtMs) return;
    try {
      await this.#reports.read();
      await this.#cleaner.clean();
    } finally {
      this.#cleanAtMs = monotonicMs() + CLEANING_MS;
    }
  }

  /** Changes the revision of the head, so that a swap which the former leader has begun fails. */
  async #fence(): Promise<void> {
    const record = await this.#store.read(HEAD);
    if (record !== null) await this.#store.swap(HEAD, record.text, record.revision);
  }

  async #announce(objects: ImageObjects, isInspection: boolean): Promise<void> {
    const { facts: file } = objects;
    // A head with a lower sequence is that of a store that was restored from an older copy.
    const sequenceMin = this.#sequenceSeen;
    const { head, revision } = await this.#readHead();
    this.#sequence = head?.sequence ?? null;
    const epoch = head?.epoch ?? newEpoch();
    let isDamaged = false;
    // A publisher of another version may have announced the same content in another format.
    if (head?.id === file.id && head.format === file.format && head.sequence >= sequenceMin) {
      this.#announcedOnce();
      if (!isInspection) return;
      await this.#recordHead(head);
      const isSuspect = this.#reports.live.some(({ damaged }) => damaged === head.hash);
      if (await this.#checks.isGood(head, isSuspect)) return;
      isDamaged = true;
      if (storedOf(head).hash === file.hash) {
        await this.#store.delete(file.hash);
        await objects.put(this.#store, head, isDamaged);
        return;
      }
      // Another publisher's file of the same content was lost, or an earlier image or its patches: this publisher's
      // file replaces them.
    }
    const pin = await readPin(this.#store, (key) => this.#ignore(key));
    const sequence = sequenceAfter(this.#sequenceSeen, pin?.sequence);
    const beside = await objects.put(this.#store, head, isDamaged);
    const next = {
      epoch,
      sequence,
      previous: head?.id ?? null,
      ...file,
      ...beside,
      announcedAtMs: Date.now(),
    };
    if (head !== null) await this.#recordHead(head);
    await this.#swapIn(next, revision);
    this.#images.announced(objects);
  }

  async #swapIn(next: Head, revision: number | null): Promise<void> {
    const text = await this.#options.key.sign(next);
    if (!this.#leadership.isLeader || (await this.#store.swap(HEAD, text, revision)) === null) {
      const message = 'nothing was announced: another publisher leads, or announced first';
      throw new LecternError('store-unavailable', message);
    }
    this.#sequenceSeen = next.sequence;
    this.#sequence = next.sequence;
    // The next inspection tries again.
    await this.#recordHead(next).catch(() => {});
    this.#announcedOnce();
    this.#options.events.announced(next);
  }

  /** Keeps a head for `pin` and `rollback`. */
  async #recordHead(head: Head): Promise<void> {
    const key = announcedKey(head.id);
    const { reader } = this.#options.key;
    const recorded = await this.#store.read(key);
    const known = recorded === null ? null : await reader.read(recorded.text).catch(() => null);
    if (known?.sequence === head.sequence) return;
    await replace(this.#store, key, await this.#options.key.sign(withoutPatch(head)));
  }

  /** The head, and the revision of its record. A head with an invalid signature is ignored and replaced. */
  async #readHead(): Promise<{ readonly head: Head | null; readonly revision: number | null }> {
    const record = await this.#store.read(HEAD);
    if (record === null) return { head: null, revision: null };
    const head = await this.#options.key.reader.read(record.text).catch(() => null);
    if (head === null) this.#ignore(HEAD);
    else this.#sequenceSeen = Math.max(this.#sequenceSeen, head.sequence);
    return { head, revision: record.revision };
  }

  /** Tells of each ignored record once. */
  #ignore(key: string): void {
    if (this.#ignored.has(key) || this.#ignored.size >= REPORTS_MAX) return;
    this.#ignored.add(key);
    this.#options.events.ignored(key);
  }
}

function newEpoch(): string {
  return randomBytes(16).toString('base64url');
}
