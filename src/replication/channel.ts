import { LecternError } from '../errors.js';
import { openStore } from '../store/open-store.js';
import type { Store } from '../store/store.js';
import { storeAddress } from '../store/store-address.js';
import { type Head, HeadReader, withoutPatch } from './head.js';
import {
  announcedKey,
  announcedTexts,
  CANARY,
  CANDIDATE,
  type CanaryRecord,
  HEAD,
  LEADER,
  type Lease,
  PIN,
  type Pin,
  type ReplicaReport,
  readCanary,
  readJson,
  readPin,
  readReports,
  replace,
  sequenceAfter,
  tellUnable,
} from './store-records.js';

/** The announcement of an image. */
export type Announcement = Head;

/** The content of a store, and its users. */
export interface ChannelStatus {
  /** The image that replicas serve, unless an image is pinned. Null before the first announcement. */
  readonly head: Announcement | null;
  /** The image that canaries serve until it is promoted. */
  readonly candidate: Announcement | null;
  /** Whether new images are candidates: a canary has reported, and no `endCanary` came after its report. */
  readonly isCanaryExpected: boolean;
  /** Id of the pinned image. */
  readonly pinned: string | null;
  /** The publisher that leads, or that led last before it ended without notice. */
  readonly leader: string | null;
  /** When the leader renewed its lease, by its own clock; null if unknown. A live leader does so every second. */
  readonly leaderRenewedAtMs: number | null;
  /** Images that were the head and can be pinned, the newest first. */
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
   * @param options.force promotes a candidate that no canary serves, too
   * @throws LecternError `announcement-refused` if `id` is not the candidate, or if no canary serves it
   */
  promote(
    id: string,
    options?: {
      /** Whether to promote a candidate that no canary serves. */
      readonly force?: boolean | undefined;
    },
  ): Promise<void>;
  /**
   * The publisher announces new images and a waiting candidate to all replicas again, until a canary reports.
   *
   * @throws LecternError `announcement-refused` if a canary still reports
   */
  endCanary(): Promise<void>;
  /**
   * Pins the image that was the head before the present head; if an image is pinned, the image before the
   * pinned one. Resolves to its id. Throws like {@link pin}.
   */
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
  return new StoreChannel(await openStore(storeAddress(address), 'fail'), reader);
}

/** Null for no possible time, because leases are not signed. */
function timeOf(renewedAtMs: unknown): number | null {
  return Number.isInteger(renewedAtMs) && !Number.isNaN(new Date(Number(renewedAtMs)).getTime())
    ? Number(renewedAtMs)
    : null;
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
    const [head, candidate, pin, lease, canary] = await Promise.all([
      this.#head(HEAD),
      this.#head(CANDIDATE),
      readPin(this.#store),
      readJson<Lease>(this.#store, LEADER),
      readCanary(this.#store),
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
      isCanaryExpected: canary === true,
      pinned: pin?.id ?? null,
      leader: lease?.owner ?? null,
      leaderRenewedAtMs: timeOf(lease?.renewedAtMs),
      images,
      replicas,
    };
  }

  async pin(id: string): Promise<void> {
    const image = await this.#image(id);
    const bytes = image === null ? null : await this.#store.bytesOf(image.hash);
    const { images, candidate, replicas } = await this.status();
    if (image === null && candidate?.id === id) {
      throw refused(
        `the image ${id} is a candidate that was not promoted; to promote it, run lectern feed promote ${id}`,
      );
    }
    if (image === null || bytes === null) {
      const ids = images.map((each) => each.id).join(', ') || 'none';
      throw refused(`the image ${JSON.stringify(id)} is not in the store; its images are: ${ids}`);
    }
    const unable = replicas.filter(({ formats }) => !formats.includes(image.format));
    if (unable.length > 0) {
      const problem = `it has format ${image.format}, which ${tellUnable(unable.map(({ name }) => name))}`;
      throw refused(`the image ${id} cannot be pinned: ${problem}`);
    }
    await this.#choose(id);
  }

  async unpin(): Promise<void> {
    // Also without a pin: replicas may have seen a pin that the store lost.
    await this.#choose(null);
  }

  async promote(id: string, { force = false }: { readonly force?: boolean | undefined } = {}): Promise<void> {
    const [record, head] = await Promise.all([this.#store.read(CANDIDATE), this.#store.read(HEAD)]);
    const candidate = record === null ? null : await this.#reader.read(record.text);
    if (record === null || candidate?.id !== id) {
      const waiting = (await this.status()).candidate;
      const reason = waiting === null ? 'there is no candidate' : `the candidate is ${waiting.id}`;
      throw refused(`the image ${JSON.stringify(id)} cannot be promoted: ${reason}`);
    }
    const present = head === null ? null : await this.#reader.read(head.text).catch(() => null);
    if (present?.id === id) throw refused(`the image ${id} is the head already`);
    if (present?.epoch === candidate.epoch && present.sequence >= candidate.sequence) {
      throw refused(`the candidate ${id} is older than the head ${present.id}`);
    }
    const pin = await readPin(this.#store);
    if (pin !== null && pin.sequence >= candidate.sequence) {
      throw refused(
        `the candidate ${id} is older than the last pin; the publisher announces it again within seconds`,
      );
    }
    const { replicas } = await this.status();
    const canaries = replicas.filter(({ isCanary }) => isCanary);
    if (!force && !canaries.some(({ serves }) => serves?.hash === candidate.hash)) {
      const reason = canaries.find(({ lastError }) => lastError !== null);
      const why = reason === undefined ? '' : `; ${reason.name} says: ${reason.lastError}`;
      const remedy = 'if the candidate is right all the same, promote it with --force';
      throw refused(`no canary serves the candidate ${id} yet${why}; ${remedy}`);
    }
    // The present head may have no record yet, and rollback needs this record.
    if (head !== null && present !== null) await replace(this.#store, announcedKey(present.id), head.text);
    if ((await this.#store.swap(HEAD, record.text, head?.revision ?? null)) === null) {
      throw refused('the head has changed meanwhile; look at the status and try again');
    }
    await replace(this.#store, announcedKey(id), record.text);
  }

  async endCanary(): Promise<void> {
    const canary = (await this.status()).replicas.find(({ isCanary }) => isCanary);
    if (canary !== undefined) {
      const remedy = 'stop it, and wait a minute if it was killed';
      throw refused(`the canary ${canary.name} still reports: ${remedy}`);
    }
    await replace(this.#store, CANARY, JSON.stringify({ isExpected: false } satisfies CanaryRecord));
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
    if (earlier === undefined) {
      throw refused(
        pinned === null
          ? 'the store has no image older than the head'
          : `the store has no image older than the pinned ${pinned}; to choose a newer image, run lectern feed pin <id>`,
      );
    }
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

  /** An image that was the head; null if the store has none with this id. */
  async #image(id: string): Promise<Head | null> {
    if (!/^[\w-]{22}$/.test(id)) return null;
    const image = await this.#head(announcedKey(id));
    if (image !== null) return image;
    // The publisher may not have recorded the present head yet.
    const record = await this.#store.read(HEAD);
    const head = record === null ? null : await this.#reader.read(record.text).catch(() => null);
    if (record === null || head?.id !== id) return null;
    await replace(this.#store, announcedKey(id), record.text);
    return head;
  }

  async #head(key: string): Promise<Head | null> {
    const record = await this.#store.read(key);
    return record === null ? null : withoutPatch(await this.#reader.read(record.text));
  }
}

function refused(message: string): LecternError {
  return new LecternError('announcement-refused', message);
}
