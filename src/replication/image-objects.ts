import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ANNOUNCED_PATCH_EVENTS_MAX,
  ANNOUNCED_PATCH_INLINE_BYTES_MAX,
  IMAGE_CHUNK_BYTES,
  STORED_PATCHES_MAX,
  STORED_PATCHES_SHARE_MAX,
  STORED_WHOLE_BYTES_MAX,
} from '../limits.js';
import type { Publication } from '../refresh/keeper.js';
import type { Loader } from '../refresh/loader.js';
import { removeAbandoned } from '../snapshot/abandoned-files.js';
import {
  nextAnnouncedHistory,
  readAnnouncedHistory,
  writeAnnouncedHistory,
} from '../snapshot/announced-history.js';
import type { Delta } from '../snapshot/differences.js';
import type { SnapshotImage } from '../snapshot/image.js';
import { IMAGE_FORMAT_VERSION } from '../snapshot/image-format.js';
import { writeImagePatch } from '../snapshot/image-patch.js';
import { readPastRecords } from '../snapshot/past-records.js';
import type { Store } from '../store/store.js';
import { type Head, storedOf } from './head.js';

/** An image to announce: its facts, its patch, and a way to put both into the store. */
export interface ImageObjects {
  /** The facts of the image file, as in the head. */
  readonly facts: Pick<Head, 'id' | 'format' | 'hash' | 'bytes' | 'events' | 'rejected'>;
  /** The patch, with the hash of its base; null if the changes are unknown or too large. */
  readonly patch: { readonly base: string; readonly content: Buffer } | null;
  /**
   * Puts image, patch and history into the store, unless it has them. The image itself is left out if an earlier
   * image and a few patches give it. Resolves to their announcement.
   *
   * @param head the present head, whose history and patches are continued
   * @param isWhole whether the image itself is put in any case
   */
  put(
    store: Store,
    head: Head | null,
    isWhole?: boolean,
  ): Promise<Required<Pick<Head, 'stored' | 'patch' | 'history'>>>;
}

/** Turns publications into files and patches. */
export class ImageWriter {
  readonly #loader: Pick<Loader, 'run'>;
  readonly #signal: AbortSignal;
  /** The present image. The file has no name, so the system frees it even if this process is killed. */
  #file: FileHandle | null = null;
  #next: SnapshotImage | null = null;
  /** The publications of this process up to the image that was taken last. */
  #deltas: readonly Delta[] = [];
  /** The last announced history that this publisher put into the store. */
  #history: AnnouncedHistory | null = null;
  #present: ImageObjects | null = null;
  /** Hash of the image that this publisher announced last. */
  #base: string | null = null;
  /**
   * Ids of the events that changed between `#base` and the present image, or between the present image and
   * the next; null if unknown.
   */
  #sinceBase: Set<string> | null = null;
  #sincePresent: Set<string> | null = null;

  constructor(loader: Pick<Loader, 'run'>, signal: AbortSignal) {
    this.#loader = loader;
    this.#signal = signal;
  }

  /** Takes an image to announce. Of several waiting images, only the newest is written. */
  take({ image, delta, patch, history }: Pick<Publication, 'image' | 'delta' | 'patch' | 'history'>): void {
    this.#next = image;
    this.#deltas = history?.deltas ?? [];
    this.#sincePresent = joined(this.#sincePresent, changedIds({ delta, patch }));
  }

