import { type PublicationState, publicationOf, type TimetableStatus } from '../answer/present.js';
import { type FileGroup, type KeptFile, KeptFiles } from '../files/kept-files.js';
import { SigningKey, UNSIGNED } from '../fleet/keys.js';
import { Publisher, type PublisherEvents } from '../fleet/publisher.js';
import type { Logger } from '../http/logger.js';
import type { ListenAddress } from '../http/server/listen-address.js';
import { LOADING, type LoadState, type SourceState } from '../model/source-state.js';
import type { PublishedTimetable, PublishingOptions } from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';
import { Keeper, type LoadOutcome } from '../refresh/keeper.js';
import { fieldLossOf, type Origin, type SnapshotSummary } from '../snapshot/summary.js';
import { openStore } from '../store/open-store.js';
import { storeAddress } from '../store/store-address.js';
import { VERSION } from '../version.js';
import { Activity } from './activity.js';
import { FileLoader, type TakePlan } from './file-loader.js';
import { keepingOf, recordLoaderOf } from './keeping.js';
import { FailureLog, FrequentLine, LoadLog } from './load-log.js';
import type { Admin, AdminTimetable } from './open-admin.js';
import { type AdminPlan, planAdmin } from './plan-admin.js';

/** A publisher at work. */
export interface Publishing extends AsyncDisposable {
  /** Resolves when the first timetable is loaded. Rejects as `announced` does. */
  readonly loaded: Promise<void>;
  /**
   * Resolves when the store announces the loaded timetable. Rejects with the LecternError of a failed first
   * load; with regular refreshes it waits for the first good load instead.
   */
  readonly announced: Promise<void>;
  /** Where the admin listener listens; null without one. */
  readonly adminAddress: ListenAddress | null;
  /** Loads now; `force` skips the gate. */
  refresh(force?: boolean): Promise<void>;
  /** Ends loads and announcements. A standby takes over at once. */
  close(): Promise<void>;
}

/**
 * Loads a timetable, keeps it up to date, and announces each accepted snapshot in a store, from which
 * replicas serve it. If a store has several publishers, one announces, and another takes over within 10 s of
 * its failure.
 *
 * @throws LecternError `option-invalid`, `key-invalid`, `address-unavailable`
 */
