import { REPLICA_POLL_SECONDS } from '../limits.js';
import type { Resolved } from '../options/option-types.js';
import { readRulesOf } from '../options/reading-settings.js';
import { resolveOptions } from '../options/resolve.js';
import type { KeeperOptions } from '../refresh/keeper.js';
import { type AnyLoader, anySourceOf, Loader } from '../refresh/loader.js';
import { Replica } from '../replication/replica.js';
import { isStoreAddress } from '../store/open-store.js';

/** Whether a source is a store, which is checked every few seconds even without `refreshSeconds`. */
export function isStoreSource(source: unknown): source is string {
  return typeof source === 'string' && isStoreAddress(source);
}

/** A loader of records, or of the images of a store. A store is checked regularly even if `refreshSeconds` is 0. */
export function loaderOf(options: Resolved<'openTimetable'>): {
  readonly loader: AnyLoader;
  readonly refreshSeconds: number;
} {
  const { source, refreshSeconds, buildOn, identifiers, feedPublicKey, canary } = options;
  if (!isStoreSource(source)) {
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

/** The options of a keeper besides its loader and its events. */
export function keepingOf(
  options: Resolved<'openTimetable'>,
): Pick<KeeperOptions, 'gate' | 'bounds' | 'watch' | 'snapshotFile' | 'pin'> {
  const { gate = {}, watch, snapshotFile, snapshotFilesKept, pin, eventsMax, memoryMbMax } = options;
  return {
    gate: gate === false ? null : resolveOptions('gate', gate),
    bounds: {
      eventsMax: eventsMax ?? null,
      memoryBytesMax: memoryMbMax === undefined ? null : memoryMbMax * 2 ** 20,
    },
    watch,
    snapshotFile: snapshotFile === undefined ? null : { path: snapshotFile, keep: snapshotFilesKept },
    pin: pin ?? null,
  };
}
