import { LecternError } from '../base/errors.js';
import { STORE_SILENT_MS_MAX } from '../base/limits.js';
import { monotonicMs } from '../base/model/clock.js';

/** A timer this late shows that the process did not run. */
const STALL_MS_MIN = 500;

/**
 * Passes chunks on, and throws if none arrives for `silentMsMax`. A get from NATS never ends if chunks vanish
 * during it, and a read from a network file system may hang.
 *
 * @throws LecternError `store-unavailable`
 */
export async function* stopSilent(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  silentMsMax: number = STORE_SILENT_MS_MAX,
): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      const result = await withinTime(iterator.next(), name, silentMsMax);
      if (result.done === true) {
        ended = true;
        return;
      }
      yield result.value;
    }
  } catch (cause) {
    if (cause instanceof LecternError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new LecternError('store-unavailable', `the store ${name} failed: ${reason}`, { cause });
  } finally {
    // The end of the iterator is not awaited, because it may hang like the read itself.
    if (!ended) void iterator.return?.().catch(() => {});
  }
}

/**
 * Throws `store-unavailable` if the promise does not settle in time. The time starts again if this process
 * itself was stopped, because an answer may wait in its socket.
 *
 * @param onLate receives a value that arrives too late
 * @param closing aborted when the store is closed, which ends the wait
 */
export async function withinTime<T>(
  promise: Promise<T>,
  name: string,
  msMax: number = STORE_SILENT_MS_MAX,
  onLate: (value: T) => void = () => {},
  closing: AbortSignal = new AbortController().signal,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;
  let close = (): void => {};
  const silence = new Promise<never>((_, reject) => {
    close = () => {
      isLate = true;
      reject(new LecternError('store-unavailable', `the store ${name} failed: it is closed`));
    };
    if (closing.aborted) return close();
    closing.addEventListener('abort', close);
    const wait = (): void => {
      const beganMs = monotonicMs();
      timer = setTimeout(() => {
        if (monotonicMs() - beganMs > msMax + STALL_MS_MIN) return wait();
        isLate = true;
        const message = `the store ${name} has not answered for ${msMax / 1000} s`;
        reject(new LecternError('store-unavailable', message));
      }, msMax);
    };
    wait();
  });
  promise.then(
    (value) => isLate && onLate(value),
    () => {},
  );
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
    closing.removeEventListener('abort', close);
  }
}
