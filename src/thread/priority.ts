import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/**
 * Lets threads that answer requests go first: a build takes a processor for many seconds, and where there are no more
 * processors than threads, whoever has to answer would wait for its turn. A tenth of a processor is left to the build even
 * where requests take all the rest.
 *
 * Linux has a priority for each thread, and `setPriority` takes the number of one as it takes that of a process. Elsewhere
 * nothing happens.
 */
export function letOthersGoFirst(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    // That of the first thread is the number of the process.
    if (Number.isInteger(thread) && thread !== process.pid) {
      setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
    }
  } catch {
    // Then it competes as every other thread does.
  }
}
