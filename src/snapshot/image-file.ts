import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { basename, dirname, resolve } from 'node:path';
import { cannotRead, fileFault, LecternError } from '../base/errors.js';
import { IMAGE_MEMORY_SHARE_MAX } from '../base/limits.js';
import { quoted, removeAbandoned } from './abandoned-files.js';
import { checkImage } from './check-image.js';
import { imagePieces, MAGIC, readingImage, type StoredImage } from './image-layout.js';

/** Linux gives up after this many symbolic links, too. */
const LINKS_MAX = 40;
/** Node transfers at most 2 GiB at a time. */
const PIECE_BYTES = 1024 * 1024 * 1024;

/** Where a file is on disk, and how long it is. */
export interface FilePlace {
  readonly inode: number;
  readonly imageBytes: number;
  /** Bytes of the image and of the whole changes after it. */
  readonly bytes: number;
  /** Bytes of the file; more than `bytes` if a writer was killed. */
  readonly fileBytes: number;
}

const NOTHING = new Uint8Array(0);

/**
 * Writes a temporary file and renames it: readers see the old or the new image, even if this process dies. Synchronous.
 *
 * @param tail bytes after the image
 * @throws LecternError `image-not-written`; the temporary file is removed
 */
export function writeImageFile(path: string, stored: StoredImage, tail: Uint8Array = NOTHING): FilePlace {
  const pieces = imagePieces(stored);
  try {
    refuseForeign(path);
    const target = linkTarget(path);
    removeAbandoned(dirname(target), new RegExp(`^${quoted(basename(target))}\\.[0-9a-f]{16}\\.tmp$`));
    const inode = replaceFile(target, [...pieces, tail]);
    const imageBytes = pieces.reduce((sum, { length }) => sum + length, 0);
    return { inode, imageBytes, bytes: imageBytes + tail.length, fileBytes: imageBytes + tail.length };
  } catch (error) {
    if (error instanceof LecternError || !(error instanceof Error && 'code' in error)) throw error;
    throw unwritten(path, FAILURES[String(error.code)] ?? fileFault(error), error);
  }
}

/**
 * The file that a write to this path replaces: the end of its symbolic links, also if there is no such file yet. A
 * path without a link is returned as it is.
 */
export function linkTarget(path: string): string {
  let target = path;
  for (let links = 0; links < LINKS_MAX; links++) {
    try {
      target = resolve(realpathSync(dirname(target)), readlinkSync(target));
    } catch {
      // Not a link, or no file.
      return target;
    }
  }
  return target;
}

