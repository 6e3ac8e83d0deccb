import { readlinkSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';

/**
 * Gives threads that answer requests priority, because a build takes a processor for many seconds. Under full load a
 * tenth of a processor remains for the build. Linux has a priority for each thread; on other systems, nothing
 * happens.
 */
export function letOthersGoFirst(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    if (!Number.isInteger(thread) || thread === process.pid) return;
    // A process that was started with a lower priority keeps that.
    setPriority(thread, Math.max(getPriority(thread), constants.priority.PRIORITY_BELOW_NORMAL));
  } catch {
    // The thread keeps its priority.
  }
}
