import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CHANGE_BYTES_MAX,
  CHANGE_INLINE_BYTES_MAX,
  HISTORY_BYTES_MAX,
  IMAGE_CHUNK_BYTES,
  STORED_CHANGES_MAX,
  STORED_CHANGES_SHARE_MAX,
} from '../base/limits.js';
import { type Change, decodeChanges, encodeChanges } from '../change/change.js';
import { leadTo, newestChanges } from '../change/history.js';
import type { Publication } from '../refresh/keeper.js';
import type { Loader } from '../refresh/loader.js';
import { removeAbandoned } from '../snapshot/abandoned-files.js';
import { hiddenDigestOf } from '../snapshot/content-version.js';
import type { SnapshotImage } from '../snapshot/image.js';
import { IMAGE_FORMAT } from '../snapshot/image-layout.js';
import { type HashedObject, hashOf, readSmallObject, type Store } from '../store/store.js';
import { type AnnouncedChange, followingChanges, type Head, withoutContent } from './store-records.js';

/** What a head says of its content and of the objects that give it. */
type HeadContent = Omit<Head, 'epoch' | 'sequence' | 'previous' | 'announcedAtMs'>;

/** An image as a file. The file has no name, so the system frees it even if this process is killed. */
interface ImageFile extends HashedObject {
  readonly image: SnapshotImage;
  readonly file: FileHandle;
}

/** A publication to announce. */
export interface ToAnnounce {
  readonly image: SnapshotImage;
  readonly sequence: number;
  /** The changes since the announcement `base`, with their edits; null if they are unknown, or too large. */
  readonly changes: readonly Change[] | null;
  /** Sequence of an announcement of this process, or of one with the same content; null for none. */
  readonly base: number | null;
  /** The publications of this process up to the image. */
  readonly own: readonly Change[];
}

/** Puts publications into a store: a small change as it is, and otherwise the whole image. */
export class ImageObjects {
  readonly #loader: Pick<Loader, 'run'>;
  readonly #signal: AbortSignal;
  /** The last image file, until the image is announced. */
  #file: ImageFile | null = null;
  #hidden: { readonly image: SnapshotImage; readonly digest: string } | null = null;
  #last: Pick<ToAnnounce, 'image' | 'sequence' | 'own'> | null = null;
  #base: number | null = null;
  /** The publications since the announcement `#base`. */
  #since: readonly { readonly sequence: number; readonly changes: readonly Change[] | null }[] = [];
  /** The publications up to the announcement with this sequence. */
  #history: { readonly sequence: number; readonly changes: readonly Change[] } | null = null;

  constructor(loader: Pick<Loader, 'run'>, signal: AbortSignal) {
    this.#loader = loader;
    this.#signal = signal;
  }

