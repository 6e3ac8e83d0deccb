import { createHash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { LecternError } from '../base/errors.js';
import { QUARANTINED_MAX, RECORD_TEXT_MAX, STORE_LEAVE_MS_MAX } from '../base/limits.js';
import { monotonicMs } from '../base/model/clock.js';
import type { ReadRules } from '../base/model/read-rules.js';
import type { Refusal } from '../refresh/gate.js';
import type { AnyLoader, ChannelState, LoadRequest, RunListeners } from '../refresh/loader.js';
import { memoryForLoad } from '../refresh/memory-room.js';
import type { DoneOf, FetchTask, LoadDone, Task } from '../refresh/thread/task-messages.js';
import { spawnTask, TaskThread } from '../refresh/thread/task-thread.js';
import { IMAGE_FORMAT, type ImageSource } from '../snapshot/image-layout.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import { openStore } from '../store/open-store.js';
import { type Store, withinTime } from '../store/store.js';
import { shownAddress } from '../store/store-address.js';
import { PublicKeys } from './keys.js';
import {
  announcedKey,
  type Floor,
  followingChanges,
  HEAD,
  type Head,
  PIN,
  type Pin,
  type ReplicaReport,
  readHead,
  readPin,
  refused,
  replicaKey,
} from './store-records.js';

/** Characters of a host's name in a report. */
const HOST_CHARACTERS_MAX = 64;

/** Time between two reports of a replica. */
const REPORT_MS = 2000;

export interface ReplicaOptions {
  readonly address: string;
  readonly keys: PublicKeys;
  readonly rules: ReadRules;
  /** Of the program, for reports. */
  readonly version: string;
}

type Served = NonNullable<ReplicaReport['serves']>;

/** Why a replica serves an image. Only serving a head changes `floor`, the last head served. */
type Reason = 'head' | 'pin';

interface Target {
  readonly head: Head;
  readonly reason: Reason;
  /** Sequence of the last choice of an operator; 0 for none. */
  readonly chosenAt: number;
}

/**
 * Loads the announced image: the pinned image, or the head. The keeper looks for a new announcement regularly, and
 * decides whether the image is published.
 */
export class Replica implements AnyLoader {
  readonly name: string;
  readonly files: readonly string[] = [];
  readonly credentialFiles: AnyLoader['credentialFiles'];
  readonly imageSource: ImageSource;
  readonly rules: ReadRules;
  readonly #options: ReplicaOptions;
  readonly #keys: PublicKeys;
  /** Key of the report: one name may stand for several replicas, for example in containers. */
  readonly #key: string;
  #port: number | null = null;
  readonly #quarantined = new Map<string, LecternError>();
  readonly #fetches = new TaskThread<FetchTask>({ idleMsMax: Number.POSITIVE_INFINITY });
  readonly #store: Store;
  #lastLoaded: Target | null = null;
  #serves: Served | null = null;
  readonly #seen = new SeenOrder();
  #damaged: string | null = null;
  #lastError: string | null = null;
  /** When this replica learned of an announcement that it does not serve; null if it serves the right one. */
  #behindSinceMs: number | null = null;
  #isPinned = false;
  /** Format of the announced image if this version cannot read it. */
  #unreadableFormat: number | null = null;
  #beat = 0;
  #revision: number | null = null;
  #reporting: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  /** @throws LecternError `option-invalid` for a malformed address, `key-invalid` */
  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.rules = options.rules;
    const { address, keys } = options;
    this.#keys = keys;
    this.credentialFiles = [keys.file ?? []].flat();
    this.#store = openStore(address, 'fail', keys === PublicKeys.UNSIGNED);
    this.name = shownAddress(address);
    const digest = createHash('sha256').update(this.name).digest('base64url');
    this.imageSource = { name: this.name, digest };
    this.#key = replicaKey(randomBytes(12).toString('base64url'));
  }

  async load(request: LoadRequest): Promise<LoadDone> {
    try {
      const done = await this.#load(request);
      // Until another announcement is served, the reason why the last one is not served stays.
      if (this.#behindSinceMs === null) this.#lastError = null;
      return done;
    } catch (error) {
      this.#lastError = error instanceof Error ? error.message : String(error);
      throw error;
    } finally {
      this.#startReports();
    }
  }

  run<T extends Task>(task: T, listeners: RunListeners): Promise<DoneOf<T>> {
    if (task.task === 'fetch-image') return this.#fetches.run(task, listeners) as Promise<DoneOf<T>>;
    return spawnTask(task, listeners);
  }

  watch(onChange: () => void): { close(): void } {
    return this.#store.watch([HEAD, PIN], onChange);
  }

  listens(port: number): void {
    this.#port ??= port;
    if (this.#timer !== null) void this.#report();
  }

  /** The image is served from now on. */
  published({ id }: SnapshotSummary): void {
    const loaded = this.#lastLoaded;
    if (loaded?.head.id === id) this.#serve(loaded);
  }

  /** The gate refused the last image. */
  refused({ detail }: Refusal): void {
    const head = this.#lastLoaded?.head;
    if (head === undefined) return;
    this.#lastError = detail;
    this.#quarantine(
      nameOf(head),
      new LecternError('snapshot-refused', `the image ${head.id} was refused: ${detail}`),
    );
    void this.#report();
  }

  channel(): ChannelState {
    const behindSinceMs = this.#behindSinceMs;
    return {
      sequence: this.#serves?.sequence ?? null,
      isLeader: null,
      replica: {
        lagMs: behindSinceMs === null ? 0 : monotonicMs() - behindSinceMs,
        quarantined: this.#quarantined.size,
        isPinned: this.#isPinned,
        unreadableFormat: this.#unreadableFormat,
      },
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#fetches.close();
    await withinTime(this.#leave(), this.name, STORE_LEAVE_MS_MAX).catch(() => {});
    await this.#store.close();
  }

  /** Removes the report, so that this replica is no longer listed. */
  async #leave(): Promise<void> {
    await this.#reporting;
    await this.#store.remove(this.#key);
  }

  async #load(request: LoadRequest): Promise<LoadDone> {
    const { listeners, previousVersion, served, past, bounds } = request;
    if (this.#serves === null && served !== null) this.#resume(previousVersion, served.summary);
    const target = await this.#target();
    const { head, reason } = target;
    // All replicas of a store use the same sequence for the same announcement, even if they are late or skip
    // announcements.
    const sequence = Math.max(reason === 'pin' ? 0 : head.sequence, target.chosenAt);
    const version = `${head.epoch} ${head.sequence} ${head.hash} ${reason} ${target.chosenAt}`;
    if (this.#serves?.id !== head.id) this.#behindSinceMs ??= monotonicMs();
    if (reason === 'head') this.#seen.checkHead(head);
    listeners.onVersion?.(version);
    if (version === previousVersion) return { kind: 'not-modified' };
    const isServed = served?.summary.id === head.id;
    const missed = served?.summary.id === this.#serves?.id ? missedOf(head, this.#serves) : null;
    if (isServed && (reason === 'pin' || missed?.length === 0)) {
      this.#serve(target);
      return { kind: 'unchanged', sourceVersion: version, sequence };
    }
    const isForced = previousVersion === null && served !== null;
    const fault = this.#quarantined.get(nameOf(head));
    // A pin of an operator overrides the refusal of the gate.
    const isWaived = isForced || (reason === 'pin' && fault?.code === 'snapshot-refused');
    if (fault !== undefined && !isWaived) throw fault;
    this.#unreadableFormat = head.format === IMAGE_FORMAT ? null : head.format;
    if (this.#unreadableFormat !== null) {
      const problem = `it has format ${head.format}, and this version reads ${IMAGE_FORMAT}`;
      throw refused(`the image ${head.id} cannot be read: ${problem}`);
    }
    const memoryBytesMax = bounds.memoryBytesMax ?? memoryForLoad();
    const refusal = refusalOfHead(head, memoryBytesMax);
    if (refusal !== null) {
      this.#tellRefusal(head, refusal);
      return { kind: 'refused', refusal };
    }
    const { hash, bytes, id, history, hidden } = head;
    const asked = { store: this.#options.address, image: { hash, bytes }, id, history, hidden } as const;
    const changes = { following: followingChanges(head), missed, past, keepsHistory: reason === 'pin' };
    try {
      const task = { task: 'fetch-image', ...asked, ...changes, served, memoryBytesMax } as const;
      const done = await this.run(task, request.listeners);
      if (done.kind === 'unchanged') {
        this.#serve(target);
        return { ...done, sourceVersion: version, sequence };
      }
      if (done.kind === 'refused') this.#tellRefusal(head, done.refusal);
      if (done.kind !== 'loaded') return done;
      this.#checkSummary(head, done.image.summary);
      this.#lastLoaded = target;
      this.#damaged = null;
      return { ...done, sourceVersion: version, sequence, isChosen: reason === 'pin' };
    } catch (error) {
      const code = error instanceof LecternError ? error.code : null;
      if (code === 'image-unusable') this.#quarantine(nameOf(head), error as LecternError);
      // The next report has this hash, and makes the publisher check the object.
      if (code === 'object-damaged') this.#damaged = hash;
      throw error;
    }
  }

  /** The pinned image, or the head. */
  async #target(): Promise<Target> {
    const store = this.#store;
    const pin = await readPin(store, this.#keys);
    const chosenAt = pin?.sequence ?? 0;
    this.#seen.checkChoice(pin);
    if (pin !== null && pin.id !== null) {
      const record = await store.read(announcedKey(pin.id));
      if (record === null) throw refused(`the pinned image ${pin.id} is not in the store ${this.name}`);
      const head = await readHead(this.#keys, record.text);
      if (head.id !== pin.id) throw refused(`the stored image ${head.id} is not the pinned ${pin.id}`);
      return { head, reason: 'pin', chosenAt };
    }
    const record = await store.read(HEAD);
    const head = record === null ? null : await readHead(this.#keys, record.text);
    if (head === null) throw refused(`no publisher has announced an image in the store ${this.name} yet`);
    return { head, reason: 'head', chosenAt };
  }

  /**
   * @throws LecternError `announcement-refused`; `image-unusable` if the image differs from its announcement
   */
  #checkSummary({ id, events }: Head, { identifiers, events: found }: SnapshotSummary): void {
    if (found !== events) {
      const problem = `it has ${found} events, but ${events} were announced`;
      throw new LecternError('image-unusable', `the image ${id} cannot be used: ${problem}`);
    }
    if (identifiers === this.rules.identifiers) return;
    const problem = `it was built with --identifiers ${identifiers}; this replica has ${this.rules.identifiers}`;
    throw refused(`the image ${id} cannot be served: ${problem}`);
  }

  #serve({ head: { epoch, sequence, id, hash }, reason }: Target): void {
    this.#serves = { epoch, sequence, id, hash };
    this.#behindSinceMs = null;
    this.#unreadableFormat = null;
    this.#lastError = null;
    this.#isPinned = reason === 'pin';
    if (reason === 'head') this.#seen.serves({ epoch, sequence });
    void this.#report();
  }

  /** Continues with an image that was read from disk. */
  #resume(version: string | null, { id }: SnapshotSummary): void {
    const [epoch, sequence, hash, reason, chosenAt] = (version ?? '').split(' ');
    if (epoch === undefined || hash === undefined) return;
    this.#serves = { epoch, sequence: Number(sequence), id, hash };
    this.#isPinned = reason === 'pin';
    this.#seen.resumeChoice(Number(chosenAt) || 0, this.#isPinned);
    if (reason === 'head') this.#seen.serves({ epoch, sequence: Number(sequence) });
  }

  #tellRefusal({ id }: Head, { detail }: Refusal): void {
    this.#lastError = `the image ${id} was refused: ${detail}`;
  }

  #quarantine(name: string, fault: LecternError): void {
    this.#quarantined.set(name, fault);
    const [oldest] = this.#quarantined.keys();
    if (this.#quarantined.size > QUARANTINED_MAX && oldest !== undefined) this.#quarantined.delete(oldest);
  }

  #startReports(): void {
    if (this.#closed || this.#timer !== null) return;
    this.#timer = setInterval(() => void this.#report(), REPORT_MS).unref();
    void this.#report();
  }

  /** Ignores failures, because the next load fails, too, if the store does not answer. */
  #report(): Promise<void> {
    this.#reporting ??= this.#writeReport()
      .catch(() => {})
      .finally(() => {
        this.#reporting = null;
      });
    return this.#reporting;
  }

  async #writeReport(): Promise<void> {
    if (this.#closed) return;
    const store = this.#store;
    const report: ReplicaReport = {
      name: `${hostname().slice(0, HOST_CHARACTERS_MAX)}${this.#port === null ? `, process ${process.pid}` : `:${this.#port}`}`,
      version: this.#options.version,
      serves: this.#serves,
      damaged: this.#damaged,
      lastError: this.#lastError?.slice(0, RECORD_TEXT_MAX) ?? null,
      beat: ++this.#beat,
      reportedAtMs: Date.now(),
    };
    const text = JSON.stringify(report);
    this.#revision = await store.swap(this.#key, text, this.#revision);
    if (this.#revision !== null) return;
    // The record was removed, or the bucket is new.
    const present = await store.read(this.#key);
    this.#revision = await store.swap(this.#key, text, present?.revision ?? null);
  }
}

/** The changes from the served announcement to this one; null if they are not announced. */
function missedOf({ epoch, sequence, changes }: Head, serves: Served | null): Head['changes'] | null {
  if (serves === null || serves.epoch !== epoch) return null;
  if (serves.sequence === sequence) return [];
  const first = changes.findIndex(({ from }) => from === serves.sequence);
  return first === -1 ? null : changes.slice(first);
}

/** The objects that make an image. Another announcement of the same content may have others. */
function nameOf({ hash, changes }: Head): string {
  return `${hash} ${changes.at(-1)?.hash ?? ''}`;
}

/** Why a replica does not fetch an image; null if it may. What the store has for it counts, too. */
function refusalOfHead(head: Head, memoryBytesMax: number): Refusal | null {
  const parts = [head, ...head.changes, ...(head.history === null ? [] : [head.history])];
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  if (bytes <= memoryBytesMax) return null;
  const [needs, has] = [bytes, memoryBytesMax].map((each) => `${Math.ceil(each / 2 ** 20)} MiB`);
  return { code: 'memory', detail: `it needs ${needs} of memory, and only ${has} are left` };
}

const RESTORED = 'the store may have been restored from an older copy';

/**
 * The latest announcement and the latest choice that a replica has seen. The replica follows nothing older.
 */
export class SeenOrder {
  /** The last head that this replica served. */
  floor: Floor | null = null;
  /** The highest sequence of an operator's choice. */
  #chosenAt = 0;
  /** Whether the last choice that was seen was a pin. */
  #isPinned = false;

  serves(floor: Floor): void {
    this.floor = floor;
  }

  /**
   * Compares heads of any epoch: a store that lost its records has a new epoch, and perhaps a publisher with
   * another clock. The replica reports what it serves, so the publisher announces with a higher sequence.
   *
   * @throws LecternError `announcement-refused` for an image that was replaced long ago
   */
  checkHead({ sequence }: Floor): void {
    const { floor } = this;
    if (floor === null || sequence >= floor.sequence) return;
    const problem = `the announcement has sequence ${sequence}, but sequence ${floor.sequence} was served before`;
    throw refused(`${problem}: ${RESTORED}`);
  }

  /** Continues after a restart. */
  resumeChoice(sequence: number, isPin: boolean): void {
    this.#chosenAt = sequence;
    this.#isPinned = isPin;
  }

  /**
   * @param pin the last pin or unpin; null if the store has none that is signed
   * @throws LecternError `announcement-refused` for an earlier choice, and if the last choice was a pin and is gone
   */
  checkChoice(pin: Pin | null): void {
    const { sequence, id } = pin ?? { sequence: 0, id: null };
    if (pin === null && this.#isPinned) throw lost('the store has lost the last pin');
    if (sequence !== 0 && sequence < this.#chosenAt) {
      const seen = `but sequence ${this.#chosenAt} was seen before`;
      throw lost(`the last pin or unpin has sequence ${sequence}, ${seen}: ${RESTORED}`);
    }
    this.#chosenAt = Math.max(this.#chosenAt, sequence);
    if (pin !== null) this.#isPinned = id !== null;
  }
}

function lost(problem: string): LecternError {
  const remedy = 'to choose again, run `lectern channel pin <id>` or `lectern channel unpin`';
  return refused(`${problem}; ${remedy}`);
}
