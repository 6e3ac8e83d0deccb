import { constants, type Stats } from 'node:fs';
import { totalmem } from 'node:os';
import { LecternError } from '../errors.js';
import { IMAGE_MEMORY_SHARE_MAX, IMAGE_REASON_CHARACTERS_MAX } from '../limits.js';

export const FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'its folder is not there any more',
  ELOOP: 'its symbolic links go in a circle',
  ENAMETOOLONG: 'its name is too long; about 30 characters are added while it is written',
  EBUSY: 'it is a mount of its own; expected a mounted folder',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  ENOTDIR: 'a part of its path is not a directory',
  EISDIR: 'it is a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space is left on the device',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'it would become larger than files may be',
  EIO: 'the device failed (input/output error)',
};

export function unreadable(path: string, cause: unknown): LecternError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
  const reason = code === 'ENOENT' ? 'there is no such file' : (FAILURES[code] ?? code);
  return new LecternError('source-unreadable', `cannot read the snapshot file ${path}: ${reason}`, { cause });
}

/** Gives one line, however long and odd the quoted parts of the file are. */
export function unusable(path: string, reason: string): LecternError {
  const line = reason.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
  const shown =
    line.length > IMAGE_REASON_CHARACTERS_MAX ? `${line.slice(0, IMAGE_REASON_CHARACTERS_MAX)}…` : line;
  return new LecternError('image-unusable', `the snapshot file ${path} cannot be used: ${shown}`);
}

export function unwritten(path: string, reason: string, cause?: unknown): LecternError {
  const message = `the snapshot file ${path} could not be written: ${reason}`;
  return new LecternError('image-not-written', message, { cause });
}

/** @param status of the open file: the path could lead elsewhere by now */
export function refuseOthersFile(path: string, { uid, mode }: Stats): void {
  const user = process.geteuid?.();
  if (user === undefined) return;
  if (uid !== user && uid !== 0) {
    throw unusable(path, `it belongs to user ${uid}; expected user ${user}, as this process, or root`);
  }
  if ((mode & constants.S_IWOTH) !== 0) throw unusable(path, 'everybody may write to it; expected mode 0600');
}

/** A file with holes costs its writer nothing, but its reader all the memory. */
export function refuseTooLarge(path: string, fileBytes: number): void {
  const constrained = process.constrainedMemory();
  const memoryBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  if (fileBytes <= IMAGE_MEMORY_SHARE_MAX * memoryBytes) return;
  throw unusable(path, `it has ${fileBytes} bytes, too many for the ${memoryBytes} bytes of memory here`);
}
