import { PATCH_PAUSE_FACTOR, PATCH_PAUSE_MS_MAX, PATCH_PAUSE_MS_MIN, PATCH_TIMES_KEPT } from '../limits.js';

/**
 * When reported changes lead to a load. Those of one turn of the event loop become one, and so do those that come during a load.
 * After a patch there is a pause in proportion: many changes in a row become few patches. A change that waits keeps the
 * process alive: a program that awaits its publication would end.
 */
export class ChangePace {
  readonly #load: () => void;
  #isLoading = false;
  #isDue = false;
  #readyMs = 0;
  /** How long the last patches took, in milliseconds. */
  #patchesMs: readonly number[] = [];
  #turn: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(load: () => void) {
    this.#load = load;
  }

  changed(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    if (!this.#isLoading) this.#schedule();
  }

  /** A load begins: it sees all changes so far. */
  began(): void {
    this.close();
    this.#isLoading = true;
  }

  /** @param patchMs how long a patch took */
  pauseAfter(patchMs: number): void {
    this.#patchesMs = [...this.#patchesMs, patchMs].slice(-PATCH_TIMES_KEPT);
    const pauseMs = PATCH_PAUSE_FACTOR * Math.min(...this.#patchesMs);
    this.#readyMs = performance.now() + Math.min(Math.max(pauseMs, PATCH_PAUSE_MS_MIN), PATCH_PAUSE_MS_MAX);
  }

  ended(): void {
    this.#isLoading = false;
    if (this.#isDue) this.#schedule();
  }

  close(): void {
    this.#isDue = false;
    clearImmediate(this.#turn);
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    const pauseMs = this.#readyMs - performance.now();
    if (pauseMs > 0) this.#timer = setTimeout(this.#load, pauseMs);
    else this.#turn = setImmediate(this.#load);
  }
}
