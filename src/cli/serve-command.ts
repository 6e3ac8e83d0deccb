import { setTimeout as delay } from 'node:timers/promises';
import { type Logger, pino } from 'pino';
import { LecternError } from '../errors.js';
import type { ResolvedSettings } from '../options/option-types.js';
import { type Service, startService } from '../service.js';
import { endOnFaults } from './faults.js';
import { type LogOutput, openStandardError } from './log-output.js';
import { carryOnWithoutOutput } from './output.js';
import { createProgressLine } from './progress.js';
import { formatReady, readyFields } from './ready.js';
import { describeRejections } from './rejections.js';
import { tellReloads } from './reloads.js';
import { EXIT_FAILURE, exitCodeOf, writeError } from './report-failure.js';
import { endBySignal, listenForSignals, refreshOnSignals, type SignalListener } from './signals.js';
import { unknownVariables } from './variables.js';

/** How long a start that was called off may take to end; a read that nobody answers cannot be called off. */
const CALLED_OFF_MS_MAX = 1000;

/**
 * `lectern serve`: resolves to the exit code when the service has been closed by SIGINT or SIGTERM, or could not be
 * started in production, where the log says why.
 *
 * @throws LecternError in development, where the service cannot be set up, or its source not be loaded
 */
export async function serve(settings: ResolvedSettings): Promise<number> {
  carryOnWithoutOutput();
  const isDevelopment = settings.mode === 'development';
  // A person in development reads the text below; in production nobody may be looking but the log. Who asks for requests in
  // the log is to see them.
  const isQuiet = isDevelopment && settings.accessLog === 0;
  const level = settings.logLevel ?? (isQuiet ? 'warn' : 'info');
  const output = openStandardError();
  const format = settings.logFormat ?? (isDevelopment && process.stderr.isTTY ? 'pretty' : 'json');
  const destination = format === 'pretty' ? await prettyLogOn(output) : output;
  const log = Object.assign(pino({ level, base: null }, destination), { linesDropped: () => output.dropped });
  output.onResumed = (lines) => log.warn({ lines }, 'log lines were dropped, as nobody took them');
  for (const reason of unknownVariables(process.env, settings)) {
    if (isDevelopment) writeError(`warning: ${reason}`);
    else log.warn({ reason }, 'unknown variable');
  }
  const signals = listenForSignals();
  const stopGuarding = endOnFaults(log);
  try {
    return await serveUntilSignal(settings, signals, log);
  } catch (error) {
    // A log that is switched off must not hide why there is no service.
    if (isDevelopment || level === 'silent') throw error;
    if (error instanceof LecternError) log.fatal({ code: error.code, reason: error.message }, 'cannot serve');
    else log.fatal({ err: error }, 'cannot serve');
    return error instanceof LecternError ? exitCodeOf(error) : EXIT_FAILURE;
  } finally {
    signals.stop();
    stopGuarding();
    output.flushSync();
  }
}

/** Loads what only people at a terminal need. Colours, unless NO_COLOR or the like says otherwise. */
async function prettyLogOn(output: LogOutput): Promise<Pick<LogOutput, 'write' | 'flushSync'>> {
  const { prettyDestination } = await import('./pretty-log.js');
  return prettyDestination(output, process.stderr.isTTY === true && process.stderr.hasColors());
}

async function serveUntilSignal(
  settings: ResolvedSettings,
  signals: SignalListener,
  log: Logger,
): Promise<number> {
  const progress = createProgressLine(process.stderr, [settings.source].flat().join(', '));
  let service: Service | null = null;
  let isReady = false;
  // Before the service is there: a SIGHUP must not end the process just because it came early.
  const stopRefreshing = refreshOnSignals(() => service?.timetable ?? null, log);
  try {
    const starting = startService(settings, { log, onProgress: progress.update });
    const started = await Promise.race([starting, signals.first]);
    if (typeof started === 'string') {
      log.info({ signal: started }, 'closing');
      await callOff(
        starting.then((late) => late.close()),
        started,
        signals,
      );
      return 0;
    }
    service = started;
    const { address, adminAddress, mode, workers } = service;
    const admin = adminAddress === null ? {} : { admin: adminAddress.origin };
    log.info({ address: address.origin, ...admin, mode, workers }, 'listening');
    warnOfOpenDoor(service);
    warnOfEnd(settings, log);
    const outcome = await Promise.race([service.ready, signals.first]);
    progress.clear();
    if (typeof outcome !== 'string') {
      isReady = true;
      if (mode === 'development') {
        const example = await service.example();
        process.stdout.write(formatReady(service, outcome, example, settings.adminTokenFile !== undefined));
        tellReloads(service.timetable, settings.refreshSeconds > 0, (line) => process.stdout.write(line));
      } else {
        const reasons = describeRejections(outcome);
        if (reasons.length > 0) log.warn({ reasons }, 'records were left out');
        log.info(readyFields(service, outcome), 'ready');
      }
    }
    const signal = await signals.first;
    const { drainSeconds } = settings;
    log.info({ signal, drainSeconds }, 'closing');
    // What never was ready has been asked for nothing.
    if (isReady && drainSeconds > 0) {
      service.drain();
      await delay(drainSeconds * 1000);
    }
  } finally {
    progress.clear();
    if (service !== null) {
      const closing = service.close();
      // What was served may have answers in flight and an image half written; what never was has nothing to finish.
      const signal = signals.received;
      await (isReady || signal === null ? closing : callOff(closing, signal, signals));
    }
    stopRefreshing();
  }
  log.info({}, 'closed');
  return 0;
}

/**
 * Waits a little for the end of what was called off, and otherwise lets the signal end the process as if nobody had
 * listened for it. Not `process.exit`, which waits for every read under way, where there is anything else.
 */
async function callOff(
  ending: Promise<void>,
  signal: NodeJS.Signals,
  signals: SignalListener,
): Promise<void> {
  const waiting = new AbortController();
  const tooLong = delay(CALLED_OFF_MS_MAX, true, { signal: waiting.signal }).catch(() => false);
  const hangs = await Promise.race([
    tooLong,
    ending.then(
      () => false,
      () => false,
    ),
  ]);
  waiting.abort();
  if (!hangs) return;
  signals.stop();
  endBySignal(signal);
}

/** Says where the timetable becomes too old to be served although nothing is wrong with it. */
function warnOfEnd({ mode, staleSecondsMax, refreshSeconds, pin }: ResolvedSettings, log: Logger): void {
  if (staleSecondsMax === undefined || refreshSeconds > 0 || pin !== undefined) return;
  const reason =
    '--stale-seconds-max without --refresh-seconds: a source that stays as it is is not asked again, so all answers become 503 after that time, until SIGHUP or POST /refresh';
  if (mode === 'development') writeError(`warning: ${reason}`);
  else log.warn({ reason }, 'answers will end');
}

/** In development anybody gets a token; beyond this machine that is seldom meant. */
function warnOfOpenDoor({ mode, address }: Service): void {
  if (mode !== 'development' || /^(?:127\.|::1$|::ffff:127\.)/i.test(address.host)) return;
  writeError(
    `warning: development mode on ${address.origin}: anybody who can reach this address gets a token; ` +
      'expected --host 127.0.0.1, or production mode',
  );
}
