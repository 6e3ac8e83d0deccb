/** Transfers that fall silent. Inside, because no server stops at a given byte. */
import { test } from 'tap';
import { STORE_CHUNK_BYTES } from '../../src/base/limits.js';
import { chunksOf, putStream } from '../../src/store/nats-store.js';
import { withinTime } from '../../src/store/store.js';
import { timeForAFault } from '../waiting/until.js';

const unavailable = { code: 'store-unavailable' };

test('a read without progress throws, and ends the transfer', async (t) => {
  let isEnded = false;
  const data = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.from('first')),
    cancel() {
      isEnded = true;
    },
  });
  const chunks: string[] = [];
  const read = async (): Promise<void> => {
    for await (const chunk of chunksOf('test', data, new Promise(() => {}), 50))
      chunks.push(Buffer.from(chunk).toString());
  };
  await t.rejects(read(), unavailable);
  t.strictSame(chunks, ['first']);
  t.ok(isEnded);
});

test('a failure that the client reports separately from the stream rejects the read', async (t) => {
  const stream = (): ReadableStream<Uint8Array> =>
    new ReadableStream({ start: (controller) => controller.close() });
  const read = async (failure: Promise<Error | null>): Promise<void> => {
    for await (const _ of chunksOf('test', stream(), failure));
  };
  await t.rejects(read(Promise.resolve(new Error('wrong digest'))), { message: /wrong digest/ });
  await t.rejects(read(Promise.reject(new Error('lost'))), { message: /lost/ });
  await read(Promise.resolve(null));
});

test('a put goes in small pieces, and fails with its source', async (t) => {
  const sizes: number[] = [];
  const take = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const chunk of stream) sizes.push(chunk.length);
  };
  async function* source(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(2 * STORE_CHUNK_BYTES + 7);
    yield Buffer.alloc(10);
  }
  await putStream(source(), 'test', take);
  t.strictSame(sizes, [STORE_CHUNK_BYTES, STORE_CHUNK_BYTES, 7, 10]);
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(10);
    throw new Error('the disk failed');
  }
  await t.rejects(putStream(failing(), 'test', take), { message: 'the disk failed' });
});

test('a put that was given up is not finished with the bytes that it has', async (t) => {
  async function* source(): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < 4; n++) yield Buffer.alloc(10, n);
  }
  let outcome: Promise<string> | null = null;
  // The client goes on after a pause that is too long.
  const put = (stream: ReadableStream<Uint8Array>): Promise<string> => {
    outcome = (async () => {
      const reader = stream.getReader();
      await reader.read();
      await timeForAFault(100);
      try {
        while (!(await reader.read()).done);
        return 'finished';
      } catch (error) {
        return String((error as { readonly code?: string }).code);
      }
    })();
    return outcome;
  };
  await t.rejects(putStream(source(), 'test', put, 20), unavailable);
  t.equal(await outcome, 'store-unavailable');
});

test('an answer that comes too late is an error, and its value goes to `onLate`', async (t) => {
  const late: string[] = [];
  let give = (_: string): void => {};
  const answer = new Promise<string>((resolve) => {
    give = resolve;
  });
  await t.rejects(
    withinTime(answer, 'test', 50, (value) => late.push(value)),
    { ...unavailable, message: /has not answered/ },
  );
  t.strictSame(late, []);
  give('answer');
  await answer;
  t.strictSame(late, ['answer'], 'the late value is passed on, so that it can be closed');
});

test('the wait starts again if this process was stopped meanwhile', async (t) => {
  const answer = timeForAFault(150).then(() => 'answer');
  const waiting = withinTime(answer, 'test', 100);
  // As if the process was stopped.
  const untilMs = performance.now() + 800;
  while (performance.now() < untilMs);
  t.equal(await waiting, 'answer');
});
