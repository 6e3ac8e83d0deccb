import { once } from 'node:events';
import { MessageChannel, type MessagePort, parentPort } from 'node:worker_threads';
import { LecternError } from '../../base/errors.js';
import { THREAD_PULSE_MS } from '../../base/limits.js';
import type { FollowState } from '../../base/model/source-state.js';
import type { AskSecretHeadersOf } from '../../source/spec.js';
import { letOthersGoFirst } from './priority.js';
import { ownHeap } from './start-thread.js';
import { runTaskHere } from './task.js';
import {
  errorOf,
  type FromTask,
  type SecretsAnswer,
  type StreamChunk,
  type Task,
  type TaskListeners,
  taskFailureOf,
} from './task-messages.js';
import { COLLECTION_BYTES, countAsTaken } from './weight.js';

/** The entry of a worker thread: runs posted tasks one after the other, and posts their results, until it is ended. */
const port = parentPort as MessagePort;
if (port === null) throw new Error('this module is the entry of a worker thread');

const tell = (message: FromTask): void => port.postMessage(message);
/** How far a table is followed; undefined unless this thread follows one. */
let followState = (): FollowState | undefined => undefined;
const tellAlive = (): void => tell({ kind: 'alive', heap: ownHeap(), followed: followState() });
const nextMessage = <Message>(): Promise<Message> => new Promise((resolve) => port.once('message', resolve));

/** One chunk is requested at a time, so neither side holds more. */
async function* chunks(): AsyncGenerator<Uint8Array> {
  for (;;) {
    const message = nextMessage<StreamChunk>();
    tell({ kind: 'more' });
    const chunk = await message;
    if ('problem' in chunk) throw new LecternError('source-unreadable', chunk.problem);
    if (chunk.done) return;
    yield chunk.value;
  }
}

/** The main thread holds and renews the credentials for all loads. */
const askSecretHeaders: AskSecretHeadersOf = async (credentials, refused) => {
  const { port1: answers, port2: reply } = new MessageChannel();
  port.postMessage({ kind: 'want-secrets', credentials, refused, reply } satisfies FromTask, [reply]);
  const [answer] = (await once(answers, 'message')) as [SecretsAnswer];
  answers.close();
  if ('secrets' in answer) return answer.secrets;
  throw errorOf(answer.failure);
};

const listeners = {
  askSecretHeaders,
  onProgress: (progress) => tell({ kind: 'progress', progress }),
  onVersion: (version) => tell({ kind: 'version', version }),
  onParts: (report) => tell({ kind: 'parts', report }),
  onAllRead: () => tell({ kind: 'read' }),
  onFollow: (stateOf) => {
    followState = stateOf;
    tellAlive();
  },
  onChange: () => {
    tellAlive();
    tell({ kind: 'changed' });
  },
} satisfies TaskListeners;

/** Returns the size in bytes of the image that the task made. */
async function perform(task: Task): Promise<number> {
  const result = await runTaskHere(task, listeners, chunks()).catch(
    (error: unknown): FromTask => ({ kind: 'failed', ...taskFailureOf(error) }),
  );
  if (followState() !== undefined) tellAlive();
  tell(result);
  return result.kind === 'loaded' ? result.image.summary.bytes : 0;
}

/** No variable of the caller holds the task, so its images can be collected. */
async function performNext(): Promise<number> {
  const task = await nextMessage<Task>();
  givePriority(task);
  return perform(task);
}

/** Idle time after which the garbage of the last tasks is collected, in 5 to 30 ms. */
const IDLE_COLLECTION_MS = 1000;

/** Runs posted tasks until the thread ends. */
async function performAll(): Promise<never> {
  let idle: NodeJS.Timeout | undefined;
  for (;;) {
    const imageBytes = await performNext();
    clearTimeout(idle);
    // Otherwise an idle thread would hold the images of several earlier tasks until V8 collects.
    if (imageBytes === 0) continue;
    setImmediate(countAsTaken, imageBytes);
    idle = setTimeout(countAsTaken, IDLE_COLLECTION_MS, COLLECTION_BYTES).unref();
  }
}

/**
 * Before a first load or an image is ready, no request can be answered, so these tasks keep their priority.
 * Fetches keep it, too: they take little time, and all replicas should serve an image at the same time. A thread that
 * follows a table hardly works.
 */
function givePriority(task: Task): void {
  const isHeavy = task.task === 'load' || task.task === 'patch' || task.task === 'write-image';
  const isFirst = 'served' in task && task.served === null;
  if (isHeavy && !isFirst) letOthersGoFirst();
}

tellAlive();
setInterval(tellAlive, THREAD_PULSE_MS);
// No top-level await: as a text inside a bundle this module is a CommonJS script.
void performAll();
