import { type Logger, pino } from 'pino';
import { valueOrDefault } from '../options/resolve.js';
import {
  LOG_FORMAT_DEFAULT,
  LOG_FORMAT_OF_TERMINALS,
  LOG_LEVEL_DEFAULT,
  LOG_LEVEL_OF_DEVELOPMENT,
} from '../options/serving-settings.js';
import { type LogOutput, openStandardError, prettyDestination } from './log-output.js';

/** The settings of the log, not yet checked. */
export interface LogSettings {
  readonly mode?: unknown;
  readonly accessLog?: unknown;
  readonly logLevel?: unknown;
  readonly logFormat?: unknown;
}

export interface OpenLog {
  readonly log: Logger & { readonly linesDropped: () => number };
  readonly output: LogOutput;
  readonly isDevelopment: boolean;
}

/** Opens the log before the settings are checked, because it reports their faults. Bad settings of the log count as missing. */
export async function openLog({ mode, accessLog, logLevel, logFormat }: LogSettings): Promise<OpenLog> {
  const isDevelopment = mode === 'development';
  // Development mode reports on standard output, so its log has only requests.
  const isQuiet = isDevelopment && !(Number(accessLog) > 0);
  const level = valueOrDefault('logLevel', logLevel, isQuiet ? LOG_LEVEL_OF_DEVELOPMENT : LOG_LEVEL_DEFAULT);
  const { isTTY } = process.stderr;
  const isForPeople = isDevelopment && isTTY;
  const format = valueOrDefault(
    'logFormat',
    logFormat,
    isForPeople ? LOG_FORMAT_OF_TERMINALS : LOG_FORMAT_DEFAULT,
  );
  const output = openStandardError();
  const isColoured = isTTY && process.stderr.hasColors();
  const destination = format === 'pretty' ? await prettyDestination(output, isColoured) : output;
  const log = Object.assign(pino({ level, base: null }, destination), { linesDropped: () => output.dropped });
  output.onResumed = (lines) =>
    log.warn({ lines }, 'log lines were dropped: standard error was not read in time');
  return { log, output, isDevelopment };
}
