import { LecternError } from '../errors.js';
import { STORE_CHUNK_BYTES, STORE_SILENT_MS_MAX } from '../limits.js';

/** A put without progress fails after STORE_SILENT_MS_MAX, so chunks that are this old and do not grow have no writer. */
const ABANDONED_MS = 60_000;

/**
 * Gives chunks to `put` as a stream. Throws if `put` takes no chunk for `silentMsMax`, or does not end within
 * this time after the last chunk. In both cases the stream fails, too.
 *
 * @throws LecternError `store-unavailable`
 */
export async function putStream(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  put: (stream: ReadableStream<Uint8Array>) => Promise<unknown>,
  silentMsMax: number = STORE_SILENT_MS_MAX,
): Promise<void> {
  const iterator = pieces(chunks);
  let timer: NodeJS.Timeout | undefined;
  let failure: LecternError | null = null;
  let isSilent = (): void => {};
  const silence = new Promise<never>((_, reject) => {
    isSilent = () => {
      failure = new LecternError('store-unavailable', `the store ${name} failed: it accepts no more bytes`);
      reject(failure);
    };
  });
  const heard = (): void => {
    clearTimeout(timer);
    if (failure === null) timer = setTimeout(isSilent, silentMsMax);
  };
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next();
      heard();
      // After a failure, the end of the source must not end the object: the client would store only these bytes.
      if (failure !== null) controller.error(failure);
      else if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
  heard();
  try {
    await Promise.race([put(stream), silence]);
  } finally {
    clearTimeout(timer);
    // The end is not awaited, because the source may hang.
    void iterator.return(undefined).catch(() => {});
  }
}

/** Small pieces show progress on slow links. */
async function* pieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += STORE_CHUNK_BYTES)
      yield chunk.subarray(at, at + STORE_CHUNK_BYTES);
  }
}

/**
 * The bytes of an object. `return()` ends the transfer even while a read waits.
 *
 * @param name of the store
 * @param failure of the transfer, such as a wrong digest or a lost connection, which the client reports as a
 * promise
 */
export function chunksOf(
  name: string,
  data: ReadableStream<Uint8Array>,
  failure: Promise<Error | null | undefined>,
): AsyncIterable<Uint8Array> {
  const reader = data.getReader();
  // The code below sees the failure, unless reading ends earlier.
  failure.catch(() => {});
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const { done, value } = await reader.read().catch((error) => {
          throw namedDamage(name, error);
        });
        if (!done) return { done: false, value };
        const error = await failure;
        if (error instanceof Error) throw namedDamage(name, error);
        return { done: true, value: undefined };
      },
      async return() {
        await reader.cancel();
        return { done: true, value: undefined };
      },
    }),
  };
}

/** Only the message of the client's error shows that the bytes differ from the bytes that were put. */
function namedDamage(name: string, error: unknown): unknown {
  if (!(error instanceof Error && /digests do not match/.test(error.message))) return error;
  const message = `an object of the store ${name} does not have the bytes that were put`;
  return new LecternError('object-damaged', message, { cause: error });
}

/** Finds chunks of puts that ended without their object, because the process of the writer was killed. */
export class AbandonedChunks {
  readonly #now: () => number;
  #seen = new Map<string, { readonly count: number; readonly sinceMs: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Returns the subjects whose number of chunks stayed the same in all calls of the last ABANDONED_MS or longer.
   *
   * @param counts chunks of each subject without an object
   */
  find(counts: ReadonlyMap<string, number>): string[] {
    const nowMs = this.#now();
    const before = this.#seen;
    this.#seen = new Map();
    for (const [subject, count] of counts) {
      const seen = before.get(subject);
      this.#seen.set(subject, seen?.count === count ? seen : { count, sinceMs: nowMs });
    }
    return [...this.#seen].flatMap(([subject, { sinceMs }]) =>
      nowMs - sinceMs >= ABANDONED_MS ? [subject] : [],
    );
  }
}
