import { monotonicMs } from '../base/model/clock.js';
import { candidatesOf, type KeyLookup, type KeySet, readUsableKeys, type TokenHeader } from './key-set.js';
import { type JsonKey, PUBLIC_KEY_ALGORITHMS, type PublicKey } from './public-key.js';

/** Fetched keys as plain data that crosses threads. Times are those of `monotonicMs`. */
export interface KeyState {
  readonly name: string;
  /** Grows when the keys change; 0 before the first keys. */
  readonly number: number;
  readonly keys: readonly JsonKey[];
  readonly usableUntilMs: number;
  readonly nextFetchMs: number;
  readonly problem: string | null;
}

/** Keys that one thread fetches for all threads. */
export interface FetchedKeys {
  readonly state: KeyState;
  /** Fetches newer keys; resolves at once during the cooldown. Never rejects. */
  want(): Promise<void>;
  listen(listener: () => void): void;
}

/** @param onChange called when verified tokens must be forgotten: the keys changed or are too old */
export function createRemoteKeySet(
  fetched: FetchedKeys,
  onChange: () => void,
  now: () => number = monotonicMs,
): KeySet {
  let number = 0;
  let keys: readonly PublicKey[] = [];
  let wasUsable = false;
  const isUsable = (): boolean => now() < fetched.state.usableUntilMs;

  function take(): void {
    const { state } = fetched;
    const isChanged = state.number !== number;
    if (isChanged) {
      number = state.number;
      keys = readUsableKeys({ keys: state.keys }, state.name).keys;
    }
    if (isChanged || (wasUsable && !isUsable())) onChange();
    wasUsable = isUsable();
  }

  /** Whether the present keys include one for the token, so that no newer set is needed. */
  function isKnown({ alg, kid }: TokenHeader): boolean {
    return keys.some((key) => (kid === undefined ? key.algorithms.includes(alg) : key.kid === kid));
  }

  function lookUp(header: TokenHeader): KeyLookup {
    const { problem, nextFetchMs } = fetched.state;
    const candidates = isUsable() ? candidatesOf(keys, header) : [];
    // After a failed fetch, an unknown key may be a new one.
    if (isUsable() && (problem === null || candidates.length > 0 || isKnown(header))) {
      return { keys: candidates };
    }
    const waitMs = Math.max(0, nextFetchMs - now());
    return {
      unavailable: problem ?? 'it has not been fetched yet',
      retryAfterSeconds: Math.ceil(waitMs / 1000) + 1,
    };
  }

  fetched.listen(take);
  take();
  return {
    name: fetched.state.name,
    algorithms: PUBLIC_KEY_ALGORITHMS,
    candidates: (header) =>
      isUsable() && isKnown(header) ? lookUp(header) : fetched.want().then(() => lookUp(header)),
  };
}
