/** Folder base/metrics/. Counts in shared memory, one set per thread. This folder knows no text format and no port. */
import * as cells from './cells.js';

const STATUS_PLACE: Uint8Array = new Uint8Array(600).fill(cells.STATUSES.length);
for (const [place, status] of cells.STATUSES.entries()) STATUS_PLACE[status] = place;

/** The counts of one thread, readable by other threads. `cell` is a place of CELL. */
export class Meter {
  /** A replacement of the thread continues these counts. */
  readonly memory: SharedArrayBuffer;
  readonly #cells: Float64Array;
  readonly #samplers: (() => void)[] = [];

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(cells.CELLS * 8)) {
    this.memory = memory;
    this.#cells = new Float64Array(memory);
  }

  /** Call this once per request. The call allocates nothing. */
  answered(route: number, status: number, bytes: number, durationMs: number): void {
    this.answeredUntimed(route, status, bytes);
    this.add(cells.DURATION_SUMS_AT + route, durationMs);
    let duration = 0;
    while (durationMs > (cells.DURATION_ENDS_MS[duration] ?? Number.POSITIVE_INFINITY)) duration++;
    this.add(cells.DURATIONS_AT + route * cells.DURATION_CLASSES + duration);
  }

  answeredUntimed(route: number, status: number, bytes: number): void {
    const place = STATUS_PLACE[status] ?? cells.STATUSES.length;
    this.add(cells.REQUESTS_AT + route * cells.STATUS_PLACES + place);
    this.addBytes(route, bytes);
  }

  addBytes(route: number, bytes: number): void {
    this.add(cells.BYTES_AT + route, bytes);
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

  failed(reason: cells.TokenFailure): void {
    this.add(cells.FAILURES_AT + cells.TOKEN_FAILURES.indexOf(reason));
  }

  /** Adds a function that is called from time to time on this thread and sets sampled values. */
  onSample(sampler: () => void): void {
    this.#samplers.push(sampler);
  }

  /** Adds the growth of counts that are kept elsewhere and may start again at zero. */
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
