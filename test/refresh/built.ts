/** The built package, whose threads start as fast as for users; this matters when there are hundreds. */
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));

async function load<T>(module: string): Promise<T> {
  return (await import(pathToFileURL(join(DIST, module)).href)) as T;
}

const index = await load<typeof import('../../src/index.js')>('index.js');
const service = await load<typeof import('../../src/app/service.js')>('app/service.js');

export const openTimetable: typeof import('../../src/index.js').openTimetable = index.openTimetable;
export const MemorySource: typeof import('../../src/index.js').MemorySource = index.MemorySource;
export const startService: typeof import('../../src/app/service.js').startService = service.startService;
/** The address that programs written by a test import. */
export const builtModule = (module: string): string => pathToFileURL(join(DIST, module)).href;
