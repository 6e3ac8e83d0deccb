import { REPLICA_POLL_SECONDS } from '../limits.js';
import type { Resolved } from '../options/option-types.js';
import { readRulesOf } from '../options/reading-settings.js';
import { type AnyLoader, anySourceOf, Loader } from '../refresh/loader.js';
import { Replica } from '../replication/replica.js';
import { isStoreAddress } from '../store/open-store.js';

/** A loader of records, or of the images of a store, which is looked at regularly. */
export function loaderOf(options: Resolved<'openTimetable'>): {
  readonly loader: AnyLoader;
  readonly refreshSeconds: number;
} {
  const { source, refreshSeconds, buildOn, identifiers, feedPublicKey, canary } = options;
  if (typeof source !== 'string' || !isStoreAddress(source)) {
    return { loader: new Loader(anySourceOf(source), readRulesOf(options), buildOn), refreshSeconds };
  }
  const loader = new Replica({
    address: source,
    publicKeyFile: feedPublicKey ?? null,
    isCanary: canary === true,
    rules: { identifiers },
  });
  return { loader, refreshSeconds: refreshSeconds === 0 ? REPLICA_POLL_SECONDS : refreshSeconds };
}
