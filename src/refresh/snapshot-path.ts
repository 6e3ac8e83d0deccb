import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { LecternError } from '../errors.js';

/**
 * Checks, while somebody is waiting for the answer, that a snapshot file can be written: its folder is there, nothing of
 * another kind is at its path, and no source is, under whatever name. What happens to disk and rights later on is told
 * when a write fails.
 *
 * @param keep earlier files that are kept beside it, and so are replaced, too
 * @param sources paths of the files that the timetable is loaded from
 * @throws LecternError `option-invalid`
 */
export function checkSnapshotPath(path: string, keep: number, sources: readonly string[]): void {
  const replaced = [path, ...Array.from({ length: keep }, (_, i) => `${path}.${i + 1}`)].map(identify);
  for (const source of sources) {
    const { realPath, inode } = identify(source);
    const same = replaced.find(
      (file) => file.realPath === realPath || (inode !== null && file.inode === inode),
    );
    if (same !== undefined) {
      throw invalid(path, `it would replace the source ${source}; expected a path of its own for snapshots`);
    }
  }
  const folder = dirname(resolve(path));
  try {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status?.isDirectory()) throw invalid(path, 'it is a directory; expected the path of a file');
    if (status !== undefined && !status.isFile()) throw invalid(path, 'it is no regular file; expected one');
    if (!statSync(folder).isDirectory()) throw invalid(path, `${folder} is not a directory`);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (error instanceof LecternError) throw error;
    throw invalid(path, reasonOf(error, folder));
  }
}

function reasonOf(error: unknown, folder: string): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  switch (code) {
    case 'ENOENT':
      return `there is no folder ${folder}`;
    case 'ENOTDIR':
      return `a part of ${folder} is not a directory`;
    case 'EACCES':
    case 'EPERM':
      return `permission denied in ${folder}`;
    case 'ELOOP':
      return 'its symbolic links go in a circle';
    case 'EROFS':
      return `${folder} cannot be written to (read-only file system)`;
    default:
      return code;
  }
}

/** What two spellings of one file have in common; a file that is not there yet is known by its folder. */
function identify(path: string): { readonly realPath: string; readonly inode: string | null } {
  return { realPath: realPathOf(resolve(path)), inode: inodeOf(path) };
}

function inodeOf(path: string): string | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}-${ino}`;
  } catch {
    return null;
  }
}

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
