import { realpathSync } from 'node:fs';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { LecternError } from '../errors.js';

/** This module's own address; bundlers leave nothing in its place where they make CommonJS. */
const OWN_URL: string | undefined = import.meta.url;
const SOURCE_NAME = /\/thread\/start-thread\.ts$/;

/** The module that a thread begins with. */
export interface ThreadEntry {
  /** Below the folder of the source, as in `/thread/task-worker.ts`. */
  readonly source: `/${string}.ts`;
  /** The same with all that it imports, as a CommonJS script that the build made. */
  readonly text: () => Promise<string>;
}

/**
 * Starts a thread. What it runs is a text that the build made of the entry's module and all that it imports: it is found
 * wherever this module is, in a program bundled into one file too, and starts three times as fast as dozens of files. Only
 * the project's own tests, which run from source, start the module itself.
 *
 * @throws LecternError `source-unreadable` where the process's working folder is gone: Node starts no thread without one
 */
export async function startThread(
  entry: ThreadEntry,
  options: Pick<WorkerOptions, 'workerData' | 'name' | 'resourceLimits'>,
): Promise<Worker> {
  expectWorkingFolder();
  if (OWN_URL !== undefined && SOURCE_NAME.test(OWN_URL)) {
    const url = JSON.stringify(OWN_URL.replace(SOURCE_NAME, entry.source));
    const boot = `import('tsx/esm/api').then(({ register }) => { register(); return import(${url}); });`;
    return new Worker(boot, { ...options, execArgv: [], eval: true });
  }
  return new Worker(await entry.text(), { ...options, execArgv: [], eval: true });
}

function expectWorkingFolder(): void {
  try {
    // Not process.cwd(), which remembers.
    realpathSync.native('.');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) return;
    const problem = "the process's working folder was removed, and Node starts no thread without one";
    throw new LecternError(
      'source-unreadable',
      `${problem}; start the service again in a folder that stays`,
      {
        cause: error,
      },
    );
  }
}
