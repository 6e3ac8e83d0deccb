import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { LecternError } from '../base/errors.js';

const ADDRESS_OR_PATH = 'nats://host:4222/name, folder:///path, or the path of a folder';

export interface FolderPlace {
  readonly kind: 'folder';
  readonly folder: string;
}

export interface NatsPlace {
  readonly kind: 'nats';
  /** Of the first server. Its credentials are for all servers. */
  readonly url: URL;
  /** Hosts with ports. */
  readonly servers: readonly string[];
  readonly bucket: string;
}

/** Whether a text is the address of a store: `nats://…`, `tls://…`, or `folder:///path`. `file:` addresses are sources. */
export function isStoreAddress(text: string): boolean {
  return /^(?:nats|tls|folder):\/\//i.test(text);
}

/** Hides the credentials of a store's address; other texts are unchanged. */
export function shownAddress(text: string): string {
  return isStoreAddress(text) ? text.replace(/^(\w+:\/\/)[^/]*@/, '$1') : text;
}

/**
 * Turns a path or `file:` address of a folder into the address of a store; other addresses of stores stay.
 *
 * @throws LecternError `option-invalid` for other addresses, such as `nats:/host/name` or `http://host`
 */
export function storeAddress(text: string): string {
  if (typeof text !== 'string' || text === '') throw malformed(ADDRESS_OR_PATH);
  if (isStoreAddress(text)) return text;
  if (/^file:/i.test(text)) return text.replace(/^file:/i, 'folder:');
  // A scheme has at least two letters; one letter is a drive of Windows.
  if (/^[a-z][a-z0-9+.-]+:/i.test(text)) throw malformed(ADDRESS_OR_PATH);
  return pathToFileURL(resolve(text)).href.replace(/^file:/i, 'folder:');
}

/**
 * @param address of NATS with several servers: a list, as in `nats://one:4222,two:4222/name`
 * @throws LecternError `option-invalid`
 */
export function storePlaceOf(address: string): FolderPlace | NatsPlace {
  if (!isStoreAddress(address)) throw malformed('nats://host:4222/name or folder:///path');
  return /^folder:/i.test(address) ? folderOf(address) : natsOf(address);
}

function folderOf(address: string): FolderPlace {
  try {
    const url = new URL(address.replace(/^folder:/i, 'file:'));
    if (url.search !== '' || url.hash !== '') throw new Error('it has a query or a fragment');
    return { kind: 'folder', folder: fileURLToPath(url) };
  } catch (cause) {
    const message = `${JSON.stringify(shownAddress(address))} is not the address of a folder; expected folder:///path, with %3F for ? and %23 for #`;
    throw new LecternError('option-invalid', message, { cause });
  }
}

function natsOf(address: string): NatsPlace {
  const [, before = '', hosts = '', after = ''] = /^(\w+:\/\/(?:[^/]*@)?)([^/]*)(.*)$/.exec(address) ?? [];
  const urls = hosts.split(',').map((host) => urlOf(`${before}${host}${after}`));
  const [url = null] = urls;
  const servers = urls.map((each) => each?.host ?? '');
  const bucket = url === null ? '' : `${url.pathname.slice(1)}${url.search}${url.hash}`;
  if (url === null || servers.includes('') || !/^[\w-]+$/.test(bucket))
    throw malformed('nats://host:4222/name, with a name of letters, digits, - and _');
  return { kind: 'nats', url, servers, bucket };
}

function urlOf(address: string): URL | null {
  return URL.canParse(address) ? new URL(address) : null;
}

function malformed(expected: string): LecternError {
  return new LecternError('option-invalid', `the address of the store is malformed; expected ${expected}`);
}
