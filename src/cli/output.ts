import { writeError } from './report-failure.js';

const UNREAD_MS_MAX = 1000;

let essential = true;
let told = false;

/**
 * Keeps a failing standard output or standard error from ending the process with a stack trace. A reader that has seen
 * enough, as with `| head`, is no failure. Anything else is one line on standard error and exit code 1, unless the
 * output matters less than what the process does.
 */
export function guardOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (!essential || error.code === 'EPIPE' || told) return;
    told = true;
    process.exitCode = 1;
    writeError(`error: cannot write to standard output: ${reasonOf(error)}`);
  });
  // There is nowhere left to say it.
  process.stderr.on('error', () => {});
}

/** From now on what is printed is a courtesy: whatever happens to standard output, the process carries on. */
export function carryOnWithoutOutput(): void {
  essential = false;
}

/** After a command whose output is a courtesy: text that nobody reads does not keep the process alive for longer than this. */
export function endWithoutOutput(): void {
  if (!essential) setTimeout(() => process.exit(), UNREAD_MS_MAX).unref();
}

/** Whether writing itself failed, which the guard tells of. */
export function isWriteFailure(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'write';
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  return code === 'ENOSPC' ? 'no space is left on the device' : (code ?? message);
}
