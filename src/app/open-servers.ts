import { randomBytes } from 'node:crypto';
import type { Present, PublishedImage, Receiver } from '../answer/present.js';
import type { TestTokenRequest } from '../auth/development-issuer.js';
import { LecternError } from '../base/errors.js';
import type { KeptFiles } from '../base/files/kept-files.js';
import type { SourceState } from '../base/model/source-state.js';
import { VERSION } from '../base/version.js';
import { findSwaggerUi } from '../http/development/resources.js';
import { findPages } from '../http/pages.js';
import type { ListenAddress } from '../http/server/listen-address.js';
import type { Resolved, ServeOptions } from '../options/option-types.js';
import { resolveOptions } from '../options/resolve.js';
import type { ChannelState } from '../refresh/loader.js';
import { liveAccess, logFiles, planAuth, planFeeds, type Reading } from './live-access.js';
import type { Admin, AdminTimetable } from './open-admin.js';
import { openServing } from './open-serving.js';
import { planAdmin } from './plan-admin.js';
import { issuerOfPlan } from './server-plan.js';
import { type Serving, type ServingCondition, type ServingSettings, threadsOf } from './serving.js';

/** Options for closing a server. */
export interface CloseOptions {
  /** Milliseconds until unfinished answers are cut. Default 10,000. */
  readonly deadlineMs?: number;
}

/** A listening port, which keeps the process alive. */
export interface TimetableServer extends AsyncDisposable {
  /** Where the server listens. */
  readonly address: ListenAddress;
  /** Address of the admin listener; null without one. */
  readonly adminAddress: ListenAddress | null;
  /** Serving threads. */
  readonly workers: number;
  /** Whether a load balancer should send more requests now. */
  readonly condition: ServingCondition;
  /** A test token, as from /login, for values by field; fields without a claim are skipped. Null in production. */
  testToken(values?: TestTokenRequest['values']): Promise<string | null>;
  /** Closes each connection after its next answer; still accepts new connections until `close`. */
  drain(): void;
  /** Refuses new connections and finishes answers in flight. Resolves when all connections and threads have ended. */
  close(options?: CloseOptions): Promise<void>;
}

export interface ServedTimetable {
  readonly present: Present;
  readonly timetable: AdminTimetable;
  readonly limits: Pick<ServingSettings, 'staleMsMax' | 'cacheBytesMax'>;
  /** How requests are read, once the timetable file was read. */
  readonly reading: () => Reading;
  readonly files: KeptFiles;
  /** The state of a replica; null for other timetables. */
  readonly channel: () => ChannelState | null;
  /** Is called when a serving thread is lost. */
  readonly onLost: (error: Error) => void;
}

/** The servers of one timetable. */
export class OpenServers implements Receiver {
  readonly #timetable: ServedTimetable;
  readonly #receivers = new Set<Receiver>();
  /** Functions that close one server each. The server's admin listener stays open until `until` has settled. */
  readonly #closers = new Set<(until: Promise<unknown>) => Promise<void>>();
  #closed = false;

  constructor(timetable: ServedTimetable) {
    this.#timetable = timetable;
  }

