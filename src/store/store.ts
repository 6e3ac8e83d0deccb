/**
 * Folder store/. The store that publishers and replicas share: a folder, or NATS JetStream. The code here knows
 * neither timetables nor images.
 */
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { LecternError } from '../base/errors.js';
import { STORE_SILENT_MS_MAX } from '../base/limits.js';
import { inTime } from '../base/model/clock.js';

/** A value with its revision, which changes with every write. Any program that can write to the store may have made it. */
export interface StoredRecord {
  readonly text: string;
  readonly revision: number;
}

/**
 * The text that is read in place of something that is not a record, or has more than STORE_RECORD_BYTES_MAX. No reader
 * accepts it, and the next write replaces it.
 */
export const UNUSABLE = 'not a record';

/**
 * What to do if there is no store. `make`: make one. `fail`: throw, because the address may be mistyped. A store
 * that was found once is made again in both cases.
 */
export type IfMissing = 'make' | 'fail';

/** The reason why methods fail without a store. */
export const NO_STORE = 'there is no store at this address yet; the publisher makes it';

export interface StoredObject {
  readonly name: string;
  readonly bytes: number;
}

/** An object that is named by its content. */
export interface HashedObject {
  /** SHA-256 of the bytes in hexadecimal, and the object's name. */
  readonly hash: string;
  /** Length of the object. */
  readonly bytes: number;
}

/** The bytes of an object. A read without progress for STORE_SILENT_MS_MAX throws. */
export interface StoredBytes extends AsyncIterable<Uint8Array> {
  /**
   * SHA-256 in hexadecimal, if the store's client compares it with the bytes: reading other bytes throws at the
   * end. Null if the reader has to compute the hash.
   */
  readonly sha256: string | null;
}

/**
 * The place that publishers and replicas share: objects of any size that are never replaced, and small
 * records that are replaced by compare-and-swap. Names and keys consist of letters, digits, `-`, `_` and `.`.
 *
 * Every method throws a LecternError `store-unavailable` if the store does not answer, or if there is none and it
 * must not be made. Reading an object whose bytes differ from those that were put throws `object-damaged`.
 */
export interface Store {
  /** The address without credentials. */
  readonly name: string;
  /** Does nothing if the object exists. An interrupted put leaves no object. */
  put(name: string, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  /** Null if there is no such object. */
  get(name: string): Promise<StoredBytes | null>;
  /** Length of an object; null if there is no such object. */
  bytesOf(name: string): Promise<number | null>;
  list(): Promise<readonly StoredObject[]>;
  delete(name: string): Promise<void>;
  /** Deletes the remains of puts whose writers were killed. Running puts of other processes are left alone. */
  removeAbandoned(): Promise<void>;
  read(key: string): Promise<StoredRecord | null>;
  /**
   * Writes a record if it still has this revision; null means that no record exists.
   *
   * @returns the new revision, or null if another writer was first
   */
  swap(key: string, text: string, revision: number | null): Promise<number | null>;
  /** @param start only keys that begin with this text, which ends with a dot; default all */
  keys(start?: string): Promise<readonly string[]>;
  remove(key: string): Promise<void>;
  /** Calls back after changes of these records. A call is only a hint: it may come late or never. */
  watch(keys: readonly string[], onChange: () => void): { close(): void };
  close(): Promise<void>;
}

/**
 * The bytes of an object. They are those that its name says if they end without an error.
 *
 * @param watched passes the transferred bytes on
 * @throws LecternError `object-damaged`; the errors of the store
 */
export async function* checkedChunks(
  store: Store,
  { hash, bytes }: HashedObject,
  watched: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array> = (chunks) => chunks,
): AsyncGenerator<Uint8Array> {
  const chunks = await store.get(hash);
  if (chunks === null) throw damaged(store, hash, 'is missing');
  const digest = chunks.sha256 === null ? createHash('sha256') : null;
  let received = 0;
  for await (const chunk of watched(chunks)) {
    received += chunk.length;
    // Otherwise a file without an end would be read for ever.
    if (received > bytes) throw damaged(store, hash, `is longer than the announced ${bytes} bytes`);
    digest?.update(chunk);
    yield chunk;
  }
  if (received < bytes) throw damaged(store, hash, `has ${received} of ${bytes} bytes`);
  if ((chunks.sha256 ?? digest?.digest('hex')) !== hash)
    throw damaged(store, hash, 'has other bytes than announced');
}

/** The publisher sends a damaged object again. */
export function damaged(store: Store, hash: string, problem: string): LecternError {
  const message = `the image ${hash.slice(0, 12)} in the store ${store.name} ${problem}`;
  return new LecternError('object-damaged', message);
}

/** Reads a short object into memory. Null if the store has none, or other bytes. */
export async function readSmallObject(store: Store, object: HashedObject): Promise<Buffer | null> {
  try {
    return await buffer(checkedChunks(store, object));
  } catch (error) {
    if (error instanceof LecternError && error.code === 'object-damaged') return null;
    throw error;
  }
}

/** The name of an object with these bytes. */
export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Since when each key has had its present value, by the own clock: clocks of machines are never compared. */
export class UnchangedSince<Value> {
  readonly #now: () => number;
  #seen: ReadonlyMap<string, { readonly value: Value; readonly sinceMs: number }> = new Map();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** @returns for how many milliseconds each value was the same in all calls; the longest time first */
  look(present: ReadonlyMap<string, Value>): Map<string, number> {
    const nowMs = this.#now();
    const seen = new Map([...this.#seen].filter(([key, { value }]) => present.get(key) === value));
    for (const [key, value] of present) if (!seen.has(key)) seen.set(key, { value, sinceMs: nowMs });
    this.#seen = seen;
    return new Map([...seen].map(([key, { sinceMs }]) => [key, nowMs - sinceMs]));
  }
}

/**
 * Throws `store-unavailable` if the promise does not settle in time; see {@link inTime}.
 *
 * @param closing aborted when the store is closed, which ends the wait
 */
export async function withinTime<T>(
  promise: Promise<T>,
  name: string,
  msMax: number = STORE_SILENT_MS_MAX,
  onLate?: (value: T) => void,
  closing?: AbortSignal,
): Promise<T> {
  try {
    return await inTime(promise, msMax, () => silent(name, msMax), onLate, closing);
  } catch (error) {
    if (!closing?.aborted || error !== closing.reason) throw error;
    throw unavailable(name, new Error('it is closed'));
  }
}

/** An error of the store itself; a LecternError stays as it is. */
export function unavailable(name: string, cause: unknown): LecternError {
  if (cause instanceof LecternError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new LecternError('store-unavailable', `the store ${name} failed: ${reason}`, { cause });
}

export function silent(name: string, msMax: number): LecternError {
  return new LecternError('store-unavailable', `the store ${name} has not answered for ${msMax / 1000} s`);
}
