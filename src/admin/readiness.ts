/** Why a service should get no requests at the moment, as /ready of the admin listener says it. */
export type UnreadyReason =
  /** Nothing has been loaded so far. */
  | 'no-snapshot'
  /** What was loaded is older than it may be. */
  | 'snapshot-stale'
  /** No serving thread has what could be served: they are starting, or were lost. */
  | 'no-thread'
  /** Tokens are verified with fetched keys only, and none can be used: they never came, or are too old. */
  | 'no-keys'
  /** It is being shut down. */
  | 'draining'
  /** It refuses requests, as there are more than it can answer. */
  | 'overloaded';

/**
 * The one source of readiness. Whoever knows of a reason adds it with a question that is asked whenever somebody wants to know;
 * so nothing has to be kept up to date.
 */
export class Readiness {
  readonly #reasons: { readonly reason: UnreadyReason; readonly holds: () => boolean }[] = [];

  /** @param holds has to answer at once; a reason that is added twice holds where either does */
  add(reason: UnreadyReason, holds: () => boolean): void {
    this.#reasons.push({ reason, holds });
  }

  /** Empty where the service is ready. */
  get reasons(): readonly UnreadyReason[] {
    return [...new Set(this.#reasons.filter(({ holds }) => holds()).map(({ reason }) => reason))];
  }
}
