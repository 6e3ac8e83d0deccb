/**
 * Milliseconds of the monotonic clock, the same for all threads of the process. Ages and pauses are measured by it; the clock of
 * the day may be set forward and back meanwhile.
 */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** When it was `epochMs` by that clock, as far as the clock of the day tells now. A time that lies ahead counts as now. */
export function monotonicMsAt(epochMs: number): number {
  return monotonicMs() - Math.max(0, Date.now() - epochMs);
}
