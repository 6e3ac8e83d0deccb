import { constants } from 'node:os';
import type { Logger } from '../http/logger.js';
import type { Timetable } from '../timetable/timetable.js';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

export interface SignalListener {
  /** Resolves when the first signal comes. */
  readonly first: Promise<NodeJS.Signals>;
  /** That signal; null while none has come. */
  readonly received: NodeJS.Signals | null;
  /** Gives the signals back to their default: to end the process. */
  stop(): void;
}

/** The first of the signals that ask for an end. A later one ends the process at once. */
export function listenForSignals(): SignalListener {
  let received: NodeJS.Signals | null = null;
  let resolve: (signal: NodeJS.Signals) => void;
  const first = new Promise<NodeJS.Signals>((resolveFirst) => {
    resolve = resolveFirst;
  });
  function onSignal(signal: NodeJS.Signals): void {
    stop();
    // Elsewhere no listener is better: the system ends the process whatever it is doing.
    if (isFirstProcess()) for (const name of SIGNALS) process.on(name, endBySignal);
    received = signal;
    resolve(signal);
  }
  function stop(): void {
    for (const name of SIGNALS) process.off(name, onSignal);
  }
  for (const name of SIGNALS) process.on(name, onSignal);
  return {
    first,
    get received() {
      return received;
    },
    stop,
  };
}

/** That of a container: the system does nothing to it for a signal that nobody listens for. */
function isFirstProcess(): boolean {
  return process.pid === 1;
}

/**
 * Ends the process at once, as a signal does that nobody listens for. The first process of a container has to exit by itself,
 * with the status that a shell gives for the same, 128 and the signal's number.
 */
export function endBySignal(signal: NodeJS.Signals): void {
  if (isFirstProcess()) process.exit(128 + constants.signals[signal]);
  process.kill(process.pid, signal);
}

/**
 * SIGHUP loads the source now; SIGUSR2 loads it and publishes whatever comes, past the gate.
 *
 * @param timetable null where there is none yet: it is about to be loaded anyway
 * @returns gives the signals back to their default
 */
export function refreshOnSignals(
  timetable: () => Pick<Timetable, 'refresh'> | null,
  log: Logger,
): () => void {
  const listeners = [
    { signal: 'SIGHUP', force: false },
    { signal: 'SIGUSR2', force: true },
  ].map(({ signal, force }) => {
    const listener = (): void => {
      log.info({ signal, force }, 'loading on request');
      timetable()
        ?.refresh({ force })
        .then(({ result, reason }) => log.info({ signal, result, reason }, 'load on request ended'))
        // It rejects while the service is being closed; then there is nothing to load.
        .catch(() => {});
    };
    process.on(signal, listener);
    return { signal, listener };
  });
  return () => {
    for (const { signal, listener } of listeners) process.off(signal, listener);
  };
}
