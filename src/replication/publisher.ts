import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { LecternError } from '../errors.js';
import type { FeedState } from '../refresh/feed-state.js';
import type { Publication } from '../refresh/keeper.js';
import type { Loader } from '../refresh/loader.js';
import { IMAGE_FORMAT_VERSION } from '../snapshot/image-format.js';
import type { Store } from '../store/store.js';
import { StoreCleaner } from './cleaning.js';
import { type Head, headOf, type SigningKey, withoutPatch } from './head.js';
import { type ImageObjects, ImageWriter } from './image-objects.js';
import { Leadership } from './lease.js';
import { ObjectChecks } from './object-checks.js';
import { SeenReports } from './seen-reports.js';
import {
  announcedKey,
  CANARY,
  CANDIDATE,
  type CanaryRecord,
  type Floor,
  HEAD,
  isPossible,
  readCanary,
  readPin,
  replace,
  sequenceAfter,
  tellUnable,
} from './store-records.js';

/** Number of rounds between two checks that the store still has the image; each check also removes old images. */
const ROUNDS_PER_INSPECTION = 4;

/** Time between two rounds of a publisher. */
const PUBLISHER_ROUND_MS = 1000;

interface PublisherEvents {
  /** @param isCandidate only canaries serve the image until it is promoted */
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
  /** Sequence of the last choice of an operator; 0 for none. */
  readonly pinSequence: number;
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
  /** The last announcement of this process. */
  #last: Floor | null = null;
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
  /** Whether new images are candidates: a canary has reported, and no operator has ended the canary. */
  #expectsCanary = false;
  /** Whether the present image is not the head. The value stays while the store has no head. */
  #isUnpromoted = false;
  /** Replicas that cannot read this version's images; null until their reports have been read. */
  #unableToRead: readonly string[] | null = null;
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
    this.#reports = new SeenReports(store);
    this.#cleaner = new StoreCleaner(store);
    this.#checks = new ObjectChecks(store, () => this.#inspect());
    this.#leadership = new Leadership(
      store,
      `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`,
    );
    this.#running = Promise.all([
      this.#everyRound(() => this.#keepLease()),
      this.#everyRound(() => this.#keepHead()),
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
    await this.#running;
    await this.#checks.settled();
    await this.#leadership.release().catch(() => {});
    await this.#store.close();
    this.#images.close();
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
    let told = '';
    while (!signal.aborted) {
      let wake = (): void => {};
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      this.#wakes.add(wake);
      try {
        await work();
        this.#failing.delete(work);
        told = '';
      } catch (error) {
        this.#failing.add(work);
        const failure = error instanceof Error ? error : new Error(String(error));
        if (failure.message !== told && !signal.aborted) this.#options.events.failed(failure);
        told = failure.message;
      }
      const timer = setTimeout(wake, PUBLISHER_ROUND_MS);
      await woken;
      clearTimeout(timer);
      this.#wakes.delete(wake);
    }
  }

  /** Runs beside the announcements, because sending a large image takes longer than a lease lasts. */
  async #keepLease(): Promise<void> {
    if (this.#unableToRead === null) return;
    let isKnown = this.#isLeading !== null;
    try {
      // Another publisher may write images that all replicas can read.
      if (this.#unableToRead.length > 0) await this.#leadership.release();
      else await this.#leadership.renew();
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
    if (isInspection) await this.#readReports();
    this.#rounds++;
    if (!this.#leadership.isLeader) return;
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
    const isNew = await this.#announce(objects, isInspection);
    if (isInspection || isNew) await this.#cleaner.clean(this.#reports.live);
  }

  /**
   * A publisher does not lead if a replica cannot read its images, because that replica would fall behind.
   */
  async #readReports(): Promise<void> {
    await this.#reports.read();
    await this.#readCanary();
    const before = this.#unableToRead;
    const unable = this.#reports.live.filter(({ formats }) => !formats.includes(IMAGE_FORMAT_VERSION));
    this.#unableToRead = unable.map(({ name, version }) => `${name} (version ${version})`);
    if (before === null || (before.length === 0) !== (unable.length === 0)) this.#wake();
    if (unable.length === 0 || (before?.length ?? 0) > 0) return;
    const problem = `it writes images of format ${IMAGE_FORMAT_VERSION}, which ${tellUnable(this.#unableToRead)}`;
    const remedy = 'upgrade them, or start a publisher of their version';
    const message = `this publisher does not lead: ${problem}; ${remedy}`;
    this.#options.events.failed(new LecternError('announcement-refused', message));
  }

  /**
   * A canary may refuse a candidate and then end, crash or be stopped. This must not promote the candidate.
   */
  async #readCanary(): Promise<void> {
    const recorded = await readCanary(this.#store);
    // If the store lost its records, the value in this process still holds.
    this.#expectsCanary = this.#reports.hasCanary || (recorded ?? this.#expectsCanary);
    if (!this.#expectsCanary || recorded === true) return;
    await replace(this.#store, CANARY, JSON.stringify({ isExpected: true } satisfies CanaryRecord));
  }

  /** Changes the revisions of head and candidate, so that a swap which the former leader has begun fails. */
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
    this.#sequence = head?.sequence ?? null;
    if (head !== null) this.#isUnpromoted = head.id !== file.id;
    const reported = this.#reports.live.map(({ floor }) => floor);
    // Reports are not signed.
    const floors = [this.#last, ...reported.filter((floor) => isPossible(floor?.sequence))];
    const epoch = head?.epoch ?? newEpoch();
    const sequenceMin = highest(floors);
    // A publisher of another version may have announced the same content in another format.
    const isFile = (found: Head | null): found is Head =>
      found?.id === file.id && found.format === file.format;
    const isCurrent = isFile(head) && head.sequence >= sequenceMin;
    const isWaiting = isFile(candidate) && candidate.epoch === epoch && this.#expectsCanary;
    const present = isCurrent
      ? head
      : isWaiting && candidate.sequence > Math.max(head?.sequence ?? 0, found.pinSequence)
        ? candidate
        : null;
    if (present !== null) {
      this.#announcedOnce();
      if (!isInspection) return false;
      if (head !== null) await this.#recordHead(head);
      if (await this.#checks.isGood(present, this.#reports.live)) return false;
      if (present.hash === file.hash) {
        await this.#store.delete(file.hash);
        await objects.put(this.#store, present);
        return false;
      }
      // Another publisher's file of the same content was lost: this publisher's file replaces it.
    }
    await this.#readReports();
    if (this.#unableToRead?.length !== 0) return false;
    const sequence = sequenceAfter(highest([head, candidate, ...floors]), found.pinSequence);
    const beside = await objects.put(this.#store, head);
    const next = {
      epoch,
      sequence,
      previous: head?.id ?? null,
      ...file,
      ...beside,
      announcedAtMs: Date.now(),
    };
    if (head !== null) await this.#recordHead(head);
    await this.#swapIn(next, found, this.#isUnpromoted && this.#expectsCanary);
    this.#images.announced(objects);
    return true;
  }

  async #swapIn(next: Head, found: Announced, isCandidate: boolean): Promise<void> {
    const text = await this.#options.key.sign(next);
    const [key, revision] = isCandidate ? [CANDIDATE, found.candidateRevision] : [HEAD, found.headRevision];
    if (!this.#leadership.isLeader || (await this.#store.swap(key, text, revision)) === null) {
      const message = 'nothing was announced: another publisher leads, or announced first';
      throw new LecternError('store-unavailable', message);
    }
    this.#last = { epoch: next.epoch, sequence: isCandidate ? 0 : next.sequence };
    if (!isCandidate) {
      this.#sequence = next.sequence;
      // The next inspection tries again.
      await this.#recordHead(next).catch(() => {});
    }
    this.#announcedOnce();
    this.#options.events.announced(next, isCandidate);
  }

  /** Keeps a head for `pin` and `rollback`. Candidates are not kept: a rollback must not choose one. */
  async #recordHead(head: Head): Promise<void> {
    const key = announcedKey(head.id);
    const recorded = await this.#store.read(key);
    if (recorded !== null && headOf(recorded.text)?.sequence === head.sequence) return;
    await replace(this.#store, key, await this.#options.key.sign(withoutPatch(head)));
  }

  /** Heads with an invalid signature are ignored and replaced. */
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
}

function newEpoch(): string {
  return randomBytes(16).toString('base64url');
}

/** The highest sequence, of any epoch; 0 for none. */
function highest(all: readonly (Floor | null)[]): number {
  return Math.max(0, ...all.map((each) => each?.sequence ?? 0));
}
