import { realpathSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { LecternError } from '../../base/errors.js';

/** The address of this module. Bundlers that make CommonJS replace it by an empty object. */
const OWN_URL: string | undefined = import.meta.url;
const SOURCE_NAME = /\/refresh\/thread\/start-thread\.ts$/;

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
  return (options) => {
    const worker = new Worker(boot, { ...options, execArgv: [], eval: true });
    const name = (options.name ?? '').replace('lectern ', '');
    worker.on('message', (message: { readonly kind: string; readonly heap?: ThreadHeap }) => {
      if (message.kind === 'alive' && message.heap !== undefined)
        heaps.set(worker, { name, heap: message.heap });
    });
    worker.on('exit', () => heaps.delete(worker));
    return worker;
  };
}

/** Bytes, named like the cells of meters. */
export interface ThreadHeap {
  readonly heapUsedBytes: number;
  readonly heapTotalBytes: number;
  readonly heapExternalBytes: number;
}

const heaps = new Map<Worker, { readonly name: string; readonly heap: ThreadHeap }>();

/** The heap of the calling thread. */
export function ownHeap(): ThreadHeap {
  const { used_heap_size, total_heap_size, external_memory } = getHeapStatistics();
  return {
    heapUsedBytes: used_heap_size,
    heapTotalBytes: total_heap_size,
    heapExternalBytes: external_memory,
  };
}

/** One value of the last reported heaps of running threads that do not serve, by name. Equal names are added up. */
export function reportedHeaps(value: keyof ThreadHeap): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { name, heap } of heaps.values()) sums.set(name, (sums.get(name) ?? 0) + heap[value]);
  return sums;
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
