/** A real nats-server in its own folder. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { on, once } from 'node:events';
import { mkdirSync } from 'node:fs';
import type { Readable } from 'node:stream';

/** Why it is missing, or false. */
export const NATS_MISSING: string | false =
  spawnSync('nats-server', ['-v']).status === 0 ? false : 'nats-server is not installed';

const LOG_LENGTH_MAX = 100_000;
/**
 * Below the ports of outgoing connections: otherwise a client that reconnects repeatedly could take the port of
 * a stopped server.
 */
const PORTS = { from: 10_000, count: 20_000 };

export interface NatsServer {
  readonly port: number;
  readonly folder: string;
  /** Process id, while it runs. */
  readonly pid: number | undefined;
  address(bucket?: string): string;
  start(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Sends a signal to the running server: SIGSTOP, SIGCONT. */
  signal(name: NodeJS.Signals): void;
}

/** The server keeps its port when it starts again. No two servers have the same: one of them could not listen. */
export async function startNats(folder: string, more: readonly string[] = []): Promise<NatsServer> {
  mkdirSync(folder, { recursive: true });
  let port = 0;
  let child: ChildProcess | null = null;
  const kill = (): void => void child?.kill('SIGKILL');
  // nats-server 2.9 panics now and then if a client reads a bucket that is just being made.
  const startAfterPanic = (started: ChildProcess): void => {
    let log = '';
    let panic: string | undefined;
    started.stderr?.on('data', (text: string) => {
      log = (log + text).slice(-LOG_LENGTH_MAX);
      panic ??= /^panic: .*$/m.exec(log)?.[0];
    });
    // Not `exit`, because the end of the log may come later.
    started.once('close', () => {
      if (started !== child || panic === undefined) return;
      process.stderr.write(`nats-server ended and is started again, as by a supervisor: ${panic}\n`);
      void server.start().catch(() => {});
    });
  };
  const server: NatsServer = {
    get port() {
      return port;
    },
    folder,
    get pid() {
      return child?.pid;
    },
    address: (bucket = 'timetable') => `nats://127.0.0.1:${port}/${bucket}`,
    async start() {
      const isFirst = port === 0;
      // Ends the server also when the test is ended from outside.
      process.off('exit', kill).once('exit', kill);
      do {
        if (isFirst) port = PORTS.from + Math.floor(Math.random() * PORTS.count);
        const argv = ['-js', '-sd', folder, '-a', '127.0.0.1', '-p', String(port), ...more];
        child = spawn('nats-server', argv, { stdio: ['ignore', 'ignore', 'pipe'] });
        startAfterPanic(child);
      } while (!(await isReady(child)) && isFirst);
    },
    async stop(signal = 'SIGKILL') {
      const ending = child;
      child = null;
      process.off('exit', kill);
      if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return;
      const ended = once(ending, 'exit');
      ending.kill(signal);
      await ended;
    },
    signal: (name) => void child?.kill(name),
  };
  await server.start();
  return server;
}

/** Waits until the server listens. Resolves to false if its port is taken. */
async function isReady(child: ChildProcess): Promise<boolean> {
  let log = '';
  child.stderr?.setEncoding('utf8');
  for await (const [text] of on(child.stderr as Readable, 'data', { close: ['close'] })) {
    log = (log + text).slice(-2000);
    if (log.includes('Server is ready')) return true;
    if (log.includes('address already in use')) return false;
  }
  throw new Error(`nats-server did not start: ${log}`);
}
