import { pino } from 'pino';
import type { LogLevel, ServeSettings } from '../options.js';
import { startService } from '../service.js';
import { createProgressLine } from './progress.js';
import { formatReady } from './ready.js';
import { listenForSignals, refreshOnSignals } from './signals.js';

/**
 * `lectern serve`: resolves to the exit code when the service has been closed by SIGINT or SIGTERM.
 *
 * @throws LecternError where the service cannot be set up, or its source not be loaded
 */
export async function serve(settings: ServeSettings): Promise<number> {
  // A person in development reads the text below; in production nobody may be looking but the log.
  const level: LogLevel = settings.logLevel ?? (settings.mode === 'development' ? 'warn' : 'info');
  const log = pino({ level, base: null }, pino.destination({ dest: 2, sync: true }));
  const progress = createProgressLine(process.stderr, [settings.source].flat().join(', '));
  const signals = listenForSignals();
  try {
    const service = await startService(settings, { log, onProgress: progress.update });
    log.info({ address: service.address.origin, mode: service.mode }, 'listening');
    const stopRefreshing = refreshOnSignals(service.timetable, log);
    try {
      const outcome = await Promise.race([service.ready, signals.first]);
      progress.clear();
      if (typeof outcome !== 'string') {
        process.stdout.write(formatReady(service, outcome, await service.example()));
      }
      log.info({ signal: await signals.first }, 'closing');
    } finally {
      progress.clear();
      stopRefreshing();
      await service.close();
    }
    log.info({}, 'closed');
    return 0;
  } finally {
    signals.stop();
  }
}
