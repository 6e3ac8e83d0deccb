import { LecternError, type LecternErrorCode } from '../errors.js';

/** Exit code of what went wrong while running. */
export const EXIT_FAILURE = 1;
/** Exit code of a command line that cannot be understood. */
export const EXIT_USAGE = 2;

/** What the person at the keyboard wrote, as against what the world is like. */
const USAGE_CODES: readonly LecternErrorCode[] = ['option-invalid', 'parameters-invalid'];

export function exitCodeOf({ code }: LecternError): number {
  return USAGE_CODES.includes(code) ? EXIT_USAGE : EXIT_FAILURE;
}

/**
 * Says in one line on standard error what went wrong, and returns the exit code. A stack trace is printed only for
 * mistakes of the program itself.
 */
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
