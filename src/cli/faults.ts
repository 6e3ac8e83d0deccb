import type { Logger } from 'pino';
import { EXIT_FAILURE, reportFailure } from './report-failure.js';

/**
 * An error that nobody caught, or a rejection that nobody handled, ends the process at once, whatever NODE_OPTIONS says: what
 * it has left undone is not known. The log has it as a fatal record; where the log is off, standard error has it.
 *
 * @returns gives both back to their default
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
