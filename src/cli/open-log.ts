import { type Logger, pino } from 'pino';
import { valueOrDefault } from '../options/resolve.js';
import { LOG_LEVEL_DEFAULT, LOG_LEVEL_OF_DEVELOPMENT } from '../options/serving-settings.js';
import { type LogOutput, openStandardError } from './log-output.js';

/** The settings of the log, not yet checked. */
export interface LogSettings {
  readonly dev?: unknown;
  readonly accessLog?: unknown;
  readonly logLevel?: unknown;
}

export interface OpenLog {
  readonly log: Logger & { readonly linesDropped: () => number };
  readonly output: LogOutput;
  readonly isDevelopment: boolean;
}

/** Opens the log before the settings are checked, because it reports their faults. Bad settings of the log count as missing. */
export function openLog({ dev, accessLog, logLevel }: LogSettings): OpenLog {
  const isDevelopment = dev === true;
  // Development mode reports on standard output, so its log has only requests.
  const isQuiet = isDevelopment && !(Number(accessLog) > 0);
  const level = valueOrDefault('logLevel', logLevel, isQuiet ? LOG_LEVEL_OF_DEVELOPMENT : LOG_LEVEL_DEFAULT);
  const output = openStandardError();
  const log = Object.assign(pino({ level, base: null }, output), { linesDropped: () => output.dropped });
  output.onResumed = (lines) =>
    log.warn({ lines }, 'log lines were dropped: standard error was not read in time');
  return { log, output, isDevelopment };
}
