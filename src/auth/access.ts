import type { FeedSecrets } from './feed-address.js';
import { NO_REVOCATIONS, type Revocations } from './feed-revocations.js';
import type { Enrolments } from './identity.js';

/** Secrets, revocations and enrolments. Plain data that crosses threads; changes while the service runs. */
export interface Access {
  readonly enrolments: Enrolments | null;
  /** Null: there are no feeds. */
  readonly feedSecrets: FeedSecrets | null;
  readonly feedRevocations: Revocations;
}

export interface AccessSource {
  readonly access: Access;
  /** Called after each change, with the new values. */
  follow(listener: (change: Partial<Access>) => void): void;
}

/** Holds the values of the last change. */
export class PresentAccess implements AccessSource {
  access: Access;
  readonly #listeners: ((change: Partial<Access>) => void)[] = [];

  constructor(access: Partial<Access>) {
    this.access = { enrolments: null, feedSecrets: null, feedRevocations: NO_REVOCATIONS, ...access };
  }

  follow(listener: (change: Partial<Access>) => void): void {
    this.#listeners.push(listener);
  }

  change(change: Partial<Access>): void {
    this.access = { ...this.access, ...change };
    for (const listener of this.#listeners) listener(change);
  }
}
