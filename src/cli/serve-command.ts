import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Service, startService } from '../app/service.js';
import type { ResolvedSettings, ServiceOptions } from '../options/option-types.js';
import { resolveSettings, warningsOf } from '../options/resolve.js';
import type { SnapshotSummary } from '../snapshot/summary.js';
import { adviceOnSecrets, redactAddress, secretParameters } from '../source/http/call.js';
import { hidePassword } from '../source/postgres/postgres-address.js';
import { shownAddress } from '../store/store-address.js';
import { carryOnWithoutOutput, endOnFaults, logFailure, writeError } from './faults.js';
import { openLog } from './open-log.js';
import { writeOut } from './printable.js';
import { formatReady, tellReloads, unknownVariables } from './serve-messages.js';
import { endBySignal, listenForSignals, refreshOnSignals, type SignalListener } from './signals.js';
import { createProgressLine, describeRejections } from './wording.js';

/** Longest wait for an aborted start. Some reads cannot be aborted. */
const CALLED_OFF_MS_MAX = 1000;

/**
 * `lectern serve` resolves to the exit code after SIGINT or SIGTERM. Production logs why it cannot start;
 * development throws the error.
 */
export async function serve(given: ServiceOptions): Promise<number> {
  carryOnWithoutOutput();
  const { log, output, isDevelopment } = openLog(given);
  for (const reason of unknownVariables(process.env, given)) {
    warn(given, log, 'unknown variable', reason);
  }
  const signals = listenForSignals();
  const stopGuarding = endOnFaults(log);
  try {
    return await serveUntilSignal(resolveSettings(given), signals, log);
  } catch (error) {
    // A silent log must not hide the reason.
    if (isDevelopment || log.level === 'silent') throw error;
    return logFailure(log, error, 'cannot serve');
  } finally {
    signals.stop();
    stopGuarding();
    output.flushSync();
  }
}

async function serveUntilSignal(
  settings: ResolvedSettings,
  signals: SignalListener,
  log: Logger,
): Promise<number> {
  const sources = [settings.source].flat().map(String);
  const shown = sources.map((each) => {
    const isAddress = /^(?:https?|webcals?):/i.test(each) && URL.canParse(each);
    return isAddress ? redactAddress(new URL(each)) : hidePassword(shownAddress(each));
  });
  const secrets = sources.flatMap(secretParameters);
  if (secrets.length > 0) warn(settings, log, 'an address holds a secret', adviceOnSecrets(secrets));
  const progress = createProgressLine(shown.join(', '));
  let service: Service | null = null;
  let isReady = false;
  // Registered first, because an early SIGHUP must not end the process.
  const stopRefreshing = refreshOnSignals((force) => service?.timetable.refresh({ force }), log);
  try {
    const starting = startService(settings, { log, onProgress: progress.update });
    const started = await Promise.race([starting, signals.first]);
    if (typeof started === 'string') {
      log.info({ signal: started }, 'closing');
      const closing = starting.then((late) => late.close());
      await callOff(closing, started);
      log.info({}, 'closed');
      return 0;
    }
    service = started;
    const { address, adminAddress, dev, workers } = service;
    log.info({ address: address.origin, admin: adminAddress?.origin, dev, workers }, 'listening');
    warnOfOpenLogin(service);
    if (settings.unsigned) {
      const reason = 'with --unsigned, every account that can write to the folder decides what is served';
      warn(settings, log, 'announcements are not signed', reason);
    }
    for (const reason of warningsOf(settings)) warn(settings, log, 'answers will become 503', reason);
    const outcome = await Promise.race([service.ready, signals.first]);
    progress.clear();
    if (typeof outcome !== 'string') {
      isReady = true;
      await announce(service, outcome, settings, log);
    }
    const signal = await signals.first;
    const { drainSeconds } = settings;
    log.info({ signal, drainSeconds }, 'closing');
    if (isReady && drainSeconds > 0) {
      service.drain();
      await delay(drainSeconds * 1000);
    }
  } finally {
    progress.clear();
    if (service !== null) {
      const closing = service.close();
      // Before it is ready, the service has no unfinished answers and no unfinished snapshot file.
      const signal = signals.received;
      await (isReady || signal === null ? closing : callOff(closing, signal));
    }
    stopRefreshing();
  }
  log.info({}, 'closed');
  return 0;
}

async function announce(
  service: Service,
  summary: SnapshotSummary,
  { adminTokenFile }: ResolvedSettings,
  log: Logger,
): Promise<void> {
  const { dev, isRegular, timetable, workers } = service;
  if (dev) {
    const example = await service.example();
    writeOut(formatReady(service, summary, example, adminTokenFile !== undefined));
    tellReloads(timetable, isRegular, (line) => writeOut(line));
    return;
  }
  const reasons = describeRejections(summary);
  if (reasons.length > 0) log.warn({ reasons }, 'records were left out');
  const { events, rejected, buildMs, bytes } = summary;
  const addresses = { url: service.baseUrl, admin: service.adminAddress?.origin };
  const from = { source: timetable.source.name, origin: timetable.publication?.origin };
  log.info({ ...addresses, dev, workers, ...from, events, rejected, buildMs, bytes }, 'ready');
}

/** After CALLED_OFF_MS_MAX the signal ends the process. `process.exit` would wait for all reads. */
async function callOff(ending: Promise<void>, signal: NodeJS.Signals): Promise<void> {
  const timer = setTimeout(() => endBySignal(signal), CALLED_OFF_MS_MAX);
  await ending.catch(() => {});
  clearTimeout(timer);
}

function warn({ dev }: ServiceOptions, log: Logger, message: string, reason: string): void {
  if (dev === true) writeError(`warning: ${reason}`);
  else log.warn({ reason }, message);
}

/** Development mode gives a token to every client, even from other machines. */
function warnOfOpenLogin({ dev, address }: Service): void {
  if (!dev || /^(?:127\.|::1$|::ffff:127\.)/i.test(address.host)) return;
  writeError(
    `warning: development mode on ${address.origin}: anyone who can reach this address gets a token; ` +
      'use --host 127.0.0.1 or production mode',
  );
}
