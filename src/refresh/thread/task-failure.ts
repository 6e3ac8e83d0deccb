import { LecternError } from '../../base/errors.js';
import type { Failed } from './task-messages.js';

/** An error as plain data that crosses threads. */
export function taskFailureOf(error: unknown): Omit<Failed, 'kind'> {
  if (error instanceof LecternError) {
    const { code, message, retryAfterMs } = error;
    return { code, message, retryAfterMs };
  }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: null, message, retryAfterMs: null };
}

export function errorOf({ code, message, retryAfterMs }: Omit<Failed, 'kind'>): Error {
  return code === null ? new Error(message) : new LecternError(code, message, { retryAfterMs });
}
