import { FolderStore } from './folder-store.js';
import { NatsStore } from './nats-store.js';
import type { IfMissing, Store } from './store.js';
import { storePlaceOf } from './store-address.js';

/**
 * Opens a store. The packages of NATS are loaded with the first connection. If a store is unreachable now, its
 * methods fail, not this function.
 *
 * @throws LecternError `option-invalid` for an address that cannot be a store
 */
export function openStore(address: string, ifMissing: IfMissing): Store {
  const place = storePlaceOf(address);
  return place.kind === 'folder' ? new FolderStore(place.folder, ifMissing) : new NatsStore(place, ifMissing);
}
