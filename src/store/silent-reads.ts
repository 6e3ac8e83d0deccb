import { LecternError } from '../base/errors.js';
import { STORE_SILENT_MS_MAX } from '../base/limits.js';
import { inTime } from '../base/model/clock.js';

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
 * Throws `store-unavailable` if the promise does not settle in time; see {@link inTime}.
 *
 * @param closing aborted when the store is closed, which ends the wait
 */
export async function withinTime<T>(
  promise: Promise<T>,
  name: string,
  msMax: number = STORE_SILENT_MS_MAX,
  onLate?: (value: T) => void,
  closing?: AbortSignal,
): Promise<T> {
  try {
    return await inTime(promise, msMax, () => silent(name, msMax), onLate, closing);
  } catch (error) {
    if (!closing?.aborted || error !== closing.reason) throw error;
    throw new LecternError('store-unavailable', `the store ${name} failed: it is closed`);
  }
}

export function silent(name: string, msMax: number): LecternError {
  return new LecternError('store-unavailable', `the store ${name} has not answered for ${msMax / 1000} s`);
}
