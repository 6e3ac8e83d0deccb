import type { Logger } from '../http/logger.js';
import { LOG_MESSAGES_MAX } from '../limits.js';
import { CELL } from '../metrics/cells.js';
import type { Meter } from '../metrics/meter.js';
import type { FromThread } from './thread-messages.js';

/**
 * The log of a serving thread: the main thread writes its lines. No more than LOG_MESSAGES_MAX are on their way at a time;
 * what comes then is dropped and counted, and the log says so with the next line that is not.
 *
 * @param logWaiting see {@link ServingTask}
 */
export function createThreadLog(
  tell: (message: FromThread) => void,
  logWaiting: SharedArrayBuffer,
  meter: Meter | null,
): Logger {
  const waiting = new Int32Array(logWaiting);
  let dropped = 0;

  function send(level: 'info' | 'warn' | 'error', fields: object, message: string): void {
    Atomics.add(waiting, 0, 1);
    try {
      tell({ kind: 'log', level, fields, message });
    } catch {
      // What cannot be cloned; an error among it matters most.
      const { err } = fields as { readonly err?: unknown };
      tell({ kind: 'log', level, fields: err instanceof Error ? { err: `${err.stack}` } : {}, message });
    }
  }

  const line =
    (level: 'info' | 'warn' | 'error') =>
    (fields: object, message: string): void => {
      if (Atomics.load(waiting, 0) >= LOG_MESSAGES_MAX) {
        dropped++;
        meter?.add(CELL.logLinesDropped);
        return;
      }
      if (dropped > 0) {
        const lines = dropped;
        dropped = 0;
        send('warn', { lines }, 'log lines of a thread were dropped, as nobody took them');
      }
      send(level, fields, message);
    };
  return { info: line('info'), warn: line('warn'), error: line('error') };
}
