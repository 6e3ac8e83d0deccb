import { writeError } from './faults.js';

const UNREAD_MS_MAX = 1000;

let isEssential = true;
let isTold = false;

/**
 * Keeps a failing standard output or standard error from ending the process with a stack trace. A reader that goes away,
 * as with `| head`, is no failure. Anything else is one line on standard error and exit code 1.
 */
export function guardOutput(): void {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (!isEssential || code === 'EPIPE' || isTold) return;
    isTold = true;
    process.exitCode = 1;
    const reason = code === 'ENOSPC' ? 'no space is left on the device' : (code ?? message);
    writeError(`error: cannot write to standard output: ${reason}`);
  });
  // There is nowhere left to say it.
  process.stderr.on('error', () => {});
}

/** From now on the process carries on whatever happens to standard output. */
export function carryOnWithoutOutput(): void {
  isEssential = false;
}

/** Text that is not essential and not read keeps the process alive no longer than this. */
export function endWithoutOutput(): void {
  if (!isEssential) setTimeout(() => process.exit(), UNREAD_MS_MAX).unref();
}

/** Whether writing itself failed, which the guard reports. */
export function isWriteFailure(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'write';
}
