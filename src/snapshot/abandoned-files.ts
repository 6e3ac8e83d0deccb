import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Removes temporary files and folders of killed processes of this account. A container reuses process numbers, so
 * those older than this process are removed, too.
 *
 * @param named matches the names; its first group is the number of the process
 */
export function removeAbandoned(folder: string, named: RegExp): void {
  const beganMs = Date.now() - process.uptime() * 1000;
  const own = process.geteuid?.();
  for (const name of namesIn(folder)) {
    const writer = named.exec(name)?.[1];
    if (writer === undefined) continue;
    const path = join(folder, name);
    const status = lstatSync(path, { throwIfNoEntry: false });
    if (status === undefined || (own !== undefined && status.uid !== own)) continue;
    const isAbandoned =
      Number(writer) === process.pid ? status.mtimeMs < beganMs : !isRunning(Number(writer));
    if (isAbandoned) rmSync(path, { force: true, recursive: true });
  }
}

/** None if the folder cannot be listed: writing will say why, if it fails, too. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists but belongs to another user.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

/** A text as a part of a pattern. */
export function quoted(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
