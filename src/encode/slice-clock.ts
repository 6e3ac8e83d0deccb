/** Longest time of a slice. Warm code fills a slice in less than a millisecond. */
const SLICE_MS = 4;
/**
 * The clock is read once for this many rows, which take far less than a millisecond even before the code is
 * compiled.
 */
const ROWS_BETWEEN_LOOKS = 8;

/** Ends slices in time. Until the code of a representation is compiled, a row takes twenty times as long. */
export class SliceClock {
  readonly #now: () => number;
  #rows = 0;
  #endMs = 0;

  /** @param now milliseconds; for tests */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  beginSlice(): void {
    this.#rows = 0;
    this.#endMs = this.#now() + SLICE_MS;
  }

  /** Call this after each row. @returns whether the slice has taken its time */
  isOver(): boolean {
    return ++this.#rows % ROWS_BETWEEN_LOOKS === 0 && this.#now() >= this.#endMs;
  }
}
