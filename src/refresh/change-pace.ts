/**
 * After a patch, the next one waits three times as long as the patch took, at most 2 s, so patches take at
 * most a quarter of a processor.
 */
export const PATCH_PAUSE_FACTOR = 3;
/** The fastest of the last patches counts; the others waited for a processor or for compiled code. */
export const PATCH_TIMES_KEPT = 4;
export const PATCH_PAUSE_MS_MAX = 2000;
/**
 * Shortest pause after a patch. Changes during a pause share the next patch. With this pause,
 * SNAPSHOTS_KEPT_MAX snapshots reach back 84 s.
 */
export const PATCH_PAUSE_MS_MIN = 330;

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

  /** A load begins, which includes all changes so far. */
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
