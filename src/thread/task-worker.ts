import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { LecternError } from '../errors.js';
import type { AskSecretHeadersOf } from '../source/spec.js';
import { letOthersGoFirst } from './priority.js';
import { runTaskHere } from './task.js';
import { errorOf, failureOf } from './task-failure.js';
import type { FromTask, SecretsAnswer, StreamChunk, Task, TaskListeners } from './task-messages.js';

/** The entry of a worker thread: does its one task, posts the result and ends. */
const port = parentPort as MessagePort;
if (port === null) throw new Error('this module is the entry of a worker thread');

const task = workerData as Task;
// Before a first load or an image is ready, no request can be answered, so these tasks keep their priority.
if (task.task !== 'read-image' && !('served' in task && task.served === null)) letOthersGoFirst();

const tell = (message: FromTask): void => port.postMessage(message);

/** One chunk is requested at a time, so neither side holds more. */
async function* chunks(): AsyncGenerator<Uint8Array> {
  for (;;) {
    const message = new Promise<StreamChunk>((resolve) => port.once('message', resolve));
    tell({ kind: 'more' });
    const chunk = await message;
    if ('problem' in chunk) throw new LecternError('source-unreadable', chunk.problem);
    if (chunk.done) return;
    yield chunk.value;
  }
}

let asked = 0;
const waiting = new Map<number, (answer: SecretsAnswer) => void>();

/** The main thread has them: it renews them, and they are the same for all loads. */
const askSecretHeaders: AskSecretHeadersOf = async (credentials, refused) => {
  // A task with addresses has no stream, so every message is an answer.
  if (asked === 0) {
    port.on('message', (answer: SecretsAnswer) => {
      waiting.get(answer.number)?.(answer);
      waiting.delete(answer.number);
    });
  }
  const number = ++asked;
  const answer = await new Promise<SecretsAnswer>((resolve) => {
    waiting.set(number, resolve);
    tell({ kind: 'want-secrets', number, credentials, refused });
  });
  if ('secrets' in answer) return answer.secrets;
  throw errorOf(answer.failure);
};

const listeners = {
  askSecretHeaders,
  onProgress: (progress) => tell({ kind: 'progress', progress }),
  onVersion: (version) => tell({ kind: 'version', version }),
  onParts: (report) => tell({ kind: 'parts', report }),
} satisfies TaskListeners;

// No top-level await: as a text inside a bundle this module is a CommonJS script.
void runTaskHere(task, listeners, chunks())
  .catch((error: unknown): FromTask => ({ kind: 'failed', ...failureOf(error) }))
  .then((result) => {
    tell(result);
    // A stream that failed half-way still listens, and would keep the thread alive.
    port.close();
  });
