import { KeptFiles } from '../files/kept-files.js';
import type { Logger } from '../http/logger.js';
import type { TimetableOptions } from '../options/option-types.js';
import { readRulesOf } from '../options/reading-settings.js';
import { resolveOptions } from '../options/resolve.js';
import { Keeper } from '../refresh/keeper.js';
import { anySourceOf, Loader } from '../refresh/loader.js';
import { SigningKey } from '../replication/head.js';
import { Publisher } from '../replication/publisher.js';
import { openStore, storeAddress } from '../store/open-store.js';

/** The options of a timetable that concern its loads. */
export type PublishedTimetable = Omit<
  TimetableOptions,
  | 'rooms'
  | 'unknownParameters'
  | 'staleSecondsMax'
  | 'pin'
  | 'cacheMb'
  | 'feedPublicKey'
  | 'canary'
  | 'onProgress'
>;

/** Where and how it is published. */
export interface PublishingOptions {
  /** The store: `nats://…`, `tls://…`, `folder://…`, or the path of a folder. */
  readonly to: string;
  /** File with the private key that signs announcements: Ed25519 or P-256, as PEM (PKCS #8) or JWK. */
  readonly keyFile: string;
  /** Receives log records, as a pino logger does. Default: nothing is logged. */
  readonly log?: Logger | undefined;
}

/** A publisher at work. */
export interface Publishing extends AsyncDisposable {
  /**
   * Resolves when the store announces the loaded timetable. Rejects with the LecternError of a failed first load; with regular
   * refreshes it waits for the first good load instead.
   */
  readonly announced: Promise<void>;
  /** Loads now. `force` skips the gate. */
  refresh(force?: boolean): Promise<void>;
  /** Ends loads and announcements. A standby takes over at once. */
  close(): Promise<void>;
}

/**
 * Loads a timetable, keeps it fresh, and announces each snapshot that passes the gate in a store, from which replicas serve it. Of
 * several publishers of a store one announces; another takes over within 10 s.
 *
 * @throws LecternError `option-invalid`, `key-invalid`
 */
export async function publishTimetable(
  timetable: PublishedTimetable,
  { to, keyFile, log }: PublishingOptions,
): Promise<Publishing> {
  const options = resolveOptions('openTimetable', timetable);
  const { refreshSeconds, watch, gate = {}, snapshotFile, snapshotFilesKept, memoryMbMax } = options;
  const loader = new Loader(anySourceOf(options.source), readRulesOf(options), options.buildOn);
  const key = new SigningKey(keyFile);
  const store = await openStore(storeAddress(to));
  const publisher = new Publisher(store, {
    key,
    loader,
    events: {
      announced: ({ id, sequence, events, bytes }, isCandidate) =>
        log?.info(
          { snapshot: id, sequence, events, bytes },
          isCandidate ? 'candidate announced' : 'timetable announced',
        ),
      led: (isLeader) =>
        log?.info({ store: store.name }, isLeader ? 'publisher leads' : 'another publisher leads'),
      failed: (error) => log?.error({ store: store.name, reason: error.message }, 'timetable not announced'),
    },
  });
  const keeper = new Keeper({
    loader,
    gate: gate === false ? null : resolveOptions('gate', gate),
    bounds: {
      eventsMax: options.eventsMax ?? null,
      memoryBytesMax: memoryMbMax === undefined ? null : memoryMbMax * 2 ** 20,
    },
    refreshSeconds,
    watch,
    snapshotFile: snapshotFile === undefined ? null : { path: snapshotFile, keep: snapshotFilesKept },
    pin: null,
    events: {
      publish: (publication) => {
        const { image, origin } = publication;
        const { id, events, rejected } = image.summary;
        log?.info({ source: loader.name, snapshot: id, origin, events, rejected }, 'timetable loaded');
        publisher.publish(publication);
      },
      refused: ({ detail }) => log?.warn({ source: loader.name, reason: detail }, 'timetable refused'),
      failed: (error) => log?.error({ source: loader.name, reason: error.message }, 'timetable not loaded'),
    },
  });
  const files = new KeptFiles();
  const kept = files.keep(loader.credentialFiles, ({ error }) => {
    if (error !== null) log?.error({ reason: error.message }, 'credentials of the source not read');
  });
  const loaded = kept.openBefore(() => keeper.start());
  const announced = loaded.then(() => publisher.announced);
  announced.catch(() => {});
  const close = async (): Promise<void> => {
    files.close();
    await keeper.close();
    await publisher.close();
  };
  return {
    announced,
    async refresh(force = false) {
      await keeper.refresh(force);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
