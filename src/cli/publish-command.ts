import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { LecternError } from '../errors.js';
import type { ResolvedSettings } from '../options/option-types.js';
import { optionsOf, resolveSettings } from '../options/resolve.js';
import { sourceOf, withFieldMap } from '../options/source-of-settings.js';
import { shownAddress, storeAddress } from '../store/open-store.js';
import { publishTimetable } from '../timetable/publishing.js';
import { carryOnWithoutOutput, EXIT_FAILURE, endOnFaults, exitCodeOf } from './faults.js';
import { openStandardError } from './log-output.js';
import { listenForSignals } from './signals.js';

export interface PublishOptions {
  readonly to: string;
  readonly feedKey: string;
  /** Ends after one announcement. */
  readonly once: boolean;
}

/** Longest wait of `--once` for the announcement after the load, because another publisher may lead. */
const ONCE_MS_MAX = 30_000;

/** `lectern publish` resolves to the exit code after SIGINT or SIGTERM, or with `--once` after the announcement. */
export async function publish(given: ResolvedSettings, options: PublishOptions): Promise<number> {
  carryOnWithoutOutput();
  const output = openStandardError();
  const log = pino({ level: given.logLevel ?? 'info', base: null }, output);
  const signals = listenForSignals();
  const stopGuarding = endOnFaults(log);
  const timer = setInterval(() => {}, ONCE_MS_MAX);
  try {
    const settings = await withFieldMap(resolveSettings(given));
    const timetable = optionsOf('openTimetable', settings, {
      source: sourceOf(settings),
      gate: optionsOf('gate', settings),
    });
    const publishing = await publishTimetable(timetable, {
      to: options.to,
      keyFile: options.feedKey,
      admin: settings.adminPort === undefined ? undefined : optionsOf('admin', settings),
      log,
    });
    log.info(
      { to: shownAddress(storeAddress(options.to)), admin: publishing.adminAddress?.origin },
      'publishing',
    );
    const refresh = (signal: NodeJS.Signals): void =>
      void publishing.refresh(signal === 'SIGUSR2').catch(() => {});
    const refreshSignals = ['SIGHUP', 'SIGUSR2'] as const;
    for (const signal of refreshSignals) process.on(signal, refresh);
    try {
      const isDone = publishing.announced.then(() => 'announced' as const);
      const ended = await Promise.race([isDone, signals.first]);
      if (ended === 'announced' && !options.once) await signals.first;
    } finally {
      for (const signal of refreshSignals) process.off(signal, refresh);
      await Promise.race([publishing.close(), delay(ONCE_MS_MAX, undefined, { ref: false })]);
    }
    log.info({}, 'closed');
    return 0;
  } catch (error) {
    if (error instanceof LecternError)
      log.fatal({ code: error.code, reason: error.message }, 'cannot publish');
    else log.fatal({ err: error }, 'cannot publish');
    return error instanceof LecternError ? exitCodeOf(error) : EXIT_FAILURE;
  } finally {
    clearInterval(timer);
    signals.stop();
    stopGuarding();
    output.flushSync();
  }
}
