import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/**
 * Gives threads that answer requests priority, because a build takes a processor for many seconds. Under full load a
 * tenth of a processor remains for the build. Linux has a priority for each thread; on other systems, nothing
 * happens.
 */
export function letOthersGoFirst(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    if (Number.isInteger(thread) && thread !== process.pid) {
      setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
    }
  } catch {
    // The thread keeps its priority.
  }
}
