import { closeSync, constants, fstatSync, openSync, type StatsBase } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { Socket } from 'node:net';

type Kind = Pick<StatsBase<bigint>, 'isFile' | 'isDirectory' | 'isFIFO' | 'isSocket' | 'isCharacterDevice'>;

/** Windows has no such flag, and nothing at a path that an opening would wait for. */
const WITHOUT_WAITING: number = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Why what stands at a path is not read as a file; null for a regular file. */
export function kindFault(status: Kind): string | null {
  if (status.isFile()) return null;
  if (status.isDirectory()) return 'it is a directory; expected a file';
  if (status.isFIFO()) return 'it is a named pipe; expected a regular file';
  if (status.isSocket()) return 'it is a socket; expected a regular file';
  const device = status.isCharacterDevice() ? 'a character device' : 'a block device';
  return `it is ${device}; expected a regular file`;
}

/**
 * Opens a regular file. Neither the opening nor the looking before it waits for anything but the file system: a named pipe
 * would keep both from returning until it has a writer, on a thread that nothing can call back.
 *
 * @throws an error whose message is the reason, also where the path became something else after it was looked at
 */
export async function openRegularFile(path: string): Promise<FileHandle> {
  const fault = kindFault(await stat(path));
  if (fault !== null) throw new Error(fault);
  const handle = await open(path, WITHOUT_WAITING);
  try {
    const now = kindFault(await handle.stat());
    if (now !== null) throw new Error(now);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Opens a named pipe. It is polled and never waited for, so it can be given up at any time. Null where none stands there. */
export async function openPipe(path: string): Promise<Socket | null> {
  if (!(await stat(path)).isFIFO()) return null;
  const fd = openSync(path, WITHOUT_WAITING);
  if (fstatSync(fd).isFIFO()) return new Socket({ fd, readable: true, writable: false });
  closeSync(fd);
  return null;
}
