import type { Logger } from '../http/logger.js';
import type { Timetable } from '../timetable.js';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

export interface SignalListener {
  /** Resolves when the first signal comes. */
  readonly first: Promise<NodeJS.Signals>;
  /** Gives the signals back to their default: to end the process. */
  stop(): void;
}

/** The first of the signals that ask for an end. Later ones find no handler, and so end the process at once. */
export function listenForSignals(): SignalListener {
  let resolve: (signal: NodeJS.Signals) => void;
  const first = new Promise<NodeJS.Signals>((resolveFirst) => {
    resolve = resolveFirst;
  });
  function onSignal(signal: NodeJS.Signals): void {
    stop();
    resolve(signal);
  }
  function stop(): void {
    for (const name of SIGNALS) process.off(name, onSignal);
  }
  for (const name of SIGNALS) process.on(name, onSignal);
  return { first, stop };
}

/**
 * SIGHUP loads the source now; SIGUSR2 loads it and publishes whatever comes, past the gate.
 *
 * @returns gives the signals back to their default
 */
export function refreshOnSignals(timetable: Pick<Timetable, 'refresh'>, log: Logger): () => void {
  const listeners = [
    { signal: 'SIGHUP', force: false },
    { signal: 'SIGUSR2', force: true },
  ].map(({ signal, force }) => {
    const listener = (): void => {
      log.info({ signal, force }, 'loading on request');
      void timetable.refresh({ force });
    };
    process.on(signal, listener);
    return { signal, listener };
  });
  return () => {
    for (const { signal, listener } of listeners) process.off(signal, listener);
  };
}
