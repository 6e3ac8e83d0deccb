import type { FetchedKeys, KeyState } from '../auth/remote-key-set.js';
import { monotonicMs } from '../base/model/clock.js';

export class PostedKeys implements FetchedKeys {
  state: KeyState;
  readonly #ask: () => void;
  readonly #listeners: (() => void)[] = [];
  #replied: Promise<void> | null = null;
  #resolve = (): void => {};

  /** @param ask posts a request for newer keys; the reply goes to `receive` */
  constructor(state: KeyState, ask: () => void) {
    this.state = state;
    this.#ask = ask;
  }

  /** During the cooldown no request is posted, so forged tokens cost only the thread that receives them. */
  want(): Promise<void> {
    if (this.#replied !== null) return this.#replied;
    if (monotonicMs() < this.state.nextFetchMs) return Promise.resolve();
    this.#replied = new Promise<void>((resolve) => {
      this.#resolve = resolve;
    });
    this.#ask();
    return this.#replied;
  }

  listen(listener: () => void): void {
    this.#listeners.push(listener);
  }

  receive(state: KeyState, isReply: boolean): void {
    this.state = state;
    for (const listener of this.#listeners) listener();
    if (!isReply) return;
    this.#replied = null;
    this.#resolve();
  }
}
