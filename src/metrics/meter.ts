/** Room metrics/. Counts in shared memory, one set a thread. It knows no text format and no port. */
import {
  BYTES_AT,
  CELLS,
  DURATION_CLASSES,
  DURATION_ENDS_MS,
  DURATION_SUMS_AT,
  DURATIONS_AT,
  FAILURES_AT,
  REQUESTS_AT,
  STATUS_PLACES,
  STATUSES,
  TOKEN_FAILURES,
  type TokenFailure,
} from './cells.js';

/** The place of each status; what is not in the list has the one behind the last. */
const STATUS_PLACE: Uint8Array = new Uint8Array(600).fill(STATUSES.length);
for (const [place, status] of STATUSES.entries()) STATUS_PLACE[status] = place;

/**
 * Counts what one thread does, into memory that others may read at any time: it has one writer, and no number is ever seen
 * half written.
 */
export class Meter {
  /** To be given to another thread, or to the one that takes the place of this one, which counts on. */
  readonly memory: SharedArrayBuffer;
  readonly #cells: Float64Array;
  readonly #samplers: (() => void)[] = [];

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(CELLS * 8)) {
    this.memory = memory;
    this.#cells = new Float64Array(memory);
  }

  /** Once per request. Allocates nothing. */
  answered(route: number, status: number, bytes: number, durationMs: number): void {
    this.answeredUntimed(route, status, bytes);
    this.add(DURATION_SUMS_AT + route, durationMs);
    let duration = 0;
    while (durationMs > (DURATION_ENDS_MS[duration] ?? Number.POSITIVE_INFINITY)) duration++;
    this.add(DURATIONS_AT + route * DURATION_CLASSES + duration);
  }

  /** The same for an answer of which nobody knows how long it took. */
  answeredUntimed(route: number, status: number, bytes: number): void {
    const place = STATUS_PLACE[status] ?? STATUSES.length;
    this.add(REQUESTS_AT + route * STATUS_PLACES + place);
    this.add(BYTES_AT + route, bytes);
  }

  /** @param cell a place of CELL */
  add(cell: number, count = 1): void {
    this.#cells[cell] = this.get(cell) + count;
  }

  /** @param cell a place of CELL */
  set(cell: number, value: number): void {
    this.#cells[cell] = value;
  }

  get(cell: number): number {
    return this.#cells[cell] ?? 0;
  }

  failed(reason: TokenFailure): void {
    this.add(FAILURES_AT + TOKEN_FAILURES.indexOf(reason));
  }

  /** Registers what is not counted as it happens but looked up from time to time, on the thread that this belongs to. */
  onSample(sampler: () => void): void {
    this.#samplers.push(sampler);
  }

  /**
   * The same for counts that somebody else keeps, and that may begin anew: what has come to them since the last look is
   * added.
   *
   * @param counts by place of CELL
   */
  onSampleOfCounts(counts: () => readonly (readonly [cell: number, count: number])[]): void {
    const last = new Map<number, number>();
    this.onSample(() => {
      for (const [cell, count] of counts()) {
        const before = last.get(cell) ?? 0;
        this.add(cell, count >= before ? count - before : count);
        last.set(cell, count);
      }
    });
  }

  /** Looks everything up. */
  sample(): void {
    for (const sampler of this.#samplers) sampler();
  }
}
