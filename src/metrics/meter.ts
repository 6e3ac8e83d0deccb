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

const STATUS_PLACE: Uint8Array = new Uint8Array(600).fill(STATUSES.length);
for (const [place, status] of STATUSES.entries()) STATUS_PLACE[status] = place;

/** Counts what one thread does, in memory that other threads may read at any time. `cell` is a place of CELL. */
export class Meter {
  /** To be read by another thread, or counted on by a replacement of this one. */
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

  /** For an answer whose duration is unknown. */
  answeredUntimed(route: number, status: number, bytes: number): void {
    const place = STATUS_PLACE[status] ?? STATUSES.length;
    this.add(REQUESTS_AT + route * STATUS_PLACES + place);
    this.add(BYTES_AT + route, bytes);
  }

  add(cell: number, count = 1): void {
    this.#cells[cell] = this.get(cell) + count;
  }

  set(cell: number, value: number): void {
    this.#cells[cell] = value;
  }

  get(cell: number): number {
    return this.#cells[cell] ?? 0;
  }

  failed(reason: TokenFailure): void {
    this.add(FAILURES_AT + TOKEN_FAILURES.indexOf(reason));
  }

  /** Registers what is looked up from time to time, on this thread, instead of being counted as it happens. */
  onSample(sampler: () => void): void {
    this.#samplers.push(sampler);
  }

  /** For counts kept elsewhere, which may begin anew: what came since the last look is added. */
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

  sample(): void {
    for (const sampler of this.#samplers) sampler();
  }
}
