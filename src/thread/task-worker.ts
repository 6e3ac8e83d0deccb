import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { LecternError } from '../errors.js';
import { letOthersGoFirst } from './priority.js';
import { streamSource } from './stream-source.js';
import { runTaskHere } from './task.js';
import type { Task, TaskNotice, TaskResult } from './task-messages.js';

/** The entry of a worker thread: does its one task, posts the result and ends. */
const port = parentPort;
if (port === null) throw new Error('this module is the entry of a worker thread');

const task = workerData as Task;
// A first load is all that there is to do, and so is reading an image; everything else goes on beside answers.
if (task.task !== 'read-image' && (task.task !== 'load' || task.served !== null)) letOthersGoFirst();

const notify = (notice: TaskNotice): void => port.postMessage(notice);

async function work(): Promise<TaskResult> {
  try {
    return await runTaskHere(task, {
      onProgress: (progress) => notify({ kind: 'progress', progress }),
      onVersion: (version) => notify({ kind: 'version', version }),
      openStream: (spec) => streamSource(spec, port as MessagePort, () => notify({ kind: 'more' })),
    });
  } catch (error) {
    const known = error instanceof LecternError ? error : null;
    return {
      kind: 'failed',
      code: known?.code ?? null,
      message:
        error instanceof Error
          ? ((known === null ? error.stack : undefined) ?? error.message)
          : String(error),
      retryAfterMs: known?.retryAfterMs ?? null,
    };
  }
}

// No top-level await: as a text inside a bundle this module is a CommonJS script.
void work().then((result) => {
  port.postMessage(result);
  // A stream that failed half-way still listens; nothing may keep the thread.
  port.close();
});
