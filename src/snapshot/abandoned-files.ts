import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ABANDONED_MS } from '../base/limits.js';

/**
 * Removes temporary files and folders of this account that were not written for a while: their process was killed.
 * Numbers of processes would not show this, because containers with a shared folder have equal ones.
 */
export function removeAbandoned(folder: string, named: RegExp): void {
  const untilMs = Date.now() - ABANDONED_MS;
  const own = process.geteuid?.();
  for (const name of namesIn(folder)) {
    if (!named.test(name)) continue;
    const path = join(folder, name);
    const status = lstatSync(path, { throwIfNoEntry: false });
    if (status === undefined || (own !== undefined && status.uid !== own)) continue;
    if (status.mtimeMs < untilMs) rmSync(path, { force: true, recursive: true });
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

/** A text as a part of a pattern. */
export function quoted(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
