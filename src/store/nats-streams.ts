import { LecternError } from '../errors.js';
import { STORE_CHUNK_BYTES, STORE_SILENT_MS_MAX } from '../limits.js';

/**
 * Gives chunks to `put` as a stream. Throws if `put` takes none for STORE_SILENT_MS_MAX, or does not end in that time after
 * the last.
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
      reject(new LecternError('store-unavailable', `the store ${name} failed: it takes no more bytes`));
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
    // Not awaited: the source may hang.
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
 * @param failure of the transfer, which the client tells beside the stream: a wrong digest, a lost connection
 */
export function chunksOf(
  data: ReadableStream<Uint8Array>,
  failure: Promise<Error | null | undefined>,
): AsyncIterable<Uint8Array> {
  const reader = data.getReader();
  // Seen below, unless the reading ends before.
  failure.catch(() => {});
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const { done, value } = await reader.read();
        if (!done) return { done: false, value };
        const error = await failure;
        if (error instanceof Error) throw error;
        return { done: true, value: undefined };
      },
      async return() {
        await reader.cancel();
        return { done: true, value: undefined };
      },
    }),
  };
}
