/**
 * Room thread/. Work on another thread: loading, reading and writing images. It knows no refresh schedule and no HTTP.
 */
import type { TaskSurroundings } from './surroundings.js';
import type { Task, TaskResult } from './task-messages.js';

/**
 * Does a task on the thread that it is called on. Throws LecternErrors.
 *
 * Each task imports what it needs and no more: a thread that only reads an image, while a restarted service has nothing to
 * serve yet, does not wait for the modules of sources and serialisers.
 */
export async function runTaskHere(task: Task, surroundings: TaskSurroundings): Promise<TaskResult> {
  switch (task.task) {
    case 'load': {
      const { runLoadTask } = await import('./load-task.js');
      return runLoadTask(task, surroundings);
    }
    case 'read-image': {
      const { readCheckedImage } = await import('../snapshot/check-image.js');
      const stored = readCheckedImage(task.path, task.use);
      return { kind: 'loaded', ...stored, summary: null, delta: null, history: null };
    }
    case 'check-rows': {
      const { checkRowsOf } = await import('../snapshot/check-image.js');
      checkRowsOf(task.path, task.image);
      return { kind: 'checked' };
    }
    case 'write-image': {
      const { writeImageFile } = await import('../snapshot/image-file.js');
      writeImageFile(task.path, task.image, task.sourceVersion, task.keep, task.source);
      return { kind: 'written' };
    }
  }
}
