import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A process that answers each message with one of a kind. */
export class Program {
  #child;
  #waiting = null;
  #unread = [];

  static start(file, ...args) {
    const program = new Program();
    const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child.on('message', (message) => {
      if (program.#waiting?.kind === message.kind) program.#waiting.resolve(message);
      else program.#unread.push(message);
    });
    child.once('exit', (code) => program.#waiting?.reject(new Error(`${file} ended with ${code}`)));
    program.#child = child;
    return program;
  }

  /** @param message nothing is sent for null */
  ask(message, kind) {
    const known = this.#unread.findIndex((each) => each.kind === kind);
    if (known !== -1) return Promise.resolve(this.#unread.splice(known, 1)[0]);
    return new Promise((resolve, reject) => {
      this.#waiting = { kind, resolve, reject };
      if (message !== null) this.#child.send(message);
    });
  }

  async end() {
    this.#waiting = null;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}

/** A server that was started, and its port. */
export async function startServer(file, ...args) {
  const program = Program.start(file, ...args);
  const { port } = await program.ask(null, 'ready');
  return { port, program };
}

/** Processor time of the server per request, in microseconds, over one run. */
async function runOnce(load, server, run) {
  const before = await server.program.ask('usage', 'usage');
  const result = await load.ask({ run: { ...run, port: server.port } }, 'result');
  const after = await server.program.ask('usage', 'usage');
  if (result.failed > 0) throw new Error(`${result.failed} of ${result.requests} requests failed`);
  return {
    ...result,
    cpuMicros: (after.cpuMicros - before.cpuMicros) / result.requests,
    rssBytes: after.rssBytes,
  };
}

/**
 * Measures servers against each other: in every round each of them once, in turn, so that what else happens on the machine
 * happens to all of them. The first round only warms up.
 *
 * @returns for each server the runs of all rounds
 */
export async function interleave(
  load,
  servers,
  requests,
  { rounds, durationSeconds, connections, expect304 },
) {
  await load.ask({ requests }, 'taken');
  const runs = servers.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [s, server] of servers.entries()) {
      const result = await runOnce(load, server, { durationSeconds, connections, expect304 });
      if (round > 0) runs[s].push(result);
    }
  }
  return runs;
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
