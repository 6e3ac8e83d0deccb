/** Log records as lines for people. Whoever imports this loads pino-pretty: 70 ms that a log in JSON has no use for. */
import prettyLog from 'pino-pretty';
import type { LogOutput } from './log-output.js';

/**
 * Where pino writes its records, one JSON object each; the output gets `12:03:04 INFO: ready {…}`, in local time.
 *
 * @param isColoured only for a terminal: colours are control characters
 */
export function prettyDestination(
  output: Pick<LogOutput, 'write' | 'flushSync'>,
  isColoured: boolean,
): Pick<LogOutput, 'write' | 'flushSync'> {
  const format = prettyLog.prettyFactory({
    colorize: isColoured,
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss',
    // Without the brackets that are usual.
    customPrettifiers: { time: String },
  });
  return {
    // Those that JSON writes as escapes pino-pretty takes out itself.
    write: (record) => output.write(format(record.replace(/\p{Cc}/gu, ''))),
    flushSync: () => output.flushSync(),
  };
}
