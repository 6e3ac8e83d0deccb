/** Log records as lines for people. Importing this loads pino-pretty, which takes 70 ms: only a log for people needs it. */
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
