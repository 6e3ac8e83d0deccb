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

/** A timer this late shows that the process did not run. */
const STALL_MS_MIN = 500;

/**
 * Rejects if the promise does not settle in time. The time starts again if this process itself was stopped, because an
 * answer may wait in its socket.
 *
 * @param late makes the error
 * @param onLate receives a value that arrives too late
 * @param signal aborted when nobody waits any longer; rejects with its reason
 */
export async function inTime<T>(
  promise: Promise<T>,
  msMax: number,
  late: () => unknown,
  onLate: (value: T) => void = () => {},
  signal?: AbortSignal,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;
  let abort = (): void => {};
  const end = new Promise<never>((_, reject) => {
    const fail = (error: unknown): void => {
      isLate = true;
      reject(error);
    };
    abort = () => fail(signal?.reason);
    if (signal?.aborted) return abort();
    signal?.addEventListener('abort', abort);
    const wait = (): void => {
      const beganMs = monotonicMs();
      timer = setTimeout(() => {
        if (monotonicMs() - beganMs > msMax + STALL_MS_MIN) wait();
        else fail(late());
      }, msMax);
    };
    wait();
  });
  promise.then(
    (value) => isLate && onLate(value),
    () => {},
  );
  try {
    return await Promise.race([promise, end]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
