/** A real nats-server in its own folder. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Why it is missing, or false. */
export const NATS_MISSING: string | false =
  spawnSync('nats-server', ['-v']).status === 0 ? false : 'nats-server is not installed';

export interface NatsServer {
  readonly port: number;
  readonly folder: string;
  address(bucket?: string): string;
  start(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export async function startNats(folder: string, more: readonly string[] = []): Promise<NatsServer> {
  const port = await freePort();
  let child: ChildProcess | null = null;
  const server: NatsServer = {
    port,
    folder,
    address: (bucket = 'timetable') => `nats://127.0.0.1:${port}/${bucket}`,
    async start() {
      const argv = ['-js', '-sd', folder, '-a', '127.0.0.1', '-p', String(port), ...more];
      child = spawn('nats-server', argv, { stdio: 'ignore' });
      for (let n = 0; n < 200 && !(await answers(port)); n++) await delay(50);
    },
    async stop(signal = 'SIGKILL') {
      const ending = child;
      child = null;
      if (ending === null || ending.exitCode !== null) return;
      ending.kill(signal);
      await once(ending, 'exit');
    },
  };
  await server.start();
  return server;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => resolve(true)).once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    setTimeout(() => socket.destroy(), 1000).unref();
  });
}
