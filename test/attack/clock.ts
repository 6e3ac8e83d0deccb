/** A clock that tests set, with the timers that depend on it. */
export interface FakeClock {
  readonly now: () => number;
  readonly schedule: (callback: () => void, ms: number) => () => void;
  /** Advances the time, and calls the timers that become due. */
  advance(ms: number): Promise<void>;
  /** Pending timers. */
  readonly waiting: number;
}

export function fakeClock(startMs = 1_000_000): FakeClock {
  let nowMs = startMs;
  const timers = new Set<{ readonly atMs: number; readonly callback: () => void }>();
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    now: () => nowMs,
    get waiting() {
      return timers.size;
    },
    schedule(callback, ms) {
      const timer = { atMs: nowMs + ms, callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      const endMs = nowMs + ms;
      await settle();
      for (;;) {
        const [next] = [...timers].filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs);
        if (next === undefined) break;
        timers.delete(next);
        nowMs = Math.max(nowMs, next.atMs);
        next.callback();
        await settle();
      }
      nowMs = endMs;
      await settle();
    },
  };
}
