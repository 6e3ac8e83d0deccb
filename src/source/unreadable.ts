import { LecternError } from '../errors.js';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'a part of the path is not a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a directory; expected a file',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  ELOOP: 'its symbolic links go in a circle',
  EIO: 'the device failed (input/output error)',
};

/** That a file cannot be read, and why. */
export function unreadable(name: string, error: unknown): LecternError {
  return new LecternError('source-unreadable', `cannot read ${name}: ${reasonOf(error)}`, { cause: error });
}

/** Why a file could not be opened or read, for people. */
export function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return REASONS[code] ?? (error instanceof Error ? error.message : String(error));
}