/** @returns the inode of the file */
function replaceFile(path: string, parts: readonly Uint8Array[]): number {
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  try {
    const inode = withOpen(openSync(temporary, 'wx', 0o600), (file) => {
      for (const bytes of parts) writeAll(file, bytes);
      fsyncSync(file);
      return fstatSync(file).ino;
    });
    renameSync(temporary, path);
    withOpen(openSync(dirname(path), 'r'), fsyncSync);
    return inode;
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Only a snapshot file or an empty file is replaced, because a mistyped path must not destroy a file. */
function refuseForeign(path: string): void {
  const status = statSync(path, { throwIfNoEntry: false });
  if (status === undefined) return;
  if (status.isDirectory()) throw unwritten(path, 'it is a directory');
  // Checked before the size, because pipes and devices have none.
  if (!status.isFile()) throw unwritten(path, 'the path is not a regular file and is not overwritten');
  if (status.size === 0) return;
  const head = Buffer.alloc(MAGIC.length);
  withOpen(openSync(path, 'r'), (file) => readSync(file, head, 0, head.length, 0));
  if (head.equals(MAGIC)) return;
  throw unwritten(
    path,
    'the file at this path is not a snapshot file and is not overwritten; expected a path for snapshots only',
  );
}

/**
 * Reads an image into shared memory, and the bytes after it. The file must belong to this account or to root, and no other account may write
 * it. So checksums, shape and content id suffice: they find a file that was cut, damaged or made by another version.
 *
 * @throws LecternError `image-unusable`; `source-unreadable` when the file cannot be opened
 */
export function readImageFile(
  path: string,
): StoredImage & { readonly place: FilePlace; readonly tail: Buffer } {
  let file: number;
  try {
    // O_NONBLOCK: opening a pipe must not wait for its writer.
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    throw unreadable(path, error);
  }
  try {
    const status = fstatSync(file);
    if (status.isDirectory()) throw new Error('it is a directory');
    if (!status.isFile()) throw new Error('it is not a regular file');
    refuseOthersFile(path, status);
    refuseTooLarge(status.size);
    const { imageBytes, ...stored } = read(file, status.size);
    checkImage(stored.image);
    const tail = Buffer.alloc(status.size - imageBytes);
    fill(file, tail, imageBytes);
    const place = { inode: status.ino, imageBytes, bytes: imageBytes, fileBytes: status.size };
    return { ...stored, place, tail };
  } catch (error) {
    throw unusable(path, error instanceof Error ? error.message : String(error));
  } finally {
    closeSync(file);
  }
}

function read(file: number, fileBytes: number): StoredImage & { readonly imageBytes: number } {
  const reading = readingImage(fileBytes);
  let offset = 0;
  let next = reading.next();
  for (; next.done !== true; next = reading.next()) {
    const { bytes, check } = next.value;
    fill(file, bytes, offset);
    check();
    offset += bytes.length;
  }
  return { ...next.value, imageBytes: offset };
}

/**
 * Writes bytes after the present end of a file. What a killed writer left there is cut off.
 *
 * @returns the new place; null, without a write, if the file is not the one at this place any more
 */
export async function appendToImageFile(
  path: string,
  place: FilePlace,
  bytes: Uint8Array,
): Promise<FilePlace | null> {
  const file = await open(linkTarget(path), 'r+').catch(() => null);
  try {
    const status = await file?.stat();
    if (file === null || status?.ino !== place.inode || status.size !== place.fileBytes) return null;
    if (place.fileBytes > place.bytes) await file.truncate(place.bytes);
    let written = 0;
    // Terminates: each write takes a byte or throws.
    while (written < bytes.length) {
      const at = place.bytes + written;
      written += (await file.write(bytes, written, bytes.length - written, at)).bytesWritten;
    }
    await file.datasync();
    const end = place.bytes + bytes.length;
    return { ...place, bytes: end, fileBytes: end };
  } finally {
    await file?.close();
  }
}

function withOpen<Result>(file: number, use: (file: number) => Result): Result {
  try {
    return use(file);
  } finally {
    closeSync(file);
  }
}

function writeAll(file: number, bytes: Uint8Array): void {
  let written = 0;
  // Terminates: each write takes a byte or throws.
  while (written < bytes.length) {
    written += writeSync(file, bytes, written, Math.min(PIECE_BYTES, bytes.length - written));
  }
}

function fill(file: number, bytes: Buffer, offset: number): void {
  let filled = 0;
  // Terminates: each read gives a byte, or the file has ended.
  while (filled < bytes.length) {
    const length = Math.min(PIECE_BYTES, bytes.length - filled);
    const count = readSync(file, bytes, filled, length, offset + filled);
    if (count === 0) throw new Error('it ends early');
    filled += count;
  }
}

/** What {@link fileFault} does not know, or says of reading only. */
const FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'its folder was removed, or cannot hold files',
  ENAMETOOLONG: 'its name is too long; about 30 characters are added while it is written',
  EBUSY: 'it is a mount point; mount its folder instead',
  ENOTDIR: 'a part of its path is not a directory',
  EISDIR: 'it is a directory',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space is left on the device',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'it would exceed the limit on file sizes',
};

function unreadable(path: string, cause: unknown): LecternError {
  return cannotRead(`the snapshot file ${path}`, fileFault(cause), { cause });
}

export function unusable(path: string, reason: string): LecternError {
  return new LecternError('image-unusable', `the snapshot file ${path} cannot be used: ${reason}`);
}

function unwritten(path: string, reason: string, cause?: unknown): LecternError {
  const message = `the snapshot file ${path} could not be written: ${reason}`;
  return new LecternError('image-not-written', message, { cause });
}

/** @param status of the open file, because the path may lead elsewhere by now */
function refuseOthersFile(path: string, { uid, mode }: Stats): void {
  const user = process.geteuid?.();
  if (user === undefined) return;
  if (uid !== user && uid !== 0) {
    throw new Error(
      `it belongs to user ${uid}, and this process runs as user ${user}; run: chown ${user} ${path}`,
    );
  }
  if ((mode & constants.S_IWOTH) !== 0)
    throw new Error(`every account can write to it; run: chmod o-w ${path}`);
}

/** A file that was cut or that is sparse may be larger than the memory. */
function refuseTooLarge(fileBytes: number): void {
  const constrained = process.constrainedMemory();
  const memoryBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  if (fileBytes <= IMAGE_MEMORY_SHARE_MAX * memoryBytes) return;
  throw new Error(`it has ${fileBytes} bytes; this machine has ${memoryBytes} bytes of memory`);
}