  publish(published: PublishedImage): void {
    for (const receiver of this.#receivers) receiver.publish(published);
  }

  become(source: SourceState): void {
    for (const receiver of this.#receivers) receiver.become(source);
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#receivers].map((receiver) => receiver.settled()));
  }

  /** See {@link Timetable.serve}. */
  async open(options: ServeOptions): Promise<TimetableServer> {
    const { present, timetable, limits, files, channel, onLost } = this.#timetable;
    const reading = this.#timetable.reading();
    const given = resolveOptions('serve', options);
    const { log } = given;
    const auth = resolveOptions('auth', given.auth ?? {});
    const feedOptions = given.feed && resolveOptions('feed', given.feed);
    const settings = planServing({ ...given, auth, feed: feedOptions }, reading, limits);
    const adminPlan = given.admin === undefined ? null : planAdmin(given.admin);
    const issuer = issuerOfPlan(settings);
    const live = liveAccess({ auth, feed: feedOptions, identifiers: reading.identifiers }, log);
    const kept = files.keep([...live.files, ...(adminPlan?.files ?? [])], logFiles(log));
    await kept.open();
    let losses = 0;
    const serving = await openServing({
      access: live.access,
      settings,
      views: present,
      isMetered: adminPlan !== null,
      log,
      onLost: (error) => {
        losses++;
        onLost(error);
      },
    }).catch((error: unknown) => {
      kept.close();
      throw error;
    });
    const { address, workers, receiver } = serving;
    let admin: Admin | null = null;
    let isClosing = false;
    const closeAfter = async (until: Promise<unknown> | null, closing?: CloseOptions): Promise<void> => {
      isClosing = true;
      if (receiver !== null) this.#receivers.delete(receiver);
      try {
        await serving.close(closing);
        kept.close();
        // Timetable.close() reports the failure of `until`.
        await until?.catch(() => {});
      } finally {
        // The admin listener closes last, because /ready answers until then.
        await admin?.close();
        this.#closers.delete(closeAfter);
      }
    };
    const close: TimetableServer['close'] = (closing) => closeAfter(null, closing);
    this.#closers.add(closeAfter);
    try {
      if (this.#closed) throw new LecternError('closed', 'the timetable is closed');
      // Both are awaited together, because a receiver whose threads fail to start never settles.
      await Promise.all([receiver === null ? null : this.#addReceiver(receiver), serving.started]);
      if (adminPlan !== null) {
        // The import is here, because the modules of the admin listener load slowly.
        const { openAdmin } = await import('./open-admin.js');
        admin = await openAdmin({
          ...adminPlan.listener,
          timetable,
          files,
          activity: timetable.activity,
          losses: () => losses,
          unreadyReasons: () => unreadyReasons(timetable, serving, isClosing),
          serving,
          channel,
          log,
        });
      }
    } catch (error) {
      await close({ deadlineMs: 0 });
      throw error;
    }
    return {
      address,
      adminAddress: admin?.address ?? null,
      workers,
      get condition() {
        return serving.condition;
      },
      testToken: async (values = {}) => (issuer === null ? null : (await issuer.issue({ values })).token),
      drain: () => serving.drain(),
      close,
      [Symbol.asyncDispose]: () => close(),
    };
  }

  async #addReceiver(receiver: Receiver): Promise<void> {
    const { present } = this.#timetable;
    this.#receivers.add(receiver);
    receiver.become(present.source);
    if (present.published !== null) receiver.publish(present.published);
    await receiver.settled();
  }

  /** @param until admin listeners report draining until it has settled */
  async close(until: Promise<unknown>): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#closers].map((close) => close(until)));
  }
}

/** Why a balancer should send no requests; empty if ready. */
function unreadyReasons(
  { summary, view }: AdminTimetable,
  { condition, keys, isServing }: Serving,
  isClosing: boolean,
): readonly string[] {
  const reasons = {
    'no-snapshot': summary === null,
    'snapshot-stale': summary !== null && view === null,
    'no-keys': !keys.areThere,
    draining: isClosing || condition.isDraining,
    'no-thread': summary !== null && !isServing,
  };
  return Object.entries(reasons).flatMap(([reason, holds]) => (holds ? [reason] : []));
}

/** The options of serve() with those of its parts, all checked. */
interface CheckedServing extends Omit<Resolved<'serve'>, 'auth' | 'feed'> {
  readonly auth: Resolved<'auth'>;
  readonly feed: Resolved<'feed'> | undefined;
}

/**
 * Plain data for the serving threads. Secrets, their files and the logger are left out; {@link liveAccess} has them. All
 * other options of serve() pass by their names, through ServerPlan, to the part of the server that declares them.
 */
export function planServing(
  { auth, feed, admin, log, dev, pages, workers, ...settings }: CheckedServing,
  { identifiers, ...parsing }: Reading,
  limits: Pick<ServingSettings, 'staleMsMax' | 'cacheBytesMax'>,
): ServingSettings {
  return {
    ...settings,
    ...parsing,
    ...limits,
    workers: threadsOf(workers),
    auth: planAuth('serve', auth, identifiers, !dev),
    feeds: planFeeds('serve', feed, settings),
    // The folder is looked for here, because the bundled code of other threads cannot find it.
    pages: { isShown: dev || pages, isHome: dev, folder: findPages() },
    development: dev
      ? {
          secret: randomBytes(32),
          hosts: [settings.host, ...(admin?.allowedHosts ?? [])],
          docsAssets: findSwaggerUi().href,
        }
      : null,
    version: VERSION,
  };
}
