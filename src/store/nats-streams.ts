import { LecternError } from '../errors.js';
import { STORE_CHUNK_BYTES, STORE_SILENT_MS_MAX } from '../limits.js';

/**
 * Gives chunks to `put` as a stream. Throws if `put` takes no chunk for STORE_SILENT_MS_MAX, or does not end
 * within that time after the last chunk.
 *
 * @throws LecternError `store-unavailable`
 */
export async function putStream(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  put: (stream: ReadableStream<Uint8Array>) => Promise<unknown>,
): Promise<void> {
  const iterator = pieces(chunks);
  let timer: NodeJS.Timeout | undefined;
  let isSilent = (): void => {};
  const silence = new Promise<never>((_, reject) => {
    isSilent = () => {
      reject(new LecternError('store-unavailable', `the store ${name} failed: it accepts no more bytes`));
    };
  });
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(isSilent, STORE_SILENT_MS_MAX);
  };
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next();
      heard();
      if (done === true) controller.close();
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

/** Small ones show progress on slow links. */
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
 * @param failure of the transfer, such as a wrong digest or a lost connection, which the client reports
 * separately
 */
export function chunksOf(
  name: string,
  data: ReadableStream<Uint8Array>,
  failure: Promise<Error | null | undefined>,
): AsyncIterable<Uint8Array> {
  const reader = data.getReader();
  // The code below sees the failure, unless the reading ends before.
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

/** The client reports other bytes than were put by its message alone. */
function namedDamage(name: string, error: unknown): unknown {
  if (!(error instanceof Error && /digests do not match/.test(error.message))) return error;
  const message = `an object of the store ${name} has other bytes than were put`;
  return new LecternError('object-damaged', message, { cause: error });
}
