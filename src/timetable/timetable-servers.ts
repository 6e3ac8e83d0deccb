import { Activity, type Announcer } from '../admin/activity.js';
import type { Admin, AdminTimetable } from '../admin/open-admin.js';
import { Readiness } from '../admin/readiness.js';
import { LecternError } from '../errors.js';
import type { IdentifierMode } from '../model/event.js';
import { openServing } from '../serving/open-serving.js';
import { threadsOf } from '../serving/worker-count.js';
import { VERSION } from '../version.js';
import type { Follower, Present, PublishedImage } from '../view/present.js';
import type { ParseOptions } from '../view/view.js';
import type { SourceState } from '../view/view-source.js';
import { planServer, type ServeOptions, type TimetableServer } from './timetable-server.js';

/** What the servers of a timetable need to know of it. */
export interface ServedTimetable {
  readonly present: Present;
  /** For those who operate a server. */
  readonly timetable: AdminTimetable & Announcer;
  readonly staleMsMax: number;
  readonly cacheBytesMax: number;
  readonly reading: {
    readonly unknownParameters: ParseOptions['unknownParameters'];
    readonly identifiers: IdentifierMode;
  };
  /** A serving thread was lost. */
  readonly onLost: (error: Error) => void;
}

/** The servers of one timetable, and whoever else follows it. */
export class TimetableServers implements Follower {
  readonly #timetable: ServedTimetable;
  readonly #followers: Set<Follower>;
  readonly #activity = new Activity();
  readonly #open = new Set<TimetableServer>();
  #closed = false;

  /** @param followers others, besides the servers that are opened here */
  constructor(timetable: ServedTimetable, followers: readonly Follower[]) {
    this.#timetable = timetable;
    this.#followers = new Set(followers);
    // Once and from the first load on, however many servers tell of it.
    this.#activity.follow(timetable.timetable);
  }

  publish(published: PublishedImage): void {
    for (const follower of this.#followers) follower.publish(published);
  }

  become(source: SourceState): void {
    for (const follower of this.#followers) follower.become(source);
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#followers].map((follower) => follower.settled()));
  }

  /** Resolves when it listens, and serves what is present. Throws as {@link Timetable.serve} does. */
  async open(options: ServeOptions): Promise<TimetableServer> {
    const { present, timetable, staleMsMax, cacheBytesMax, reading, onLost } = this.#timetable;
    const planned = planServer(options, reading);
    let losses = 0;
    const readiness = new Readiness();
    const serving = await openServing({
      ...planned,
      workers: threadsOf(planned.workers),
      source: present.source,
      staleMsMax,
      cacheBytesMax,
      isMetered: planned.admin !== null,
      log: options.log,
      onLost: (error) => {
        losses++;
        onLost(error);
      },
    });
    const { address, workers, follower } = serving;
    let admin: Admin | null = null;
    let isClosing = false;
    readiness.add('draining', () => isClosing);
    const close: TimetableServer['close'] = async (closing) => {
      isClosing = true;
      if (follower !== null) this.#followers.delete(follower);
      await serving.close(closing);
      // Last, so that until then it can be asked what is going on.
      await admin?.close();
      this.#open.delete(server);
    };
    const server: TimetableServer = {
      address,
      get adminAddress() {
        return admin?.address ?? null;
      },
      workers,
      get condition() {
        return serving.condition;
      },
      drain: () => serving.drain(),
      close,
      [Symbol.asyncDispose]: () => close(),
    };
    this.#open.add(server);
    try {
      serving.answerFrom(present);
      if (this.#closed) throw new LecternError('closed', 'the timetable is closed');
      // Together: threads that cannot even start never serve what is present.
      await Promise.all([follower === null ? null : this.#follow(follower), serving.started]);
      if (planned.admin !== null) {
        // With what it needs besides, which takes a moment to load.
        const { openAdmin } = await import('../admin/open-admin.js');
        admin = await openAdmin({
          ...planned.admin,
          timetable,
          activity: this.#activity,
          losses: () => losses,
          readiness,
          serving,
          version: VERSION,
          log: options.log,
        });
      }
    } catch (error) {
      await close({ deadlineMs: 0 });
      throw error;
    }
    return server;
  }

  async #follow(follower: Follower): Promise<void> {
    const { present } = this.#timetable;
    this.#followers.add(follower);
    follower.become(present.source);
    if (present.published !== null) follower.publish(present.published);
    await follower.settled();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#open].map((server) => server.close()));
  }
}
