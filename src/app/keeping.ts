import { REPLICA_POLL_SECONDS } from '../base/limits.js';
import { VERSION } from '../base/version.js';
import { PublicKeys } from '../fleet/keys.js';
import { Replica } from '../fleet/replica.js';
import type { Resolved } from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';
import { readRulesOf } from '../options/source-of-settings.js';
import { planTimetable } from '../options/timetable-file.js';
import type { KeeperOptions } from '../refresh/keeper.js';
import { type AnyLoader, anySourceOf, Loader } from '../refresh/loader.js';
import { isStoreAddress } from '../store/store-address.js';
import { FileLoader } from './file-loader.js';

/** Whether a source is a store, which is always checked regularly. */
export function isStoreSource(source: unknown): source is string {
  return typeof source === 'string' && isStoreAddress(source);
}

/** Seconds between two loads; 0 for no regular loads. */
export function intervalSeconds({
  source,
  refreshSeconds,
}: Pick<Resolved<'openTimetable'>, 'source' | 'refreshSeconds'>): number {
  return refreshSeconds === 0 && isStoreSource(source) ? REPLICA_POLL_SECONDS : refreshSeconds;
}

/** A loader of the sources of a timetable file, or of one source. */
export function recordLoaderOf(options: Omit<Resolved<'openTimetable'>, 'rooms'>): FileLoader | Loader {
  const { source, timetable } = options;
  if (typeof timetable === 'string') return new FileLoader(timetable);
  if (timetable !== undefined) {
    const { source: spec, rules } = planTimetable(timetable);
    return new Loader(spec, rules);
  }
  // The rules of settings make sure that one of both is given.
  return new Loader(anySourceOf(source as NonNullable<typeof source>), readRulesOf(options));
}

/** A loader of records, or of the images of a store. */
export function loaderOf(options: Resolved<'openTimetable'>): AnyLoader {
  const { source, identifiers, publisherPublicKey } = options;
  if (!isStoreSource(source)) return recordLoaderOf(options);
  return new Replica({
    address: source,
    // Without a key only if `unsigned` is given, as the rules of settings make sure.
    keys: publisherPublicKey === undefined ? PublicKeys.UNSIGNED : PublicKeys.ofFile(publisherPublicKey),
    rules: { identifiers },
    version: VERSION,
  });
}

/** The options of a keeper besides its loader and its events. */
export function keepingOf(
  options: Resolved<'openTimetable'>,
): Pick<KeeperOptions, 'gate' | 'bounds' | 'refreshSeconds' | 'watch' | 'snapshotFile' | 'pin'> {
  const { gate = {}, watch, snapshotFile, pin, memoryMbMax } = options;
  return {
    gate: gate === false ? null : resolveOptions('gate', gate),
    bounds: { memoryBytesMax: memoryMbMax === undefined ? null : memoryMbMax * 2 ** 20 },
    refreshSeconds: intervalSeconds(options),
    watch,
    snapshotFile: snapshotFile ?? null,
    pin: pin ?? null,
  };
}
