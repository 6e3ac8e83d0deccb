/**
 * Keys that change while the service runs, as seen by whoever verifies tokens. One thread fetches them; the state is plain
 * data, so that others can follow.
 */

/** A key as JSON (RFC 7517). Not a type of node:crypto, whose name depends on the version of its types. */
export type JsonKey = Readonly<Record<string, unknown>>;

/** All that is known at one moment. Times are those of `monotonicMs`. */
export interface KeyState {
  /** Where the keys come from, without what could be a secret. */
  readonly name: string;
  /** Of the keys: another one whenever they are others. 0 where there were none so far. */
  readonly number: number;
  /** Public keys only. */
  readonly keys: readonly JsonKey[];
  /** Until when they may be used. */
  readonly usableUntilMs: number;
  /** Before it nothing is fetched, whoever asks. */
  readonly nextFetchMs: number;
  /** Why the last attempt failed, in one sentence; null where it did not. */
  readonly problem: string | null;
}

/** How the fetches went so far. */
export interface KeyFetches {
  /** Fetches that have ended: with other keys than before, with the same, or without any. */
  readonly results: { readonly changed: number; readonly unchanged: number; readonly failed: number };
  /** Since the last one that went well ended; null before it. */
  readonly ageMs: number | null;
}

export interface KeyFeed {
  readonly state: KeyState;
  /**
   * Asks for newer keys. Resolves when the fetch is over, which all who ask meanwhile share, or at once where none may
   * begin yet. Never rejects.
   */
  want(): Promise<void>;
  /** Calls back after each change of the state. */
  follow(listener: () => void): void;
}