export async function publishTimetable(
  timetable: PublishedTimetable,
  publishing: PublishingOptions,
): Promise<Publishing> {
  const { to, publisherKey, unsigned, admin, log } = resolveOptions('publish', publishing);
  const options = resolveOptions('openTimetable', timetable);
  const loader = recordLoaderOf(options);
  const signer = publisherKey === undefined ? UNSIGNED : new SigningKey(publisherKey);
  const plan = admin === undefined ? null : planAdmin(admin);
  const store = openStore(storeAddress(to), 'make', unsigned);
  if (unsigned)
    log?.warn(
      { store: store.name },
      'announcements are not signed: who can write to the folder decides what is served',
    );
  const loads = new LoadLog(log, loader.name, 'timetable loaded');
  const publisher = new Publisher(store, {
    signer,
    loader,
    events: eventsOf(store.name, log),
  });
  const observed = new ObservedPublisher(loader.name, publisher, ({ force }) => refresh(force));
  let before: SnapshotSummary | null = null;
  const keeper = new Keeper({
    ...keepingOf(options),
    loader,
    events: {
      publish: (publication) => {
        const { image, origin } = publication;
        const { id, events, rejected } = image.summary;
        loads.published({ snapshot: id, origin, events, rejected });
        const loss = fieldLossOf(before, image.summary);
        before = image.summary;
        if (loss !== null) log?.warn({ source: loader.name, ...loss }, 'fields have lost their values');
        observed.published(image.summary, origin);
        publisher.publish(publication);
      },
      refused: (refusal) => {
        loads.refused(refusal.detail);
        observed.activity.refused(refusal);
      },
      ended: (result) => {
        observed.activity.loaded(result);
        loads.ended(result, observed.source);
      },
      changed: (state) => observed.become(state),
      failed: (error) => loads.failed(error),
    },
  });
  const files = new KeptFiles();
  const keep = (kept: readonly KeptFile[]): FileGroup =>
    files.keep(kept, ({ error }) => {
      if (error !== null) log?.error({ reason: error.message }, 'a file of the configuration was not read');
    });
  const kept = keep([...loader.credentialFiles, ...[signer.file ?? []].flat(), ...(plan?.files ?? [])]);
  const refresh = async (force = false): Promise<LoadOutcome> => {
    const [outcome] = await Promise.all([keeper.refresh(force), files.reload()]);
    return outcome;
  };
  let listener: Admin | null = null;
  const close = async (): Promise<void> => {
    files.close();
    await keeper.close();
    await publisher.close();
    await listener?.close();
  };
  try {
    listener = plan === null ? null : await observed.listen(plan, files, log);
  } catch (error) {
    await close();
    throw error;
  }
  const loaded = kept.openBefore(async () => {
    if (loader instanceof FileLoader) await loader.open(takeCredentials(loader.name, keep, log));
    await keeper.start();
  });
  const announced = loaded.then(() => publisher.announced);
  announced.catch(() => {});
  return {
    loaded,
    announced,
    adminAddress: listener?.address ?? null,
    async refresh(force = false) {
      await refresh(force);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Takes up the credentials of a timetable file. */
function takeCredentials(
  source: string,
  keep: (files: readonly KeptFile[]) => FileGroup,
  log: Logger | undefined,
): TakePlan {
  let kept: FileGroup | null = null;
  return async ({ warnings, rooms }, { credentialFiles }) => {
    const vain =
      rooms === undefined ? [] : ['rooms are not announced: give them to the replicas with --rooms'];
    for (const reason of [...warnings, ...vain]) log?.warn({ source, reason }, 'timetable file');
    const next = keep(credentialFiles);
    await next.open();
    kept?.close();
    kept = next;
  };
}

/** What the publisher says in the log. */
function eventsOf(store: string, log: Logger | undefined): PublisherEvents {
  const stored = new FailureLog(log, { store }, 'store works again');
  const cleaning = new FailureLog(log, { store }, 'old images removed again');
  const announcements = new FrequentLine((fields) => log?.info(fields, 'timetable announced'));
  return {
    announced: ({ id, sequence, events, bytes }) =>
      announcements.tell({ snapshot: id, sequence, events, bytes }),
    led: (isLeader) => log?.info({ store }, isLeader ? 'publisher leads' : 'publisher stands by'),
    failed: (error) => stored.failed('error', error.message, 'timetable not announced'),
    recovered: () => stored.worked(),
    cleaned: (fault) => {
      if (fault === null) cleaning.worked();
      else cleaning.failed('warn', fault.message, 'old images not removed');
    },
    ignored: (record) =>
      log?.warn({ store, record }, 'a record of the store is malformed or forged: it is ignored'),
  };
}

/** A publisher as its admin listener sees it: a loaded timetable without requests. */
class ObservedPublisher implements AdminTimetable {
  readonly activity: Activity = new Activity();
  readonly refresh: AdminTimetable['refresh'];
  readonly view = null;
  summary: SnapshotSummary | null = null;
  publication: PublicationState | null = null;
  source: SourceState;
  readonly #publisher: Publisher;

  constructor(name: string, publisher: Publisher, refresh: AdminTimetable['refresh']) {
    this.refresh = refresh;
    this.source = { name, ...LOADING };
    this.#publisher = publisher;
  }

  get status(): TimetableStatus {
    if (this.summary === null) return 'starting';
    const { lastError, parts, snapshotFileError = null } = this.source;
    const isGood = lastError === null && (parts?.overdue ?? 0) === 0 && snapshotFileError === null;
    return isGood && !this.#publisher.isFailing ? 'ok' : 'degraded';
  }

  published(summary: SnapshotSummary, origin: Origin): void {
    this.summary = summary;
    this.publication = publicationOf(origin, summary);
  }

  become(state: LoadState): void {
    this.source = { name: this.source.name, ...state };
  }

  /** @throws LecternError `address-unavailable` */
  async listen({ listener }: AdminPlan, files: KeptFiles, log: Logger | undefined): Promise<Admin> {
    const { openAdmin } = await import('./open-admin.js');
    return openAdmin({
      ...listener,
      timetable: this,
      files,
      activity: this.activity,
      losses: () => 0,
      // A standby is ready, too.
      unreadyReasons: () => [
        ...(this.summary === null ? ['no-snapshot'] : []),
        ...(this.#publisher.isFailing ? ['no-store'] : []),
      ],
      serving: null,
      channel: () => this.#publisher.channel,
      version: VERSION,
      log,
    });
  }
}
