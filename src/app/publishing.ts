import { KeptFiles } from '../base/files/kept-files.js';
import { SigningKey, UNSIGNED } from '../fleet/keys.js';
import { Publisher, type PublisherEvents } from '../fleet/publisher.js';
import type { Logger } from '../http/logger.js';
import type { ListenAddress } from '../http/server/listen-address.js';
import type { PublishedTimetable, PublishingOptions } from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';
import type { LoadOutcome } from '../refresh/keeper.js';
import { openStore } from '../store/open-store.js';
import { storeAddress } from '../store/store-address.js';
import { keepingOf, recordLoaderOf } from './keeping.js';
import { logFiles } from './live-access.js';
import { FailureLog, FrequentLine, logTimetable } from './load-log.js';
import type { Admin } from './open-admin.js';
import { planAdmin } from './plan-admin.js';
import { KeptTimetable } from './timetable.js';

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
  /** Loads now; `force` skips the gate. Resolves to the outcome. */
  refresh(force?: boolean): Promise<LoadOutcome>;
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
  const publisher = new Publisher(store, { signer, loader, events: eventsOf(store.name, log) });
  const files = new KeptFiles();
  const own = files.keep([...[signer.file ?? []].flat(), ...(plan?.files ?? [])], logFiles(log));
  const kept = new KeptTimetable(options, loader, { files, publisher });
  if (log !== undefined) {
    const { gate, refreshSeconds } = keepingOf(options);
    const loads = { rejectPercentMax: gate?.rejectPercentMax ?? 100, isRegular: refreshSeconds > 0 };
    logTimetable(kept, 'timetable loaded', loads, log);
  }
  let listener: Admin | null = null;
  const close = async (): Promise<void> => {
    await kept.close();
    await publisher.close();
    await listener?.close();
  };
  try {
    await own.open();
    if (plan !== null) {
      const { openAdmin } = await import('./open-admin.js');
      listener = await openAdmin({
        ...plan.listener,
        timetable: kept,
        files,
        activity: kept.activity,
        losses: () => 0,
        // A standby is ready, too.
        unreadyReasons: () => [
          ...(kept.summary === null ? ['no-snapshot'] : []),
          ...(publisher.isFailing ? ['no-store'] : []),
        ],
        serving: null,
        channel: () => publisher.channel,
        log,
      });
    }
  } catch (error) {
    await close();
    throw error;
  }
  const loaded = kept.ready.then(() => {});
  const announced = loaded.then(() => publisher.announced);
  announced.catch(() => {});
  return {
    loaded,
    announced,
    adminAddress: listener?.address ?? null,
    refresh: (force = false) => kept.refresh({ force }),
    close,
    [Symbol.asyncDispose]: close,
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
