import type { IfMissing, Store } from './store.js';
import { storePlaceOf } from './store-address.js';

/**
 * Opens a store. The packages of NATS are loaded only for its addresses. If a store is unreachable now, its
 * methods fail, not this function.
 *
 * @throws LecternError `option-invalid` for an address that cannot be a store
 */
export async function openStore(address: string, ifMissing: IfMissing): Promise<Store> {
  const place = storePlaceOf(address);
  if (place.kind === 'folder') {
    const { FolderStore } = await import('./folder-store.js');
    return new FolderStore(place.folder, ifMissing);
  }
  const { NatsStore } = await import('./nats-store.js');
  return new NatsStore(place, ifMissing);
}
