import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { LecternError } from '../base/errors.js';
import {
  IMAGES_KEPT,
  IMAGES_KEPT_BYTES_MAX,
  IMAGES_UNUSED,
  IMAGES_UNUSED_BYTES_MAX,
  IMAGES_UNUSED_BYTES_MIN,
  LEASE_MS_MAX,
  REPLICA_GONE_MS,
  REPORTED_AHEAD_MS_MAX,
  REPORTS_MAX,
  STORE_LEAVE_MS_MAX,
} from '../base/limits.js';
import { monotonicMs } from '../base/model/clock.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../base/model/time.js';
import type { Publication } from '../refresh/keeper.js';
import type { ChannelState, Loader } from '../refresh/loader.js';
import { IMAGE_FORMAT } from '../snapshot/image-layout.js';
import { checkedChunks, type HashedObject, type Store, UnchangedSince, withinTime } from '../store/store.js';
import { ImageObjects, type ToAnnounce } from './image-objects.js';
import type { Signer } from './keys.js';
import {
  announcedHeads,
  announcedKey,
  followingChanges,
  HEAD,
  type Head,
  isHash,
  LEADER,
  type Lease,
  type OnIgnored,
  type ReplicaReport,
  readHeadAt,
  readLease,
  readPin,
  readReports,
  replace,
  sequenceAfter,
  withoutContent,
} from './store-records.js';

/** Number of rounds between two checks that the store still has the image. */
const ROUNDS_PER_INSPECTION = 4;

/** Time between two readings of reports, each with a removal of old images. */
const CLEANING_MS = 4000;

/** Time between two rounds of a publisher. */
const PUBLISHER_ROUND_MS = 1000;

export interface PublisherEvents {
  announced(head: Head): void;
  led(isLeader: boolean): void;
  /** An attempt to write an announcement or the lease failed. */
  failed(error: Error): void;
  /** A record of the store is ignored: it is malformed or forged. */
  ignored(key: string): void;
  /** Announcements and the lease are written again. */
  recovered(): void;
  /** Old images and records were removed; otherwise with the reason. Announcements do not depend on it. */
  cleaned(fault: Error | null): void;
}

export interface PublisherOptions {
  readonly signer: Signer;
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
  readonly #images: ImageObjects;
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
  /** Keys of ignored records that were reported. */
  readonly #ignored = new Set<string>();
  /** Ends the pauses between rounds. */
  #woken = new AbortController();
  #announcedOnce = (): void => {};
  /** Resolves when the store announces an image of this publisher. */
  readonly announced: Promise<void> = new Promise((resolve) => {
    this.#announcedOnce = resolve;
  });

