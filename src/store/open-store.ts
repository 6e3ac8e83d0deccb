import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LecternError } from '../errors.js';
import type { IfMissing, Store } from './store.js';

/** Whether a text is the address of a store: `nats://…`, `tls://…`, or `folder:///path`. `file:` addresses are sources. */
export function isStoreAddress(text: string): boolean {
  return /^(?:nats|tls|folder):\/\//i.test(text);
}

/** Hides the credentials of a store's address; other texts are unchanged. */
export function shownAddress(text: string): string {
  return isStoreAddress(text) ? text.replace(/^(\w+:\/\/)[^/]*@/, '$1') : text;
}

/** Turns a path or `file:` address of a folder into the address of a store; other addresses stay. */
export function storeAddress(text: string): string {
  if (isStoreAddress(text)) return text;
  const url = /^file:/i.test(text) ? text : pathToFileURL(resolve(text)).href;
  return url.replace(/^file:/i, 'folder:');
}

/**
 * Opens a store. The packages of NATS are loaded only for its addresses. If a store is unreachable now, its
 * methods fail, not this function.
 *
 * @throws LecternError `option-invalid` for an address that cannot be a store
 */
export async function openStore(address: string, ifMissing: IfMissing): Promise<Store> {
  if (!isStoreAddress(address)) {
    const message = 'the address of the store is malformed; expected nats://host:4222/name or folder:///path';
    throw new LecternError('option-invalid', message);
  }
  if (/^folder:/i.test(address)) {
    const { openFolderStore } = await import('./folder-store.js');
    return openFolderStore(address, ifMissing);
  }
  const { openNatsStore } = await import('./nats-store.js');
  return openNatsStore(address, ifMissing);
}