  /** The image that was taken last. The file of this image stays on disk in case the store loses the image. */
  async present(): Promise<ImageObjects | null> {
    const image = this.#next;
    if (image !== null && this.#present?.facts.id !== image.summary.id) await this.#write(image);
    if (this.#next === image) this.#next = null;
    return this.#present;
  }

  /** The present image is announced, and all replicas are about to serve it. */
  announced({ facts }: ImageObjects): void {
    this.#base = facts.hash;
    this.#sinceBase = new Set();
  }

  close(): void {
    void this.#file?.close();
  }

  async #write(image: SnapshotImage): Promise<void> {
    const ids = joined(this.#sinceBase, this.#sincePresent);
    this.#sincePresent = new Set();
    // The changes stay unknown if the write fails.
    this.#sinceBase = null;
    const [base, own] = [this.#base, this.#deltas];
    const { id, events, rejected } = image.summary;
    const file = await this.#writeFile(image);
    this.#present = null;
    await this.#file?.close();
    this.#file = file;
    if (this.#signal.aborted) this.close();
    const digest = createHash('sha256');
    for await (const chunk of chunksOf(file)) digest.update(chunk);
    const [hash, { size: bytes }] = [digest.digest('hex'), await file.stat()];
    this.#sinceBase = ids;
    const content = base === null || ids === null ? null : writeImagePatch(image, ids);
    const patch = base === null || content === null ? null : { base, content };
    const facts = { id, format: IMAGE_FORMAT_VERSION, hash, bytes, events, rejected };
    const put: ImageObjects['put'] = async (store, head, isWhole = false) => {
      const announced = await putPatch(store, patch);
      const stored = isWhole ? null : await continued(store, head, announced, bytes);
      if (stored === null) await store.put(hash, chunksOf(file));
      return { stored, patch: announced, history: await this.#putHistory(store, head, image, own) };
    };
    this.#present = { facts, patch, put };
  }

  async #writeFile(image: SnapshotImage): Promise<FileHandle> {
    removeAbandoned(tmpdir(), /^lectern-image-\w{6}$/);
    const folder = mkdtempSync(join(tmpdir(), 'lectern-image-'));
    try {
      const path = join(folder, 'image');
      const plain = { sourceVersion: null, source: null, beside: null };
      const request = { listeners: { signal: this.#signal }, keepsProcessAlive: true };
      await this.#loader.run({ task: 'write-image', path, image, ...plain }, request);
      return await open(path);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  async #putHistory(
    store: Store,
    head: Head | null,
    image: SnapshotImage,
    own: readonly Delta[],
  ): Promise<NonNullable<Head['history']> | null> {
    const last =
      head === null || head.id === this.#history?.id ? this.#history : await historyOfHead(store, head);
    const deltas = last === null ? own : nextAnnouncedHistory(last.deltas, last.id, own, image);
    const bytes = deltas === null ? null : writeAnnouncedHistory(deltas);
    this.#history = deltas === null ? null : { id: image.summary.id, deltas };
    if (bytes === null) return null;
    const hash = createHash('sha256').update(bytes).digest('hex');
    await store.put(hash, only(bytes));
    return { hash, bytes: bytes.length };
  }
}

interface AnnouncedHistory {
  /** Id of the image to which the deltas lead. */
  readonly id: string;
  readonly deltas: readonly Delta[];
}

/** The history of an announcement by another publisher, or by this one before a restart. */
async function historyOfHead(store: Store, { id, history = null }: Head): Promise<AnnouncedHistory | null> {
  const chunks = history === null ? null : await store.get(history.hash);
  const bytes = chunks === null ? null : await collected(chunks, history?.bytes ?? 0);
  const isGood = bytes !== null && createHash('sha256').update(bytes).digest('hex') === history?.hash;
  const deltas = isGood ? readAnnouncedHistory(bytes, id) : null;
  return deltas === null ? null : { id, deltas };
}

/** Null if the store has more than `bytesMax`. */
async function collected(chunks: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer | null> {
  const all: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > bytesMax) return null;
    all.push(chunk);
  }
  return Buffer.concat(all);
}

async function putPatch(store: Store, patch: ImageObjects['patch']): Promise<(Head['patch'] & {}) | null> {
  if (patch === null) return null;
  const { base, content } = patch;
  const patchHash = createHash('sha256').update(content).digest('hex');
  await store.put(patchHash, only(content));
  const announced = { base, hash: patchHash, bytes: content.length };
  // The object is needed in any case, because replicas of earlier versions read no inline patch.
  if (content.length > ANNOUNCED_PATCH_INLINE_BYTES_MAX) return announced;
  return { ...announced, content: content.toString('base64') };
}

/**
 * What the store has of the present head's image, with one more patch. Null if the next image must be stored whole:
 * because it has no patch, is small, or follows many patches.
 */
async function continued(
  store: Store,
  head: Head | null,
  patch: (Head['patch'] & {}) | null,
  imageBytes: number,
): Promise<NonNullable<Head['stored']> | null> {
  if (head === null || patch === null || patch.base !== head.hash) return null;
  if (imageBytes <= STORED_WHOLE_BYTES_MAX) return null;
  const before = storedOf(head);
  const patches = [...before.patches, { hash: patch.hash, bytes: patch.bytes }];
  const bytes = patches.reduce((sum, each) => sum + each.bytes, 0);
  if (patches.length > STORED_PATCHES_MAX || bytes > STORED_PATCHES_SHARE_MAX * imageBytes) return null;
  return (await store.bytesOf(before.hash)) === before.bytes ? { ...before, patches } : null;
}

async function* only(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}

function changedIds({ delta, patch }: Pick<Publication, 'delta' | 'patch'>): Set<string> | null {
  if (patch !== null) return new Set(patch.changedIds);
  const before = delta?.before ?? null;
  return before === null ? null : new Set(Array.from(readPastRecords(before), ([id]) => id));
}

/** The union of two sets. Null if one set is unknown, or if the union has too many ids to be announced. */
function joined(a: Set<string> | null, b: Set<string> | null): Set<string> | null {
  if (a === null || b === null || a.size + b.size > 2 * ANNOUNCED_PATCH_EVENTS_MAX) return null;
  return new Set([...a, ...b]);
}

function chunksOf(file: FileHandle): AsyncIterable<Uint8Array> {
  return file.createReadStream({ start: 0, autoClose: false, highWaterMark: IMAGE_CHUNK_BYTES });
}
