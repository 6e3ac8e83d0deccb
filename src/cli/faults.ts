/** What goes wrong, as a line on standard error and an exit code; and standard output that cannot be written. */
import type { Logger } from 'pino';
import { LecternError } from '../errors.js';

/** Exit code of what went wrong while running. */
export const EXIT_FAILURE = 1;
/** Exit code of a command line that cannot be understood. */
export const EXIT_USAGE = 2;

export function exitCodeOf({ code }: LecternError): number {
  return code === 'option-invalid' || code === 'parameters-invalid' ? EXIT_USAGE : EXIT_FAILURE;
}

/** Prints what went wrong, and returns the exit code. Only mistakes of the program itself have a stack trace. */
export function reportFailure(error: unknown): number {
  if (error instanceof LecternError) {
    writeError(`error: ${error.message}`);
    return exitCodeOf(error);
  }
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return EXIT_FAILURE;
}

/** One line on standard error, whatever the text. */
export function writeError(text: string): void {
  process.stderr.write(`${text.replace(/\s*[\r\n]+\s*/g, ' ').trim()}\n`);
}

/**
 * Uncaught errors and unhandled rejections end the process at once, whatever NODE_OPTIONS says, since nobody knows what
 * they left undone. They are logged as fatal, or told on standard error where the log is off.
 *
 * @returns restores Node's default
 */
export function endOnFaults(log: Pick<Logger, 'fatal' | 'isLevelEnabled'>): () => void {
  function onFault(reason: unknown, origin: string): void {
    try {
      if (log.isLevelEnabled('fatal')) log.fatal({ err: reason, origin }, 'ended by a fault of the program');
      else reportFailure(reason);
    } finally {
      process.exit(EXIT_FAILURE);
    }
  }
  const onRejection = (reason: unknown): void => onFault(reason, 'unhandledRejection');
  process.on('uncaughtException', onFault);
  process.on('unhandledRejection', onRejection);
  return () => {
    process.off('uncaughtException', onFault);
    process.off('unhandledRejection', onRejection);
  };
}

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
