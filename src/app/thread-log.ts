import { LOG_MESSAGES_MAX } from '../base/limits.js';
import { CELL } from '../base/metrics/cells.js';
import type { Meter } from '../base/metrics/meter.js';
import type { Logger } from '../http/logger.js';
import type { FromThread } from './thread-messages.js';

type Level = 'info' | 'warn' | 'error';

/**
 * The log of a serving thread: the main thread writes its lines. At most LOG_MESSAGES_MAX are in transit; further
 * lines are dropped. A line that says how many were dropped precedes the next line that is sent.
 */
export function createThreadLog(
  tell: (message: FromThread) => void,
  logWaiting: SharedArrayBuffer,
  meter: Meter | null,
): Logger {
  const waiting = new Int32Array(logWaiting);
  let dropped = 0;

  function send(level: Level, fields: object, message: string): void {
    Atomics.add(waiting, 0, 1);
    try {
      tell({ kind: 'log', level, fields, message });
    } catch {
      // A field cannot be cloned. Of all fields, only an error is kept, because it matters most.
      const { err } = fields as { readonly err?: unknown };
      tell({ kind: 'log', level, fields: err instanceof Error ? { err: `${err.stack}` } : {}, message });
    }
  }

  function line(level: Level, fields: object, message: string): void {
    if (Atomics.load(waiting, 0) >= LOG_MESSAGES_MAX) {
      dropped++;
      meter?.add(CELL.logLinesDropped);
      return;
    }
    const lines = dropped;
    dropped = 0;
    if (lines > 0) {
      const message = 'log lines of a thread were dropped: too many waited for the main thread';
      send('warn', { lines }, message);
    }
    send(level, fields, message);
  }

  return {
    info: (fields, message) => line('info', fields, message),
    warn: (fields, message) => line('warn', fields, message),
    error: (fields, message) => line('error', fields, message),
  };
}
