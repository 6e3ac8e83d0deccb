/** The monotonic clock of all threads, in milliseconds. Ages and pauses use it, because the wall clock may be set. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** Converts a time of the wall clock. Future times count as now. */
export function monotonicMsAt(epochMs: number): number {
  return monotonicMs() - Math.max(0, Date.now() - epochMs);
}

/** The longest time of a timer, 24 days. Node would let a longer timer fire at once. */
export const TIMER_MS_MAX: number = 2 ** 31 - 1;

/** Blocks this thread. Use it only at the end of a process, when no other work is left. */
export function pauseSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)), 0, 0, ms);
}
