import { LecternError } from '../errors.js';
import { REPLICAS_NAMED_MAX } from '../limits.js';
import { openStore, storeAddress } from '../store/open-store.js';
import type { Store } from '../store/store.js';
import { type Head, HeadReader, withoutPatch } from './head.js';
import {
  announcedKey,
  announcedTexts,
  CANDIDATE,
  HEAD,
  LEADER,
  type Lease,
  PIN,
  type Pin,
  type ReplicaReport,
  readJson,
  readPin,
  readReports,
  sequenceAfter,
} from './store-records.js';

/** The announcement of an image. */
export type Announcement = Head;

/** The content of a store, and its users. */
export interface ChannelStatus {
  /** The image that replicas serve, unless an image is pinned. Null before the first announcement. */
  readonly head: Announcement | null;
  /** The image that canaries serve until it is promoted. */
  readonly candidate: Announcement | null;
  /** Id of the pinned image. */
  readonly pinned: string | null;
  /** The publisher that leads. */
  readonly leader: string | null;
  /** Images that can be pinned, the newest first. */
  readonly images: readonly Announcement[];
  /** Reports of replicas. A replica that ended without notice is listed for about a minute. */
  readonly replicas: readonly ReplicaReport[];
}

/** Actions of operators on the replicas of a store. Every method throws `store-unavailable` if the store does not answer. */
export interface Channel extends AsyncDisposable {
  /** The present content of the store. */
  status(): Promise<ChannelStatus>;
  /**
   * Every replica serves this image until `unpin`.
   *
   * @throws LecternError `announcement-refused` if the image is not in the store, or if a replica cannot read
   * its format
   */
  pin(id: string): Promise<void>;
  /** Replicas serve the head again. */
  unpin(): Promise<void>;
  /**
   * Makes the candidate the head.
   *
   * @throws LecternError `announcement-refused` if `id` is not the candidate, or no canary serves it
   */
  promote(id: string): Promise<void>;
  /** Pins the image announced before the present one. Resolves to its id. Throws like {@link pin}. */
  rollback(): Promise<string>;
  /** Closes the connection to the store. */
  close(): Promise<void>;
}

/**
 * Opens the store of a publisher for operators.
 *
 * @param address `nats://…`, `tls://…`, `folder://…`, or the path of a folder
 * @param options.publicKeyFile the publisher's public key; without it, signatures are not checked
 * @throws LecternError `option-invalid`, `key-invalid`
 */
export async function openChannel(
  address: string,
  {
    publicKeyFile,
  }: {
    /** Path of the publisher's public key. */
    readonly publicKeyFile?: string | undefined;
  } = {},
): Promise<Channel> {
  const reader = publicKeyFile === undefined ? new HeadReader(null) : HeadReader.ofFile(publicKeyFile);
  return new StoreChannel(await openStore(storeAddress(address)), reader);
}

class StoreChannel implements Channel {
  readonly #store: Store;
  readonly #reader: HeadReader;

  constructor(store: Store, reader: HeadReader) {
    this.#store = store;
    this.#reader = reader;
  }

