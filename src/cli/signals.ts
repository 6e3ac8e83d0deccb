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
