import { realpathSync } from 'node:fs';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { LecternError } from '../errors.js';

/** This module's own address; bundlers leave nothing in its place if they make CommonJS. */
const OWN_URL: string | undefined = import.meta.url;
const SOURCE_NAME = /\/thread\/start-thread\.ts$/;

export type StartThread = (options: Pick<WorkerOptions, 'workerData' | 'name' | 'resourceLimits'>) => Worker;

/**
 * Prepares a thread. What it runs is a text that the build made of its module and all imports: it is found in a program
 * bundled into one file too, and starts three times as fast as dozens of files. The project's own tests, which run from
 * source, start the module itself.
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
    // Not process.cwd(), which remembers.
    realpathSync.native('.');
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')) return;
    const message =
      'the working folder of the process was removed, and Node cannot start a thread without one; ' +
      'start the service again in a folder that is not removed';
    throw new LecternError('source-unreadable', message, { cause });
  }
}
