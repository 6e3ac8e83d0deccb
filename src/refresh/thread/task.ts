/**
 * Folder refresh/thread/. Work on another thread: loading, reading and writing images. This folder knows no refresh
 * schedule and no HTTP.
 */
import { Readable } from 'node:stream';
import type { Done, Task, TaskListeners } from './task-messages.js';

/**
 * Runs a task on the calling thread, with the chunks of its stream. Throws LecternErrors. Each task imports
 * only the modules that it needs, because a restarted service answers nothing before its image is read.
 */
export async function runTaskHere(
  task: Task,
  listeners: TaskListeners,
  chunks: AsyncIterable<Uint8Array> = Readable.from([]),
): Promise<Done> {
  switch (task.task) {
    case 'load': {
      const { refusalOf, runLoadTask } = await import('./load-image.js');
      return runLoadTask(task, listeners, chunks).catch(refusalOf);
    }
    case 'patch': {
      const [{ runPatchTask }, { refusalOf }] = await Promise.all([
        import('./patch-image.js'),
        import('./load-image.js'),
      ]);
      return runPatchTask(task, chunks).catch(refusalOf);
    }
    case 'read-rooms': {
      const [{ readRooms }, { postgresSource }] = await Promise.all([
        import('../../source/rooms-file.js'),
        import('../../source/postgres/postgres.js'),
      ]);
      return { kind: 'rooms', rooms: await readRooms(postgresSource(task.source), task.rules) };
    }
    case 'follow-table': {
      const { followTable } = await import('./follow-table.js');
      return followTable(task, listeners);
    }
    case 'end-whole': {
      const { endWhole } = await import('./follow-table.js');
      return endWhole(task);
    }
    case 'read-image': {
      const { readSnapshotFile } = await import('../../change/snapshot-file.js');
      return { kind: 'stored', ...readSnapshotFile(task.path) };
    }
    case 'fetch-image': {
      const { fetchImage } = await import('./fetch-image.js');
      return fetchImage(task);
    }
    case 'write-image': {
      const { writeSnapshotFile } = await import('../../change/snapshot-file.js');
      const { path, past, ...stored } = task;
      return { kind: 'done', place: writeSnapshotFile(path, stored, past) };
    }
  }
}
