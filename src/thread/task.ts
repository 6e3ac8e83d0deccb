/**
 * Room thread/. Work on another thread: loading, reading and writing images. It knows no refresh schedule and no HTTP.
 */
import type { Done, Task, TaskSurroundings } from './task-messages.js';

/**
 * Does a task on the thread that it is called on. Throws LecternErrors.
 *
 * Each task imports what it needs and no more: a restarted service serves nothing before an image is read, so that must not
 * wait for the modules of sources and serialisers.
 */
export async function runTaskHere(task: Task, surroundings: TaskSurroundings): Promise<Done> {
  switch (task.task) {
    case 'load': {
      const { runLoadTask } = await import('./load-task.js');
      return runLoadTask(task, surroundings);
    }
    case 'read-image': {
      const { readCheckedImage } = await import('../snapshot/check-image.js');
      return { kind: 'loaded', ...readCheckedImage(task.path, task.use), delta: null, history: null };
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
