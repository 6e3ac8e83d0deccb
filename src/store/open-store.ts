import { LecternError } from '../base/errors.js';
import { FolderStore } from './folder-store.js';
import { NatsStore } from './nats-store.js';
import type { IfMissing, Store } from './store.js';
import { storePlaceOf } from './store-address.js';

/**
 * Opens a store. The packages of NATS are loaded with the first connection. If a store is unreachable now, its
 * methods fail, not this function.
 *
 * @param isUnsigned whether its records need no signature: only a folder that no other account can write to is opened
 * @throws LecternError `option-invalid` for an address that cannot be a store, or that needs signatures
 */
export function openStore(address: string, ifMissing: IfMissing, isUnsigned = false): Store {
  const place = storePlaceOf(address);
  if (place.kind === 'folder') return new FolderStore(place.folder, ifMissing, { isPrivate: isUnsigned });
  if (!isUnsigned) return new NatsStore(place, ifMissing);
  throw new LecternError(
    'option-invalid',
    'announcements without a signature need a folder of the own account; for NATS, make keys with: lectern channel keys',
  );
}
