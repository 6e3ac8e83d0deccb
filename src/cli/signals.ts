import { constants } from 'node:os';
import type { Logger } from '../http/logger.js';
import type { LoadOutcome } from '../refresh/keeper.js';

const END_SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** Signals that end a command, including the one for a closed terminal. */
export const COMMAND_SIGNALS: readonly NodeJS.Signals[] = [...END_SIGNALS, 'SIGHUP'];

/** Process 1 of a container receives only signals that it listens for. */
const IS_FIRST_PROCESS = process.pid === 1;

export interface SignalListener {
  readonly first: Promise<NodeJS.Signals>;
  /** The first signal; null if there was none. */
  received: NodeJS.Signals | null;
  stop(): void;
}

/** Listens for signals, by default SIGINT and SIGTERM. The second signal ends the process at once. */
export function listenForSignals(names: readonly NodeJS.Signals[] = END_SIGNALS): SignalListener {
  let onSignal = (_: NodeJS.Signals): void => {};
  const stop = (): void => {
    for (const name of names) process.off(name, onSignal);
  };
  const first = new Promise<NodeJS.Signals>((resolve) => {
    onSignal = (signal) => {
      stop();
      // Without a listener, the system ends any other process, even a busy one.
      if (IS_FIRST_PROCESS) for (const name of names) process.on(name, endBySignal);
      listener.received = signal;
      resolve(signal);
    };
  });
  for (const name of names) process.on(name, onSignal);
  const listener: SignalListener = { first, received: null, stop };
  return listener;
}

/** Ends the process in the default way of the signal. Process 1 exits with the status that shells use. */
export function endBySignal(signal: NodeJS.Signals): void {
  if (IS_FIRST_PROCESS) process.exit(128 + constants.signals[signal]);
  process.kill(process.pid, signal);
}

/**
 * SIGHUP loads the source now. SIGUSR2 also publishes it without the gate's checks. The returned function
 * restores the default. `load` returns undefined before the first load begins.
 */
export function refreshOnSignals(
  load: (force: boolean) => Promise<LoadOutcome> | undefined,
  log: Logger,
): () => void {
  const refresh = (signal: NodeJS.Signals): void => {
    const force = signal === 'SIGUSR2';
    log.info({ signal, force }, 'loading on request');
    load(force)
      ?.then(({ result, reason }) => log.info({ signal, result, reason }, 'load on request ended'))
      // The load rejects if the service is closing.
      .catch(() => {});
  };
  const signals = ['SIGHUP', 'SIGUSR2'];
  for (const signal of signals) process.on(signal, refresh);
  return () => {
    for (const signal of signals) process.off(signal, refresh);
  };
}
