import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { LecternError } from '../errors.js';
import { readCheckedImage } from '../snapshot/check-image.js';
import { unusable } from '../snapshot/image-file.js';
import { openStore } from '../store/open-store.js';
import { differencesFrom } from './load-image.js';
import type { FetchTask, Loaded } from './task-messages.js';

/**
 * Fetches an image and checks all of it: its hash, its content and its id.
 *
 * @throws LecternError `store-unavailable` if the announced bytes are not available; `image-unusable` if they
 * are not an image; `image-not-written`
 */
export async function fetchImage(task: FetchTask): Promise<Loaded> {
  const { id, path, served, deltas, memoryBytesMax } = task;
  try {
    await fetchFile(task);
    const { image } = readCheckedImage(path, 'pin');
    if (image.summary.id !== id) throw unusable(path, `its content is ${image.summary.id}, not ${id}`);
    const bytesLeft = memoryBytesMax - image.summary.bytes;
    return {
      kind: 'loaded',
      image,
      sourceVersion: null,
      ...differencesFrom(served, deltas, image, bytesLeft),
    };
  } finally {
    await rm(path, { force: true });
  }
}

async function fetchFile({ store: address, hash, bytes, path }: FetchTask): Promise<void> {
  const store = await openStore(address);
  try {
    const chunks = await store.get(hash);
    if (chunks === null) throw damaged(store.name, hash, 'is missing');
    await rm(path, { force: true });
    const file = await open(path, 'wx', 0o600);
    try {
      const digest = createHash('sha256');
      let received = 0;
      for await (const chunk of chunks) {
        received += chunk.length;
        if (received > bytes) throw damaged(store.name, hash, `is longer than the announced ${bytes} bytes`);
        digest.update(chunk);
        await file.writeFile(chunk);
      }
      if (received < bytes) throw damaged(store.name, hash, `has ${received} of ${bytes} bytes`);
      if (digest.digest('hex') !== hash) throw damaged(store.name, hash, 'has other bytes than announced');
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (cause instanceof LecternError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `the image ${hash.slice(0, 12)} could not be stored at ${path}: ${reason}`;
    throw new LecternError('image-not-written', message, { cause });
  } finally {
    await store.close();
  }
}

/** Not quarantined, because the publisher sends the object again. */
function damaged(store: string, hash: string, problem: string): LecternError {
  return new LecternError(
    'store-unavailable',
    `the image ${hash.slice(0, 12)} in the store ${store} ${problem}`,
  );
}
