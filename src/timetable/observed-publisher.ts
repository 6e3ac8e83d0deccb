import { Activity } from '../admin/activity.js';
import type { Admin, AdminTimetable } from '../admin/open-admin.js';
import type { KeptFiles } from '../files/kept-files.js';
import type { Logger } from '../http/logger.js';
import { LOADING, type LoadState, type SourceState } from '../model/source-state.js';
import type { Publisher } from '../replication/publisher.js';
import type { Origin, SnapshotSummary } from '../snapshot/summary.js';
import { VERSION } from '../version.js';
import { publicationOf } from '../view/present.js';
import type { PublicationState, TimetableStatus } from '../view/view-source.js';
import type { AdminPlan } from './plan-admin.js';

/** A publisher as its admin listener sees it: a loaded timetable without requests. */
export class ObservedPublisher implements AdminTimetable {
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
    const { openAdmin } = await import('../admin/open-admin.js');
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
      feed: () => this.#publisher.feed,
      version: VERSION,
      log,
    });
  }
}
