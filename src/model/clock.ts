/** Milliseconds of the monotonic clock that all threads share. Ages and pauses use it, as the clock of the day may be set. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** A time of the clock of the day by the monotonic clock. Future times count as now. */
export function monotonicMsAt(epochMs: number): number {
  return monotonicMs() - Math.max(0, Date.now() - epochMs);
}
