import { KEY_TRIES_UNDER_WAY_MAX, KEY_WAITS_MAX } from '../limits.js';

/**
 * What verifications take at a time. Their work is done by a few threads of libuv, beyond what the event loop shows, and comes
 * back to this one: without a bound a flood of forged tokens piles up there for seconds, before good ones.
 *
 * It is counted in keys that are tried, since a token that names no key is tried with several. Each is given back as soon as it
 * was tried, so that tokens of one key find room where those of many do not.
 */
export class VerificationLoad {
  readonly #triesMax: number;
  readonly #waitsMax: number;
  #tries = 0;
  #waits = 0;

  constructor(triesMax: number = KEY_TRIES_UNDER_WAY_MAX, waitsMax: number = KEY_WAITS_MAX) {
    this.#triesMax = triesMax;
    this.#waitsMax = waitsMax;
  }

  /** @returns whether there is room for so many; then they have to be given back */
  reserve(tries: number): boolean {
    if (this.#tries + tries > this.#triesMax) return false;
    this.#tries += tries;
    return true;
  }

  giveBack(tries: number): void {
    this.#tries -= tries;
  }

  /**
   * Waits for keys, which takes no processor and so none of the room of verifications.
   *
   * @returns null, at once, where too many wait already
   */
  async wait<Value>(keys: Promise<Value>): Promise<Value | null> {
    if (this.#waits >= this.#waitsMax) return null;
    this.#waits++;
    try {
      return await keys;
    } finally {
      this.#waits--;
    }
  }
}
