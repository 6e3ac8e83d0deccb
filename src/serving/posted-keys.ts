import type { KeyFeed, KeyState } from '../auth/remote-key-set.js';
import { monotonicMs } from '../model/clock.js';

/** The keys that another thread fetches, as it posts them. */
export class PostedKeys implements KeyFeed {
  readonly #ask: () => void;
  readonly #listeners: (() => void)[] = [];
  #state: KeyState;
  #asked: { readonly replied: Promise<void>; readonly resolve: () => void } | null = null;

  /** @param ask posts that newer keys are wanted; {@link PostedKeys.receive} is to be called with the reply */
  constructor(state: KeyState, ask: () => void) {
    this.#state = state;
    this.#ask = ask;
  }

  get state(): KeyState {
    return this.#state;
  }

  /** While nothing may be fetched nobody is asked: forged tokens keep only the thread busy that they come to. */
  want(): Promise<void> {
    if (this.#asked !== null) return this.#asked.replied;
    if (monotonicMs() < this.#state.nextFetchMs) return Promise.resolve();
    let resolve = (): void => {};
    const replied = new Promise<void>((settle) => {
      resolve = settle;
    });
    this.#asked = { replied, resolve };
    this.#ask();
    return replied;
  }

  follow(listener: () => void): void {
    this.#listeners.push(listener);
  }

  receive(state: KeyState, isReply: boolean): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
    if (!isReply || this.#asked === null) return;
    this.#asked.resolve();
    this.#asked = null;
  }
}
