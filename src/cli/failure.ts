import { writeSync } from 'node:fs';
import { LecternError } from '../errors.js';

/** Exit code of what went wrong while running. */
export const EXIT_FAILURE = 1;
/** Exit code of a command line that cannot be understood. */
export const EXIT_USAGE = 2;

/**
 * Says in one line on standard error what went wrong, and returns the exit code. A stack trace is printed only for
 * mistakes of the program itself.
 */
export function reportFailure(error: unknown): number {
  if (error instanceof LecternError) {
    writeError(`error: ${error.message}`);
    return error.code === 'option-invalid' ? EXIT_USAGE : EXIT_FAILURE;
  }
  writeSync(2, `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return EXIT_FAILURE;
}

/** One line on standard error, whatever the text; written before anything else happens. */
export function writeError(text: string): void {
  writeSync(2, `${text.replace(/\s*[\r\n]+\s*/g, ' ').trim()}\n`);
}
