import { constants } from 'node:os';
import type { Logger } from '../http/logger.js';
import type { Timetable } from '../timetable/timetable.js';

const END_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** The process that runs as number 1 of a container. The system ignores signals that it does not listen for. */
const IS_FIRST_PROCESS = process.pid === 1;

export interface SignalListener {
  /** Resolves when the first signal comes. */
  readonly first: Promise<NodeJS.Signals>;
  /** That signal; null while none has come. */
  received: NodeJS.Signals | null;
  /** Restores the default: signals end the process. */
  stop(): void;
}

/** The first of the signals that ask for an end. A later one ends the process at once. */
export function listenForSignals(): SignalListener {
  let onSignal = (_: NodeJS.Signals): void => {};
  const stop = (): void => {
    for (const name of END_SIGNALS) process.off(name, onSignal);
  };
  const first = new Promise<NodeJS.Signals>((resolve) => {
    onSignal = (signal) => {
      stop();
      // Elsewhere no listener is better: the system ends the process whatever it is doing.
      if (IS_FIRST_PROCESS) for (const name of END_SIGNALS) process.on(name, endBySignal);
      listener.received = signal;
      resolve(signal);
    };
  });
  for (const name of END_SIGNALS) process.on(name, onSignal);
  const listener: SignalListener = { first, received: null, stop };
  return listener;
}

/** Ends the process at once, as the signal's default does. The first process has to exit with a shell's status for it. */
export function endBySignal(signal: NodeJS.Signals): void {
  if (IS_FIRST_PROCESS) process.exit(128 + constants.signals[signal]);
  process.kill(process.pid, signal);
}

/**
 * SIGHUP loads the source now; SIGUSR2 loads it and publishes whatever comes, past the gate.
 *
 * @param timetable null while there is none: it is about to be loaded anyway
 * @returns restores the default
 */
export function refreshOnSignals(timetable: () => Timetable | null, log: Logger): () => void {
  const refresh = (signal: NodeJS.Signals): void => {
    const force = signal === 'SIGUSR2';
    log.info({ signal, force }, 'loading on request');
    timetable()
      ?.refresh({ force })
      .then(({ result, reason }) => log.info({ signal, result, reason }, 'load on request ended'))
      // It rejects while the service is being closed; then there is nothing to load.
      .catch(() => {});
  };
  const signals = ['SIGHUP', 'SIGUSR2'];
  for (const signal of signals) process.on(signal, refresh);
  return () => {
    for (const signal of signals) process.off(signal, refresh);
  };
}
