import { createHash } from 'node:crypto';
import { createReadStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ANNOUNCED_PATCH_EVENTS_MAX,
  ANNOUNCED_PATCH_INLINE_BYTES_MAX,
  IMAGE_CHUNK_BYTES,
} from '../limits.js';
import type { Publication } from '../refresh/keeper.js';
import type { Loader } from '../refresh/loader.js';
import { readPastRecords } from '../snapshot/differences.js';
import type { SnapshotImage } from '../snapshot/image.js';
import { IMAGE_FORMAT_VERSION } from '../snapshot/image-format.js';
import { writeImagePatch } from '../snapshot/image-patch.js';
import type { Store } from '../store/store.js';
import type { Head } from './head.js';

/** An image to announce: its facts, its patch, and a way to put both into the store. */
export interface ImageObjects {
  /** The facts of the image file, as in the head. */
  readonly facts: Pick<Head, 'id' | 'format' | 'hash' | 'bytes' | 'events' | 'rejected'>;
  /** The patch, with the hash of its base; null if the changes are unknown or too large. */
  readonly patch: { readonly base: string; readonly content: Buffer } | null;
  /** Puts image and patch, unless the store has them. Resolves to the announcement of the patch. */
  put(store: Store): Promise<Head['patch']>;
}

/** Turns publications into files and patches. */
export class ImageWriter {
  readonly #loader: Pick<Loader, 'run'>;
  readonly #signal: AbortSignal;
  #folder: string | null = null;
  #path: string | null = null;
  #next: SnapshotImage | null = null;
  #present: ImageObjects | null = null;
  /** Hash of the image that this publisher announced last. */
  #base: string | null = null;
  /**
   * Ids of the events that changed from `#base` to the present image, and of those that changed from the
   * present image to the next; null if unknown.
   */
  #sinceBase: Set<string> | null = null;
  #sincePresent: Set<string> | null = null;

  constructor(loader: Pick<Loader, 'run'>, signal: AbortSignal) {
    this.#loader = loader;
    this.#signal = signal;
  }

  /** Takes an image to announce. Of several, only the newest is written. */
  take({ image, delta, patch }: Pick<Publication, 'image' | 'delta' | 'patch'>): void {
    this.#next = image;
    this.#sincePresent = joined(this.#sincePresent, changedIds({ delta, patch }));
  }

  /** The image that was taken last. Its file is kept in case the store loses it. */
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
    if (this.#folder !== null) rmSync(this.#folder, { recursive: true, force: true });
  }

  async #write(image: SnapshotImage): Promise<void> {
    const ids = joined(this.#sinceBase, this.#sincePresent);
    this.#sincePresent = new Set();
    // The changes stay unknown if the write fails.
    this.#sinceBase = null;
    const base = this.#base;
    this.#folder ??= mkdtempSync(join(tmpdir(), 'lectern-'));
    const { id, events, rejected } = image.summary;
    const path = join(this.#folder, id);
    const plain = { sourceVersion: null, source: null, beside: null, keep: 0 };
    const request = { listeners: { signal: this.#signal }, keepsProcessAlive: true };
    await this.#loader.run({ task: 'write-image', path, image, ...plain }, request);
    const digest = createHash('sha256');
    for await (const chunk of chunksOf(path)) digest.update(chunk);
    const [hash, { size: bytes }] = [digest.digest('hex'), statSync(path)];
    if (this.#path !== null) rmSync(this.#path, { force: true });
    this.#path = path;
    this.#sinceBase = ids;
    const content = base === null || ids === null ? null : writeImagePatch(image, ids);
    const patch = base === null || content === null ? null : { base, content };
    const facts = { id, format: IMAGE_FORMAT_VERSION, hash, bytes, events, rejected };
    this.#present = { facts, patch, put: (store) => putObjects(store, hash, path, patch) };
  }
}

async function putObjects(
  store: Store,
  hash: string,
  path: string,
  patch: ImageObjects['patch'],
): Promise<Head['patch']> {
  await store.put(hash, chunksOf(path));
  if (patch === null) return null;
  const { base, content } = patch;
  const patchHash = createHash('sha256').update(content).digest('hex');
  await store.put(patchHash, only(content));
  const announced = { base, hash: patchHash, bytes: content.length };
  // The object stays: replicas of earlier versions know no other.
  if (content.length > ANNOUNCED_PATCH_INLINE_BYTES_MAX) return announced;
  return { ...announced, content: content.toString('base64') };
}

async function* only(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}

function changedIds({ delta, patch }: Pick<Publication, 'delta' | 'patch'>): Set<string> | null {
  if (patch !== null) return new Set(patch.changedIds);
  const before = delta?.before ?? null;
  return before === null ? null : new Set(Array.from(readPastRecords(before), ([id]) => id));
}

/** Null if one is not known, or both are too many to be announced. */
function joined(a: Set<string> | null, b: Set<string> | null): Set<string> | null {
  if (a === null || b === null || a.size + b.size > 2 * ANNOUNCED_PATCH_EVENTS_MAX) return null;
  return new Set([...a, ...b]);
}

function chunksOf(path: string): AsyncIterable<Uint8Array> {
  return createReadStream(path, { highWaterMark: IMAGE_CHUNK_BYTES });
}
