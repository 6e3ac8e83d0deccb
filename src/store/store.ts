/**
 * Room store/. The store that publishers and replicas share: a folder, or NATS JetStream. It knows neither timetables nor images.
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LecternError } from '../errors.js';

/** A value with its revision, which changes with every write. */
export interface StoredRecord {
  readonly text: string;
  readonly revision: number;
}

export interface StoredObject {
  readonly name: string;
  readonly bytes: number;
}

/**
 * A place that publishers and replicas share: objects of any size that are never replaced, and small records that are
 * replaced by compare-and-swap. Names and keys consist of letters, digits, `-`, `_` and `.`.
 *
 * Every method throws a LecternError `store-unavailable` if the store does not answer.
 */
export interface Store {
  /** The address without credentials. */
  readonly name: string;
  /** Does nothing if the object exists. An interrupted put leaves no object. */
  put(name: string, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  /** The object's bytes, or null. A read without progress for STORE_SILENT_MS_MAX throws. */
  get(name: string): Promise<AsyncIterable<Uint8Array> | null>;
  list(): Promise<readonly StoredObject[]>;
  delete(name: string): Promise<void>;
  read(key: string): Promise<StoredRecord | null>;
  /**
   * Writes a record if it still has this revision; null: if there is none.
   *
   * @returns the new revision, or null if another writer was first
   */
  swap(key: string, text: string, revision: number | null): Promise<number | null>;
  keys(): Promise<readonly string[]>;
  remove(key: string): Promise<void>;
  /** Calls after changes of these records, perhaps late or never: a hint. */
  watch(keys: readonly string[], onChange: () => void): { close(): void };
  close(): Promise<void>;
}

/** Whether a text is the address of a store: `nats://…`, `tls://…`, or `folder:///path`. `file:` addresses are sources. */
export function isStoreAddress(text: string): boolean {
  return /^(?:nats|tls|folder):\/\//i.test(text);
}

/** The address of a store, which may also be given as the path or the `file:` address of a folder. */
export function storeAddress(text: string): string {
  if (isStoreAddress(text)) return text;
  const url = /^file:/i.test(text) ? text : pathToFileURL(resolve(text)).href;
  return url.replace(/^file:/i, 'folder:');
}

/**
 * Opens a store. The packages of NATS are loaded only for its addresses. A store that cannot be reached now is an error of
 * its methods, not of this function.
 *
 * @throws LecternError `option-invalid` for an address that cannot be a store
 */
export async function openStore(address: string): Promise<Store> {
  if (!isStoreAddress(address)) {
    const message = 'the address of the store is malformed; expected nats://host:4222/name or folder:///path';
    throw new LecternError('option-invalid', message);
  }
  if (/^folder:/i.test(address)) {
    const { openFolderStore } = await import('./folder-store.js');
    return openFolderStore(address);
  }
  const { openNatsStore } = await import('./nats-store.js');
  return openNatsStore(address);
}
