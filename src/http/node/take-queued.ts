import type { Server } from 'node:net';

/** How long it goes on: node takes one connection in each turn of the event loop. */
const TAKE_MS_MAX = 1000;

/** What node keeps of a socket that listens. */
interface ListeningHandle {
  listen(backlog: number): number;
}

/**
 * To be awaited right before a port is closed: what the system has accepted and the server has not taken yet would be reset
 * with it. The system is told to accept one connection at most before it is taken, and this resolves behind a turn of the
 * event loop in which there was none. Who comes meanwhile tries again after a second, as TCP has it, and is refused.
 *
 * @param accepted connections that the server has taken so far
 */
export async function takeQueued(server: Server, accepted: () => number): Promise<void> {
  const { _handle: handle } = server as unknown as { readonly _handle?: Partial<ListeningHandle> | null };
  // What server.listen() calls with its backlog, and what the system lets be called again.
  handle?.listen?.(0);
  const untilMs = performance.now() + TAKE_MS_MAX;
  let before = -1;
  for (let turn = 0; accepted() !== before && performance.now() < untilMs; turn++) {
    // The first turn may have begun before.
    if (turn > 0) before = accepted();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
