import { monotonicMs } from '../model/clock.js';
import type { KeyFeed, KeyState } from './key-feed.js';
import { candidatesOf, type KeyLookup, type KeySet, readUsableKeys, type TokenHeader } from './key-set.js';
import { PUBLIC_KEY_ALGORITHMS, type PublicKey } from './public-key.js';

/**
 * The key set of a feed. A token with an unknown key makes the feed look for newer keys, and waits for them. Where none may be
 * fetched yet, it is answered from what there is.
 *
 * @param onChange called when tokens that were verified before must not be trusted any more: the keys are others, or have
 *   become too old
 */
export function createRemoteKeySet(
  feed: KeyFeed,
  onChange: () => void,
  now: () => number = monotonicMs,
): KeySet {
  let number = 0;
  let keys: readonly PublicKey[] = [];
  let wasUsable = false;

  function take(): void {
    const { state } = feed;
    const isUsable = now() < state.usableUntilMs;
    const isChanged = state.number !== number;
    if (isChanged) {
      keys = readUsableKeys({ keys: state.keys }, state.name).keys;
      number = state.number;
    }
    if (isChanged || (wasUsable && !isUsable)) onChange();
    wasUsable = isUsable;
  }

  function lookUp(header: TokenHeader): KeyLookup {
    const { state } = feed;
    if (now() >= state.usableUntilMs) {
      return unavailable(state, state.problem ?? 'it has not come yet');
    }
    const candidates = candidatesOf(keys, header);
    // The issuer may have added the key since: only a new set can say that there is no such key.
    if (state.problem !== null && candidates.length === 0 && !isNamed(header)) {
      return unavailable(state, state.problem);
    }
    return { keys: candidates };
  }

  /** Whether the token's own key is known, so that no fetch can bring a better one. */
  function isNamed({ alg, kid }: TokenHeader): boolean {
    return kid === undefined
      ? keys.some((key) => key.algorithms.includes(alg))
      : keys.some((key) => key.kid === kid);
  }

  function unavailable({ nextFetchMs }: KeyState, reason: string): KeyLookup {
    const waitMs = Math.max(0, nextFetchMs - now());
    return { unavailable: reason, retryAfterSeconds: Math.ceil(waitMs / 1000) + 1 };
  }

  feed.follow(take);
  take();
  return {
    name: feed.state.name,
    algorithms: PUBLIC_KEY_ALGORITHMS,
    candidates(header) {
      const isKnown = now() < feed.state.usableUntilMs && isNamed(header);
      return isKnown ? lookUp(header) : feed.want().then(() => lookUp(header));
    },
  };
}
