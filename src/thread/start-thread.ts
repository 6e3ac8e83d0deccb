import { realpathSync } from 'node:fs';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { LecternError } from '../errors.js';

/** The address of this module. Bundlers that make CommonJS replace it by an empty object. */
const OWN_URL: string | undefined = import.meta.url;
const SOURCE_NAME = /\/thread\/start-thread\.ts$/;

export type StartThread = (options: Pick<WorkerOptions, 'workerData' | 'name' | 'resourceLimits'>) => Worker;

/**
 * Prepares a thread. The thread runs source text, which the build made from the thread's module and all its
 * imports. The text works in a bundled program, and starts three times as fast as dozens of files. When
 * Lectern runs from source, as in tests, the module itself is started.
 */
export async function prepareThread(
  source: `/${string}.ts`,
  text: () => Promise<string>,
): Promise<StartThread> {
  expectWorkingFolder();
  const isSource = OWN_URL !== undefined && SOURCE_NAME.test(OWN_URL);
  const url = isSource ? JSON.stringify(OWN_URL.replace(SOURCE_NAME, source)) : '';
  const boot = isSource
    ? `import('tsx/esm/api').then(({ register }) => { register(); return import(${url}); });`
    : await text();
  return (options) => new Worker(boot, { ...options, execArgv: [], eval: true });
}

function expectWorkingFolder(): void {
  try {
    // process.cwd() would return a cached value.
    realpathSync.native('.');
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')) return;
    const message =
      'the working folder of the process was removed, and Node cannot start a thread without one; ' +
      'start the service again in a folder that is not removed';
    throw new LecternError('source-unreadable', message, { cause });
  }
}