  async status(): Promise<ChannelStatus> {
    const keys = await this.#store.keys();
    const [head, candidate, pin, lease] = await Promise.all([
      this.#head(HEAD),
      this.#head(CANDIDATE),
      readPin(this.#store),
      readJson<Lease>(this.#store, LEADER),
    ]);
    const images: Head[] = [];
    for (const text of (await announcedTexts(this.#store, keys)).values()) {
      const image = await this.#reader.read(text).catch(() => null);
      if (image !== null) images.push(image);
    }
    images.sort((a, b) => b.sequence - a.sequence);
    const reports = [...(await readReports(this.#store, keys)).values()];
    const replicas = reports.map(({ revision: _, ...report }) => report);
    const isWaiting = head === null || (candidate !== null && candidate.sequence > head.sequence);
    return {
      head,
      candidate: isWaiting ? candidate : null,
      pinned: pin?.id ?? null,
      leader: lease?.owner ?? null,
      images,
      replicas,
    };
  }

  async pin(id: string): Promise<void> {
    const image = /^[\w-]{22}$/.test(id) ? await this.#head(announcedKey(id)) : null;
    const objects = image === null ? [] : await this.#store.list();
    const { images, replicas } = await this.status();
    if (image === null || !objects.some(({ name }) => name === image.hash)) {
      const ids = images.map((each) => each.id).join(', ') || 'none';
      throw refused(`the image ${JSON.stringify(id)} is not in the store; its images are: ${ids}`);
    }
    const unable = replicas.filter(({ formats }) => !formats.includes(image.format));
    if (unable.length > 0) {
      const which = unable.slice(0, REPLICAS_NAMED_MAX).map(({ name }) => name);
      const problem = `it has format ${image.format}, which ${unable.length} replicas cannot read: ${which.join(', ')}`;
      throw refused(`the image ${id} cannot be pinned: ${problem}`);
    }
    await this.#choose(id);
  }

  async unpin(): Promise<void> {
    if ((await readPin(this.#store))?.id != null) await this.#choose(null);
  }

  async promote(id: string): Promise<void> {
    const [record, head] = await Promise.all([this.#store.read(CANDIDATE), this.#store.read(HEAD)]);
    const candidate = record === null ? null : await this.#reader.read(record.text);
    if (record === null || candidate?.id !== id) {
      throw refused(
        `the image ${JSON.stringify(id)} is not the candidate; that is ${candidate?.id ?? 'none'}`,
      );
    }
    const present = head === null ? null : await this.#reader.read(head.text).catch(() => null);
    if (present?.epoch === candidate.epoch && present.sequence >= candidate.sequence) {
      throw refused(`the candidate ${id} is older than the head ${present.id}`);
    }
    const pin = await readPin(this.#store);
    if (pin !== null && pin.sequence >= candidate.sequence) {
      throw refused(`the candidate ${id} is older than the last pin; it is announced again within seconds`);
    }
    const { replicas } = await this.status();
    const canaries = replicas.filter(({ isCanary }) => isCanary);
    if (!canaries.some(({ serves }) => serves?.hash === candidate.hash)) {
      const reason = canaries.find(({ lastError }) => lastError !== null);
      const why = reason === undefined ? '' : `; ${reason.name} says: ${reason.lastError}`;
      throw refused(`no canary serves the candidate ${id} yet${why}`);
    }
    if ((await this.#store.swap(HEAD, record.text, head?.revision ?? null)) === null) {
      throw refused('the head has changed meanwhile; look at the status and try again');
    }
  }

  async rollback(): Promise<string> {
    const { head, pinned, images, replicas } = await this.status();
    const present = pinned === null ? head : images.find(({ id }) => id === pinned);
    const earlier = images.find(
      ({ id, sequence, format }) =>
        id !== present?.id &&
        sequence < (present?.sequence ?? 0) &&
        replicas.every(({ formats }) => formats.includes(format)),
    );
    if (earlier === undefined) throw refused('the store has no earlier image');
    await this.pin(earlier.id);
    return earlier.id;
  }

  /** Stores a choice with a sequence above all earlier announcements and choices. */
  async #choose(id: string | null): Promise<void> {
    // Terminates: each round means that another writer was first.
    for (;;) {
      const [record, last] = [await this.#store.read(PIN), await readPin(this.#store)];
      const announced = await Promise.all([HEAD, CANDIDATE].map((key) => this.#head(key).catch(() => null)));
      const sequence = sequenceAfter(last?.sequence, ...announced.map((each) => each?.sequence));
      const text = JSON.stringify({ id, sequence } satisfies Pin);
      if ((await this.#store.swap(PIN, text, record?.revision ?? null)) !== null) return;
    }
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #head(key: string): Promise<Head | null> {
    const record = await this.#store.read(key);
    return record === null ? null : withoutPatch(await this.#reader.read(record.text));
  }
}

function refused(message: string): LecternError {
  return new LecternError('announcement-refused', message);
}
