import { LecternError } from '../base/errors.js';
import { openStore } from '../store/open-store.js';
import type { Store } from '../store/store.js';
import { storeAddress } from '../store/store-address.js';
import { PublicKeys, type Signer, SigningKey, UNSIGNED } from './keys.js';
import {
  announcedHeads,
  announcedKey,
  type Head,
  isId,
  PIN,
  type Pin,
  type ReplicaReport,
  readHeadAt,
  readLease,
  readPin,
  readReports,
  refused,
  replace,
  sequenceAfter,
  withoutContent,
} from './store-records.js';

/** The announcement of an image. */
export type Announcement = Head;

/** The content of a store, and its users. */
export interface ChannelStatus {
  /** The image that replicas serve, unless an image is pinned. Null before the first announcement. */
  readonly head: Announcement | null;
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
  /** Keys of ignored records: they are malformed, or not signed with the given key. */
  readonly ignored: readonly string[];
  /** Records of images that were not read, because there are more than 1,000. The publisher removes those not needed. */
  readonly unread: number;
}

/** Actions of operators on the replicas of a store. Every method throws `store-unavailable` if the store does not answer. */
export interface Channel extends AsyncDisposable {
  /** The present content of the store. */
  status(): Promise<ChannelStatus>;
  /**
   * Every replica serves this image until `unpin`.
   *
   * @throws LecternError `announcement-refused` if the image is not in the store
   */
  pin(id: string): Promise<void>;
  /** Replicas serve the head again. */
  unpin(): Promise<void>;
  /**
   * Pins the image that was the head before the present head; if an image is pinned, the image before the
   * pinned one. Resolves to its id. Throws like {@link pin}.
   */
  rollback(): Promise<string>;
  /** Closes the connection to the store. */
  close(): Promise<void>;
}

/** How the records of a channel are checked and signed: with one of the keys at least, or not at all. */
export interface ChannelKeys {
  /** Path of the publisher's private key, which signs `pin`, `unpin` and `rollback`. */
  readonly publisherKey?: string | undefined;
  /** Path of the public keys of the publishers; without it, the public part of `publisherKey` counts. */
  readonly publisherPublicKey?: string | undefined;
  /** For a folder of the own account: nothing is signed. */
  readonly unsigned?: boolean | undefined;
}

const NO_KEY =
  'a channel needs a key: give the file of the public key (--publisher-public-key; in a program publisherPublicKey), or of the private one';
const NO_PRIVATE_KEY =
  'pin, unpin and rollback are signed: give the file of the private key (--publisher-key; in a program publisherKey)';

/**
 * Opens the channel of a publisher for operators.
 *
 * @param address `nats://…`, `tls://…`, `folder://…`, or the path of a folder
 * @throws LecternError `option-invalid`, `key-invalid`, `key-missing`
 */
export async function openChannel(address: string, options: ChannelKeys = {}): Promise<Channel> {
  const { publisherKey, publisherPublicKey, unsigned = false } = options;
  const signer = unsigned ? UNSIGNED : publisherKey === undefined ? null : new SigningKey(publisherKey);
  const keys =
    unsigned || publisherPublicKey === undefined ? signer?.keys : PublicKeys.ofFile(publisherPublicKey);
  if (keys === undefined) throw new LecternError('key-missing', NO_KEY);
  return new StoreChannel(openStore(storeAddress(address), 'fail', unsigned), keys, signer);
}

class StoreChannel implements Channel {
  readonly #store: Store;
  readonly #keys: PublicKeys;
  readonly #signer: Signer | null;

  constructor(store: Store, keys: PublicKeys, signer: Signer | null) {
    this.#store = store;
    this.#keys = keys;
    this.#signer = signer;
  }

  async status(): Promise<ChannelStatus> {
    const ignored: string[] = [];
    const ignore = (key: string): void => void ignored.push(key);
    const [head, pin, lease] = await Promise.all([
      readHeadAt(this.#store, this.#keys, undefined, ignore),
      readPin(this.#store, this.#keys, ignore),
      readLease(this.#store, this.#keys, ignore),
    ]);
    const { heads, unread } = await announcedHeads(this.#store, this.#keys);
    const images = [...heads.values()].filter((image) => image !== null);
    for (const [key, image] of heads) if (image === null) ignore(key);
    images.sort((a, b) => b.sequence - a.sequence);
    const replicas: ReplicaReport[] = [];
    for (const { key, report } of await readReports(this.#store)) {
      if (report === null) ignore(key);
      else replicas.push(report);
    }
    return {
      head: head.value && withoutContent(head.value),
      pinned: pin?.id ?? null,
      leader: lease.value?.owner ?? null,
      leaderRenewedAtMs: lease.value?.renewedAtMs ?? null,
      images,
      replicas,
      ignored,
      unread,
    };
  }

  async pin(id: string): Promise<void> {
    const image = await this.#image(id);
    const bytes = image === null ? null : await this.#store.bytesOf(image.hash);
    if (image === null || bytes === null) {
      const ids = (await this.status()).images.map((each) => each.id).join(', ') || 'none';
      throw refused(`the image ${JSON.stringify(id)} is not in the store; its images are: ${ids}`);
    }
    await this.#choose(id);
  }

  async unpin(): Promise<void> {
    // Also without a pin: replicas may have seen a pin that the store lost.
    await this.#choose(null);
  }

  async rollback(): Promise<string> {
    const { head, pinned, images } = await this.status();
    const present = pinned === null ? head : images.find(({ id }) => id === pinned);
    const earlier = images.find(
      ({ id, sequence }) => id !== present?.id && sequence < (present?.sequence ?? 0),
    );
    if (earlier === undefined) {
      throw refused(
        pinned === null
          ? 'the store has no image older than the head'
          : `the store has no image older than the pinned ${pinned}; to choose a newer image, run lectern channel pin <id>`,
      );
    }
    await this.pin(earlier.id);
    return earlier.id;
  }

  /** Stores a choice with a sequence above all earlier announcements and choices. */
  async #choose(id: string | null): Promise<void> {
    const signer = this.#signer;
    if (signer === null) throw new LecternError('key-missing', NO_PRIVATE_KEY);
    // Terminates: each round means that another writer was first.
    for (;;) {
      const [record, last] = [await this.#store.read(PIN), await readPin(this.#store, this.#keys)];
      const { value: head } = await readHeadAt(this.#store, this.#keys);
      const sequence = sequenceAfter(last?.sequence, head?.sequence);
      const text = await signer.sign('pin', { id, sequence } satisfies Pin);
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
    const [store, key] = [this.#store, announcedKey(id)];
    if (!isId(id)) return null;
    const { value: image } = await readHeadAt(store, this.#keys, key);
    if (image?.id === id) return image;
    // The publisher may not have recorded the present head yet.
    const { value: head, text } = await readHeadAt(store, this.#keys);
    if (text === null || head?.id !== id) return null;
    await replace(store, key, text);
    return head;
  }
}