  /** Begins at once. `close` also closes `store`. */
  constructor(store: Store, options: PublisherOptions) {
    this.#options = options;
    this.#store = store;
    this.#images = new ImageObjects(options.loader, this.#abort.signal);
    this.#reports = new SeenReports(store, (key) => this.#ignore(key));
    this.#cleaner = new StoreCleaner(store, options.signer);
    this.#checks = new ObjectChecks(store, () => this.#inspect());
    this.#leadership = new Leadership(
      store,
      `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`,
      options.signer,
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

  get channel(): ChannelState {
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
    this.#woken.abort();
    this.#woken = new AbortController();
  }

  async #everyRound(work: () => Promise<void>): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      // Before the work, which a wake-up may come too late for.
      const { signal: woken } = this.#woken;
      try {
        await work();
        if (this.#failing.delete(work) && !this.isFailing) this.#options.events.recovered();
      } catch (error) {
        this.#failing.add(work);
        if (!signal.aborted) this.#options.events.failed(asError(error));
      }
      await delay(PUBLISHER_ROUND_MS, undefined, { signal: woken }).catch(() => {});
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
    const { present } = this.#images;
    if (present !== null) await this.#announce(present, isInspection);
  }

  /** Announcements do not wait for this, because others may put any number of records into a store. */
  async #keepClean(): Promise<void> {
    if (!this.#leadership.isLeader || monotonicMs() < this.#cleanAtMs) return;
    try {
      await this.#reports.read();
      await this.#cleaner.clean();
      this.#options.events.cleaned(null);
    } catch (error) {
      // The other loops report a store that does not answer.
      if (!this.isFailing && !this.#abort.signal.aborted) this.#options.events.cleaned(asError(error));
    } finally {
      this.#cleanAtMs = monotonicMs() + CLEANING_MS;
    }
  }

  /** Changes the revision of the head, so that a swap which the former leader has begun fails. */
  async #fence(): Promise<void> {
    const record = await this.#store.read(HEAD);
    if (record !== null) await this.#store.swap(HEAD, record.text, record.revision);
  }

  async #announce(taken: ToAnnounce, isInspection: boolean): Promise<void> {
    // A head with a lower sequence is that of a store that was restored from an older copy. If a store loses the head
    // of a publisher whose clock was ahead, only the replicas know its sequence.
    const sequenceMin = Math.max(this.#sequenceSeen, this.#reports.servedMax());
    const { head, revision } = await this.#readHead();
    this.#sequence = head?.sequence ?? null;
    // A publisher of another version may have announced the same content in another format.
    const isPresent = head?.id === taken.image.summary.id && head.format === IMAGE_FORMAT;
    const isAnnounced = isPresent && head.sequence >= sequenceMin;
    if (isAnnounced) {
      this.#announcedOnce();
      this.#images.found(taken, head);
      if (!isInspection) return;
      await this.#recordHead(head);
      const isSuspect = this.#reports.live.some(({ damaged }) => damaged === head.hash);
      if (await this.#checks.isGood(head, isSuspect)) return;
    }
    const pin = await readPin(this.#store, this.#options.signer.keys, (key) => this.#ignore(key));
    const sequence = sequenceAfter(sequenceMin, this.#sequenceSeen, pin?.sequence);
    const content = await this.#images.put(this.#store, taken, head, sequence, isAnnounced);
    const next: Head = {
      epoch: head?.epoch ?? newEpoch(),
      sequence,
      previous: head?.id ?? null,
      ...content,
      announcedAtMs: Date.now(),
    };
    if (head !== null) await this.#recordHead(head);
    await this.#swapIn(next, revision);
    this.#images.announced(taken, next);
  }

  async #swapIn(next: Head, revision: number | null): Promise<void> {
    const text = await this.#options.signer.sign('head', next);
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
    const { signer } = this.#options;
    const { value: known } = await readHeadAt(this.#store, signer.keys, key);
    if (known?.sequence === head.sequence) return;
    await replace(this.#store, key, await signer.sign('head', withoutContent(head)));
  }

  /** The head, and the revision of its record. A head with an invalid signature is ignored and replaced. */
  async #readHead(): Promise<{ readonly head: Head | null; readonly revision: number | null }> {
    const { keys } = this.#options.signer;
    const { value: head, revision } = await readHeadAt(this.#store, keys, HEAD, (key) => this.#ignore(key));
    this.#sequenceSeen = Math.max(this.#sequenceSeen, head?.sequence ?? 0);
    return { head, revision };
  }

  /** Reports each ignored record once. */
  #ignore(key: string): void {
    if (this.#ignored.has(key) || this.#ignored.size >= REPORTS_MAX) return;
    this.#ignored.add(key);
    this.#options.events.ignored(key);
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function newEpoch(): string {
  return randomBytes(16).toString('base64url');
}

/** An object is kept this long after its last use, because replicas may be fetching it. */
const UNUSED_MS_MIN = 600_000;

/** How long the last former head of each minute, hour and day is kept. */
const KEPT_FOR: readonly { readonly eachMs: number; readonly forMs: number }[] = [
  { eachMs: MINUTE_MS, forMs: 5 * MINUTE_MS },
  { eachMs: HOUR_MS, forMs: DAY_MS },
  { eachMs: DAY_MS, forMs: 7 * DAY_MS },
];

/**
 * Deletes images and changes that no replica needs. The pinned image, the newest IMAGES_KEPT former heads and those of
 * KEPT_FOR stay. Other objects stay for UNUSED_MS_MIN; if together they exceed IMAGES_UNUSED times the length of the head, or
 * IMAGES_UNUSED_BYTES_MAX, the objects unused for longest go first. Heads without a valid signature are ignored. Only the leader
 * cleans.
 */
export class StoreCleaner {
  readonly #store: Store;
  readonly #signer: Pick<Signer, 'keys'>;
  readonly #clock: () => number;
  /** The lengths of unused objects, by name. */
  readonly #unused: UnchangedSince<number>;

  constructor(
    store: Store,
    signer: Pick<Signer, 'keys'>,
    now: () => number = monotonicMs,
    clock: () => number = Date.now,
  ) {
    this.#store = store;
    this.#signer = signer;
    this.#clock = clock;
    this.#unused = new UnchangedSince(now);
  }

  async clean(): Promise<void> {
    const store = this.#store;
    const objects = await store.list();
    const { keys } = this.#signer;
    const { heads: announced, unread } = await announcedHeads(store, keys);
    const heads = [...announced.values()].filter((head) => head !== null);
    const [{ value: head }, pin] = await Promise.all([readHeadAt(store, keys), readPin(store, keys)]);
    const pinned = heads.find(({ id }) => id === pin?.id) ?? null;
    const keptHeads = new Set([
      ...keptOf(heads, this.#clock()),
      ...[head, pinned].filter((each) => each !== null),
    ]);
    const kept = new Set([...keptHeads].flatMap((each) => objectsOf(each, head).map(({ hash }) => hash)));
    for (const [key, each] of announced) if (each === null || !keptHeads.has(each)) await store.remove(key);
    // The images of unread records must stay. The next cleanings read these records in place of the removed ones.
    if (unread > 0) return;
    const unusedMax = Math.max(IMAGES_UNUSED * (head?.bytes ?? 0), IMAGES_UNUSED_BYTES_MIN);
    await this.#deleteUnused(
      // Objects with other names are not Lectern's.
      new Map(objects.flatMap(({ name, bytes }) => (kept.has(name) || !isHash(name) ? [] : [[name, bytes]]))),
      Math.min(unusedMax, IMAGES_UNUSED_BYTES_MAX),
    );
    await store.removeAbandoned();
  }

  /** @param unused bytes of the objects, by name */
  async #deleteUnused(unused: ReadonlyMap<string, number>, bytesMax: number): Promise<void> {
    let bytes = [...unused.values()].reduce((sum, each) => sum + each, 0);
    for (const [name, sinceMs] of this.#unused.look(unused)) {
      if (bytes <= bytesMax && sinceMs < UNUSED_MS_MIN) return;
      await this.#store.delete(name);
      bytes -= unused.get(name) ?? 0;
    }
  }
}

/** The former heads that are kept for `pin` and `rollback`. If their images are large, the oldest are dropped. */
function keptOf(heads: readonly Head[], nowMs: number): Head[] {
  const byAge = heads.toSorted((a, b) => b.sequence - a.sequence);
  const kept = new Set(byAge.slice(0, IMAGES_KEPT));
  for (const { eachMs, forMs } of KEPT_FOR) {
    const ofEach = new Map<number, Head>();
    for (const head of byAge.filter(({ announcedAtMs }) => announcedAtMs > nowMs - forMs)) {
      const place = Math.floor(head.announcedAtMs / eachMs);
      const last = ofEach.get(place);
      // An image file without further changes needs fewer objects.
      if (last === undefined || (isWhole(head) && !isWhole(last))) ofEach.set(place, head);
    }
    for (const head of ofEach.values()) kept.add(head);
  }
  const images = new Map<string, number>();
  return byAge.filter((head, n) => {
    if (!kept.has(head)) return false;
    images.set(head.hash, head.bytes);
    return (
      n < IMAGES_KEPT || [...images.values()].reduce((sum, each) => sum + each, 0) <= IMAGES_KEPT_BYTES_MAX
    );
  });
}

function isWhole(head: Head): boolean {
  return followingChanges(head).length === 0;
}

/** The objects that a replica may need for an image. Only the head's own list has changes before the image file. */
function objectsOf(head: Head, present: Head | null): readonly HashedObject[] {
  const changes = head.sequence === present?.sequence ? head.changes : followingChanges(head);
  return [head, ...changes, ...(head.history === null ? [] : [head.history])];
}

/**
 * Which publisher leads. The leader's record changes with every renewal. A standby takes over once it has
 * seen no change of this record for LEASE_MS_MAX on its own monotonic clock, so clocks of two machines are
 * never compared.
 */
export class Leadership {
  readonly #store: Store;
  readonly #owner: string;
  readonly #signer: Signer;
  readonly #now: () => number;
  #beat = 0;
  /** The last lease of each other publisher that was seen, by its beat: an older one is a copy, and no sign of life. */
  readonly #seenBeats = new Map<string, number>();
  #seenAtMs = 0;
  /** When the last successful renewal began; null without a lease. */
  #renewedAtMs: number | null = null;

  constructor(store: Store, owner: string, signer: Signer, now: () => number = monotonicMs) {
    this.#store = store;
    this.#owner = owner;
    this.#signer = signer;
    this.#now = now;
  }

  /**
   * Whether this publisher leads: until LEASE_MS_MAX after its last renewal began. No standby takes over
   * before that time.
   */
  get isLeader(): boolean {
    return this.#renewedAtMs !== null && this.#now() - this.#renewedAtMs < LEASE_MS_MAX;
  }

  /** Takes or renews the lease if possible. Throws `store-unavailable`. */
  async renew(): Promise<boolean> {
    const beganMs = this.#now();
    const { value: lease, revision: present } = await readLease(this.#store, this.#signer.keys);
    const isOwn = lease?.owner === this.#owner;
    if (lease !== null && !isOwn) {
      this.#renewedAtMs = null;
      if (this.#isRenewed(lease)) this.#seenAtMs = this.#now();
      if (this.#now() - this.#seenAtMs < LEASE_MS_MAX) return false;
    }
    const next: Lease = { owner: this.#owner, beat: ++this.#beat, renewedAtMs: Date.now() };
    const revision = await this.#store.swap(LEADER, await this.#signer.sign('lease', next), present);
    this.#renewedAtMs = revision === null ? null : beganMs;
    return this.isLeader;
  }

  #isRenewed({ owner, beat }: Lease): boolean {
    if (beat <= (this.#seenBeats.get(owner) ?? -1)) return false;
    this.#seenBeats.set(owner, beat);
    return true;
  }

  /** Gives up the lease, so that a standby takes over without waiting for LEASE_MS_MAX. */
  async release(): Promise<void> {
    if (this.#renewedAtMs === null) return;
    this.#renewedAtMs = null;
    const { value: lease } = await readLease(this.#store, this.#signer.keys);
    if (lease?.owner === this.#owner) await this.#store.remove(LEADER);
  }
}

/**
 * Reports are not signed, and a replica on a slow link may report every image as damaged. So reports lead to one
 * check of an image in this time.
 */
const CHECK_AGAIN_MS = 300_000;

/**
 * Checks images in the store. Only images that a replica reported as damaged are read. Announcements do not
 * wait for a check, because reading takes seconds.
 */
export class ObjectChecks {
  readonly #store: Store;
  readonly #onBad: () => void;
  readonly #now: () => number;
  /** When each image was last checked, by hash. */
  readonly #checkedAtMs = new Map<string, number>();
  /** Hashes of images with wrong bytes, until they are stored again. */
  readonly #bad = new Set<string>();
  #checking: Promise<void> | null = null;

  /** @param onBad is called when a check finds wrong bytes */
  constructor(store: Store, onBad: () => void, now: () => number = monotonicMs) {
    this.#store = store;
    this.#onBad = onBad;
    this.#now = now;
  }

  /**
   * False if the stored image is missing, or if a check that an earlier call began has found wrong bytes.
   *
   * @param isSuspect whether a replica reports the image as damaged
   */
  async isGood(head: Head, isSuspect: boolean): Promise<boolean> {
    const { hash, bytes } = head;
    if ((await this.#store.bytesOf(hash)) !== bytes) return false;
    if (this.#bad.delete(hash)) {
      // If the image cannot be stored again, it is checked again.
      this.#checkedAtMs.delete(hash);
      return false;
    }
    if (this.#checking === null && isSuspect && this.#isDue(hash)) {
      this.#checking = this.#check(head).finally(() => {
        this.#checking = null;
      });
    }
    return true;
  }

  /** Resolves when no check runs. */
  async settled(): Promise<void> {
    await this.#checking;
  }

  /** Begins the pause until the next check of an image; false during a pause. */
  #isDue(hash: string): boolean {
    const nowMs = this.#now();
    const checked = this.#checkedAtMs;
    for (const [each, atMs] of checked) if (nowMs - atMs >= CHECK_AGAIN_MS) checked.delete(each);
    if (checked.has(hash)) return false;
    checked.set(hash, nowMs);
    return true;
  }

  async #check(head: Head): Promise<void> {
    try {
      for (const object of objectsOf(head, null)) for await (const _ of checkedChunks(this.#store, object));
    } catch {
      // An image that cannot be read is stored again.
      this.#bad.add(head.hash);
      this.#onBad();
    }
  }
}

/**
 * The replicas that report. A replica whose record stays the same for REPLICA_GONE_MS is gone, and its record
 * is removed, as is a malformed record.
 */
export class SeenReports {
  readonly #store: Store;
  readonly #onIgnored: OnIgnored;
  /** The revisions of the records, by key. */
  readonly #seen: UnchangedSince<number>;
  live: readonly ReplicaReport[] = [];

  constructor(store: Store, onIgnored: OnIgnored, now: () => number = monotonicMs) {
    this.#store = store;
    this.#onIgnored = onIgnored;
    this.#seen = new UnchangedSince(now);
  }

  async read(): Promise<void> {
    const found = await readReports(this.#store);
    const since = this.#seen.look(new Map(found.map(({ key, revision }) => [key, revision])));
    const live: ReplicaReport[] = [];
    for (const { key, report } of found) {
      if (report === null) this.#onIgnored(key);
      // The name in the report is unsigned text, so the record's own key is removed.
      if ((since.get(key) ?? 0) > REPLICA_GONE_MS) await this.#store.remove(key);
      else if (report !== null) live.push(report);
    }
    this.live = live;
  }

  /**
   * The highest sequence that a live replica serves; 0 if there is none. A sequence of the far future is false, and
   * following it would keep the sequence there.
   */
  servedMax(): number {
    const sequenceMax = Date.now() + REPORTED_AHEAD_MS_MAX;
    const served = this.live.map(({ serves }) => serves?.sequence ?? 0);
    return Math.max(0, ...served.filter((sequence) => sequence <= sequenceMax));
  }
}
