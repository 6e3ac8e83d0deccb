import type { Logger } from 'pino';
import { LecternError } from '../base/errors.js';
import { printable } from './printable.js';

export const EXIT_FAILURE = 1;
/** Wrong usage of the command line. */
export const EXIT_USAGE = 2;

export function exitCodeOf({ code }: LecternError): number {
  return code === 'option-invalid' || code === 'parameters-invalid' ? EXIT_USAGE : EXIT_FAILURE;
}

/** Also while modules are loaded. The text says what would be right. */
const TOO_MANY_FILES = 'too many files are open: allow this process more, such as 1024 (ulimit -n 1024)';

function isOutOfFiles(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EMFILE' || error.code === 'ENFILE');
}

/** Prints an error and returns the exit code. Only bugs of Lectern have a stack trace. */
export function reportFailure(error: unknown): number {
  if (error instanceof LecternError) {
    writeError(`error: ${error.message}`);
    return exitCodeOf(error);
  }
  if (isOutOfFiles(error)) {
    writeError(`error: ${TOO_MANY_FILES}`);
    return EXIT_FAILURE;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${printable(text)}\n`);
  return EXIT_FAILURE;
}

/** Logs why a command cannot go on, and returns the exit code. */
export function logFailure(log: Pick<Logger, 'fatal'>, error: unknown, message: string): number {
  if (isOutOfFiles(error)) {
    log.fatal({ reason: TOO_MANY_FILES }, message);
    return EXIT_FAILURE;
  }
  const isExpected = error instanceof LecternError;
  log.fatal(isExpected ? { code: error.code, reason: error.message } : { err: error }, message);
  return isExpected ? exitCodeOf(error) : EXIT_FAILURE;
}

/** Prints the text as one line, even if it has several lines. */
export function writeError(text: string): void {
  process.stderr.write(`${printable(text.replace(/(?<!\s)\s*[\r\n]\s*/g, ' ').trim())}\n`);
}

/**
 * Ends the process at the first uncaught error or unhandled rejection, under any NODE_OPTIONS. The log gets a
 * fatal record; without a log, standard error gets a line. The returned function restores Node's default.
 */
export function endOnFaults(log: Pick<Logger, 'fatal' | 'isLevelEnabled'>): () => void {
  function onFault(reason: unknown, origin: string): void {
    try {
      if (log.isLevelEnabled('fatal')) log.fatal({ err: reason, origin }, 'ended by an internal fault');
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
 * If standard output fails, standard error gets one line without a stack trace and the exit code is 1.
 * A reader that leaves early, as in `| head`, is not a failure.
 */
export function guardOutput(): void {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (!isEssential || code === 'EPIPE' || isTold) return;
    isTold = true;
    process.exitCode = 1;
    const reason = code === 'ENOSPC' ? 'no space is left on the device' : (code ?? message);
    writeError(`error: cannot write to standard output: ${reason}`);
  });
  // No stream is left for a report.
  process.stderr.on('error', () => {});
}

/** Ignores failures of standard output from now on. */
export function carryOnWithoutOutput(): void {
  isEssential = false;
}

/** Ends the process after at most UNREAD_MS_MAX, even if optional text was not read. */
export function endWithoutOutput(): void {
  if (!isEssential) setTimeout(() => process.exit(), UNREAD_MS_MAX).unref();
}

/** Whether an error is a failure of writing, which `guardOutput` reports. */
export function isWriteFailure(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'write';
}
