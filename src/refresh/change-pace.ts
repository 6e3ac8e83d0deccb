import { PATCH_PAUSE_FACTOR, PATCH_PAUSE_MS_MAX } from '../limits.js';

/**
 * Decides when reported changes cause a load. Changes of one turn of the event loop cause one load, and so do changes
 * during a load. The pause after a patch is proportional to it, so that many changes cause few patches. A waiting
 * change keeps the process alive; otherwise a program that awaits its publication would end.
 */
export class ChangePace {
  readonly #load: () => void;
  #isLoading = false;
  #isDue = false;
  #readyMs = 0;
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

  /** When a load begins, it includes all changes so far. */
  began(): void {
    this.close();
    this.#isLoading = true;
  }

  /** @param patchMs how long a patch took */
  pauseAfter(patchMs: number): void {
    this.#readyMs = performance.now() + Math.min(PATCH_PAUSE_MS_MAX, PATCH_PAUSE_FACTOR * patchMs);
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