  /** Takes a publication to announce. Of several waiting ones, only the last image is announced. */
  take({ image, sequence, changes, history }: Publication): void {
    this.#last = { image, sequence, own: history?.changes ?? [] };
    const isKnown = changes.length > 0 && changes.every(({ edit }) => edit !== null);
    const since = [...this.#since, { sequence, changes: isKnown ? changes : null }];
    const edits = since.flatMap((each) => each.changes ?? []);
    const bytes = edits.reduce((sum, { edit }) => sum + (edit?.length ?? 0), 0);
    this.#since = bytes <= CHANGE_BYTES_MAX ? since : [{ sequence, changes: null }];
  }

  /** The publication that was taken last. */
  get present(): ToAnnounce | null {
    if (this.#last === null) return null;
    const changes = this.#since.every((each) => each.changes !== null)
      ? this.#since.flatMap((each) => each.changes ?? [])
      : null;
    return { ...this.#last, changes, base: this.#base };
  }

  /** The publication is announced with this head. */
  announced({ sequence }: ToAnnounce, head: Head): void {
    this.#base = head.sequence;
    // Others may have been taken meanwhile.
    this.#since = this.#since.filter((each) => each.sequence > sequence);
    void this.#file?.file.close();
    this.#file = null;
  }

  /** Another publisher, or this one before a restart, has announced the same content. */
  found(taken: ToAnnounce, head: Head): void {
    if (this.#base !== head.sequence && this.#hiddenOf(taken.image) === head.hidden)
      this.announced(taken, head);
  }

  /**
   * Puts what the store lacks of a publication.
   *
   * @param head the present head, whose changes are continued
   * @param sequence of the announcement
   * @param isAnew whether objects that the head names are damaged, so that everything is put again
   */
  async put(
    store: Store,
    taken: ToAnnounce,
    head: Head | null,
    sequence: number,
    isAnew: boolean,
  ): Promise<HeadContent> {
    const { image } = taken;
    const { id, events, rejected } = image.summary;
    const facts = { id, format: IMAGE_FORMAT, events, rejected, hidden: this.#hiddenOf(image) };
    const change = head === null || isAnew ? null : await putChange(store, taken, head, sequence);
    const before = head === null || change === null ? [] : withoutContent(head).changes;
    // The image file stays in reach of the list, because more changes than are listed do not follow it.
    const dropped = Math.max(0, before.length + 1 - STORED_CHANGES_MAX);
    const changes = change === null ? [] : [...before.slice(dropped), change];
    if (head !== null && change !== null && (await mayFollow(store, head, change))) {
      const { hash, bytes, history } = head;
      this.#extendHistory(head, sequence, taken);
      return { ...facts, hash, bytes, history, changes, contained: head.contained - dropped };
    }
    const { hash, bytes, file } = await this.#write(image);
    if (isAnew) await store.delete(hash);
    await store.put(hash, chunksOf(file));
    const history = await this.#putHistory(store, head, sequence, taken, isAnew);
    return { ...facts, hash, bytes, history, changes, contained: changes.length };
  }

  /** Kept, because each round may need it. */
  #hiddenOf(image: SnapshotImage): string {
    if (this.#hidden?.image !== image) this.#hidden = { image, digest: hiddenDigestOf(image) };
    return this.#hidden.digest;
  }

  close(): void {
    void this.#file?.file.close();
  }

  async #write(image: SnapshotImage): Promise<ImageFile> {
    if (this.#file?.image === image) return this.#file;
    const file = await this.#writeFile(image);
    await this.#file?.file.close();
    this.#file = null;
    const digest = createHash('sha256');
    for await (const chunk of chunksOf(file)) digest.update(chunk);
    this.#file = { image, file, hash: digest.digest('hex'), bytes: (await file.stat()).size };
    if (this.#signal.aborted) this.close();
    return this.#file;
  }

  async #writeFile(image: SnapshotImage): Promise<FileHandle> {
    removeAbandoned(tmpdir(), /^lectern-image-\w{6}$/);
    const folder = mkdtempSync(join(tmpdir(), 'lectern-image-'));
    try {
      const path = join(folder, 'image');
      const plain = { sequence: null, sourceVersion: null, source: null, beside: null, past: [] };
      await this.#loader.run({ task: 'write-image', path, image, ...plain }, { signal: this.#signal });
      return await open(path);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  #extendHistory(head: Head, sequence: number, { changes }: ToAnnounce): void {
    const known = this.#history?.sequence === head.sequence ? this.#history.changes : null;
    // Otherwise it is read when it is needed.
    this.#history = known && { sequence, changes: newestChanges([...known, ...withoutEdits(changes ?? [])]) };
  }

  /** Null if the history is too long. */
  async #putHistory(
    store: Store,
    head: Head | null,
    sequence: number,
    { own, image }: ToAnnounce,
    isAnew: boolean,
  ): Promise<HashedObject | null> {
    const known = this.#history?.sequence === head?.sequence ? this.#history?.changes : undefined;
    const before = head === null ? null : (known ?? (await historyOf(store, head)));
    const changes = head === null || before === null ? own : continued(before, head.id, own, image);
    this.#history = { sequence, changes };
    const bytes = encodeChanges(changes);
    if (changes.length === 0 || bytes.length > HISTORY_BYTES_MAX) return null;
    const object = objectOf(bytes);
    if (isAnew) await store.delete(object.hash);
    await store.put(object.hash, only(bytes));
    return object;
  }
}

function objectOf(bytes: Buffer): HashedObject {
  return { hash: hashOf(bytes), bytes: bytes.length };
}

async function* only(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}

/** The announced changes from this head to a publication; null if they are unknown. */
async function putChange(
  store: Store,
  { changes, base }: ToAnnounce,
  head: Head,
  sequence: number,
): Promise<AnnouncedChange | null> {
  if (changes === null || changes.length === 0 || base !== head.sequence) return null;
  const last = changes.length - 1;
  const bytes = encodeChanges(changes.map((each, n) => (n === last ? { ...each, sequence } : each)));
  const object = { from: head.sequence, ...objectOf(bytes) };
  await store.put(object.hash, only(bytes));
  return bytes.length <= CHANGE_INLINE_BYTES_MAX ? { ...object, content: bytes.toString('base64') } : object;
}

/** Whether the store needs no newer image file yet. */
async function mayFollow(store: Store, head: Head, change: AnnouncedChange): Promise<boolean> {
  const following = [...followingChanges(head), change];
  const bytes = following.reduce((sum, each) => sum + each.bytes, 0);
  if (following.length > STORED_CHANGES_MAX || bytes > STORED_CHANGES_SHARE_MAX * head.bytes) return false;
  return (await store.bytesOf(head.hash)) === head.bytes;
}

/** The announced history, with the publications of this process that follow it. */
function continued(
  announced: readonly Change[],
  lastId: string,
  own: readonly Change[],
  { summary: { id } }: SnapshotImage,
): readonly Change[] {
  if (lastId === id) return announced;
  const first = own.findLastIndex(({ from }) => from === lastId);
  return first === -1 ? own : newestChanges([...announced, ...own.slice(first)]);
}

/** The history of an announcement by another publisher, or by this one before a restart. Null if it is not there. */
async function historyOf(store: Store, head: Head): Promise<readonly Change[] | null> {
  const objects = [...(head.history === null ? [] : [head.history]), ...followingChanges(head)];
  const changes: Change[] = [];
  for (const object of objects) {
    const bytes = await readSmallObject(store, object);
    if (bytes === null) return null;
    try {
      changes.push(...withoutEdits(decodeChanges(bytes)));
    } catch {
      // A publisher of another version may have written it.
      return null;
    }
  }
  return leadTo(changes, head.id) ? changes : null;
}

function withoutEdits(changes: readonly Change[]): Change[] {
  return changes.map((change) => ({ ...change, edit: null }));
}

function chunksOf(file: FileHandle): AsyncIterable<Uint8Array> {
  return file.createReadStream({ start: 0, autoClose: false, highWaterMark: IMAGE_CHUNK_BYTES });
}
