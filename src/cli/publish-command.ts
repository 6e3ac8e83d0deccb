import { setTimeout as delay } from 'node:timers/promises';
import { type Publishing, publishTimetable } from '../app/publishing.js';
import { LecternError } from '../base/errors.js';
import { optionsOf, resolvePublisher } from '../options/resolve.js';
import { sourceOf } from '../options/source-of-settings.js';
import { shownAddress, storeAddress } from '../store/store-address.js';
import { carryOnWithoutOutput, endOnFaults, logFailure } from './faults.js';
import { openLog } from './open-log.js';
import { unknownVariables } from './serve-messages.js';
import { listenForSignals, refreshOnSignals } from './signals.js';

/** Longest wait of `--once` for the announcement after the load, because another publisher may lead. */
const ONCE_MS_MAX = 15_000;

/** `lectern publish` resolves to the exit code after SIGINT or SIGTERM, or with `--once` after the announcement. */
export async function publish(given: Readonly<Record<string, unknown>>): Promise<number> {
  carryOnWithoutOutput();
  const { log, output } = openLog(given);
  const variables = unknownVariables(process.env, given);
  for (const reason of variables) log.warn({ reason }, 'unknown variable');
  const signals = listenForSignals();
  const stopGuarding = endOnFaults(log);
  const timer = setInterval(() => {}, ONCE_MS_MAX);
  let publishing: Publishing | null = null;
  // Registered first, because an early SIGHUP must not end the process.
  const stopRefreshing = refreshOnSignals((force) => publishing?.refresh(force), log);
  try {
    const settings = resolvePublisher(given);
    const timetable = optionsOf('openTimetable', settings, {
      ...sourceOf(settings),
      gate: optionsOf('gate', settings),
    });
    const { once } = settings;
    const store = shownAddress(storeAddress(settings.publishTo));
    const admin = settings.adminPort === undefined ? undefined : optionsOf('admin', settings);
    publishing = await publishTimetable(timetable, optionsOf('publish', settings, { admin, log }));
    log.info({ to: store, admin: publishing.adminAddress?.origin }, 'publishing');
    try {
      const isDone = publishing.announced.then(() => 'announced' as const);
      const isLate = once ? lateAfter(publishing.loaded, store) : [];
      const ended = await Promise.race([isDone, signals.first, ...isLate]);
      if (ended === 'announced' && !once) await signals.first;
    } finally {
      await Promise.race([publishing.close(), delay(ONCE_MS_MAX, undefined, { ref: false })]);
    }
    log.info({}, 'closed');
    return 0;
  } catch (error) {
    // A silent log must not hide the reason.
    if (log.level === 'silent') throw error;
    return logFailure(log, error, 'cannot publish');
  } finally {
    clearInterval(timer);
    stopRefreshing();
    signals.stop();
    stopGuarding();
    output.flushSync();
  }
}

/** Rejects when a loaded timetable was not announced in time. */
function lateAfter(loaded: Promise<void>, store: string): readonly Promise<never>[] {
  const late = loaded.then(async (): Promise<never> => {
    await delay(ONCE_MS_MAX, undefined, { ref: false });
    const problem = `the timetable was not announced in the store ${store} within ${ONCE_MS_MAX / 1000} s of the load`;
    const remedy =
      'the log says why; if another publisher leads, stop that publisher, or let it load this source';
    throw new LecternError('announcement-refused', `${problem}; ${remedy}`);
  });
  late.catch(() => {});
  return [late];
}
