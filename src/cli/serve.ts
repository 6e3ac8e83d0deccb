import { pino } from 'pino';
import type { LogLevel, ServeSettings } from '../options.js';
import { type Service, startService } from '../service.js';
import { createProgressLine } from './progress.js';
import { formatReady } from './ready.js';

/**
 * `lectern serve`: resolves to the exit code when the service has been closed by SIGINT or SIGTERM.
 *
 * @throws LecternError where the service cannot be set up, or its source not be loaded
 */
export async function serve(settings: ServeSettings): Promise<number> {
  // A person in development reads the text below; in production nobody may be looking but the log.
  const level: LogLevel = settings.logLevel ?? (settings.mode === 'development' ? 'warn' : 'info');
  const log = pino({ level, base: null }, pino.destination({ dest: 2, sync: true }));
  const progress = createProgressLine(process.stderr, String(settings.source));
  const stopped = nextSignal();

  const service = await startService(settings, { log, onProgress: progress.update });
  log.info({ address: service.address.origin, mode: service.mode }, 'listening');
  try {
    const outcome = await Promise.race([service.ready, stopped]);
    progress.clear();
    if (typeof outcome !== 'string') {
      process.stdout.write(formatReady(service, outcome, await service.example()));
    }
  } catch (error) {
    progress.clear();
    await service.close();
    throw error;
  }
  await closeOn(stopped, service, log);
  return 0;
}

async function closeOn(stopped: Promise<NodeJS.Signals>, service: Service, log: pino.Logger): Promise<void> {
  const signal = await stopped;
  log.info({ signal }, 'closing');
  await service.close();
  log.info({}, 'closed');
}

/** The first of the signals that ask for an end. Later ones find no handler, and so end the process at once. */
function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const signals = ['SIGINT', 'SIGTERM'] as const;
    const onSignal = (signal: NodeJS.Signals) => {
      for (const name of signals) process.off(name, onSignal);
      resolve(signal);
    };
    for (const name of signals) process.on(name, onSignal);
  });
}
