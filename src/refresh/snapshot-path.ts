import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { LecternError } from '../errors.js';
import { linkTarget } from '../snapshot/image-file.js';

/**
 * Throws `option-invalid` if the file cannot be written or would replace a source.
 */
export function checkSnapshotPath(path: string, sources: readonly string[]): void {
  const target = linkTarget(path);
  const names = new Set(namesOf(target));
  const source = sources.find((each) => namesOf(each).some((name) => names.has(name)));
  if (source !== undefined) {
    throw invalid(path, `it would replace the source ${source}; expected another path for snapshots`);
  }
  const folder = dirname(resolve(target));
  try {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status?.isDirectory()) throw invalid(path, 'it is a directory; expected the path of a file');
    if (status !== undefined && !status.isFile())
      throw invalid(path, 'it is not a regular file; expected one');
    if (!statSync(folder).isDirectory()) throw invalid(path, `${folder} is not a directory`);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (error instanceof LecternError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw invalid(path, REASONS[code]?.(folder) ?? code);
  }
}

const denied = (folder: string): string => `permission denied in ${folder}`;
const REASONS: Readonly<Record<string, (folder: string) => string>> = {
  ENOENT: (folder) => `there is no folder ${folder}`,
  ENOTDIR: (folder) => `a part of ${folder} is not a directory`,
  EACCES: denied,
  EPERM: denied,
  ELOOP: () => 'its symbolic links form a loop',
  EROFS: (folder) => `${folder} cannot be written to (read-only file system)`,
};

/** Identifies a file under any spelling of its path: its real path, and its inode if it exists. */
function namesOf(path: string): string[] {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return [realPathOf(resolve(path)), `inode ${dev}-${ino}`];
  } catch {
    return [realPathOf(resolve(path))];
  }
}

/** A new file is identified by its folder and name. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const folder = dirname(path);
    return folder === path ? path : join(realPathOf(folder), basename(path));
  }
}

function invalid(path: string, problem: string): LecternError {
  return new LecternError('option-invalid', `the snapshot file ${path} cannot be written: ${problem}`);
}
