/** The longest that a timer takes. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * Keeps the process alive until a promise that somebody waits for has settled. A promise by itself does not, and the
 * threads and timers of a refresh must not: otherwise a program that has nothing else to do would never end, or end in the
 * middle of an `await`.
 */
export async function keepingProcessAlive<T>(promise: Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, TIMER_MS_MAX);
  try {
    return await promise;
  } finally {
    clearInterval(timer);
  }
}
