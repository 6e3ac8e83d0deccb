/** The built library, whose threads start as fast as for users. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { openerHere, type Parts } from '../app/open-here.js';
import { SLOW } from '../hard/size.js';

export const ROOT: string = fileURLToPath(new URL('../..', import.meta.url));
export const BUILT_MODULE: string = join(ROOT, 'dist/index.js');

type Library = typeof import('../../src/index.js');
const built = (await import(pathToFileURL(BUILT_MODULE).href)) as Library;
export const LecternError: Library['LecternError'] = built.LecternError;
export const MemorySource: Library['MemorySource'] = built.MemorySource;
const partOf = async (path: string): Promise<Parts> =>
  (await import(pathToFileURL(join(ROOT, 'dist', path)).href)) as Parts;
const parts = {
  ...(await partOf('options/resolve.js')),
  ...(await partOf('refresh/thread/task.js')),
  ...(await partOf('app/keeping.js')),
  ...(await partOf('app/timetable.js')),
};
/** In `npm test` loads run on this thread. */
export const openTimetable: Library['openTimetable'] = SLOW ? built.openTimetable : openerHere(parts);

/** One event of September 2024; `n` from 1 to 999. */
export function record(n: number, more: object = {}): object {
  return {
    id: idOf(n),
    time: `2024-09-02T08:00:00.${String(n).padStart(3, '0')}Z`,
    endTime: '2024-09-02T10:00:00Z',
    ...more,
  };
}

export function idOf(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}

/** A folder that is removed after the test. */
export async function temporaryFolder(t: { teardown(end: () => void): void }): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'lectern-embedding-')));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface ProgramOutcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that takes longer hangs. A right one takes a second, or ten on a busy machine. */
const PROGRAM_MS_MAX = 60_000;

/** Runs a program in the folder with plain Node. */
export async function runProgram(folder: string, argv: readonly string[]): Promise<ProgramOutcome> {
  const child = spawn(process.execPath, argv, {
    cwd: folder,
    env: { ...process.env, NODE_OPTIONS: '', NODE_PATH: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: PROGRAM_MS_MAX,
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { code, signal, stdout, stderr };
}
