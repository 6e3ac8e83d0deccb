/** A real process as the source of a timetable, able to make every mistake of an upstream. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The upstream's behaviour for later requests. */
export interface Behaviour {
  readonly kind:
    | 'serve'
    | 'status'
    /** Takes the request and never answers. */
    | 'hang'
    /** Sends the head, and then single bytes with pauses. */
    | 'trickle'
    /** Sends half of the announced bytes, and closes. */
    | 'cut'
    /** The same without an announced length: only the missing last chunk shows the cut. */
    | 'cut-chunked'
    | 'refuse-connections';
  readonly status?: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Upstream {
  readonly url: string;
  behave(behaviour: Behaviour): Promise<void>;
  close(): void;
}

export async function startUpstream(): Promise<Upstream> {
  const child: ChildProcess = fork(fileURLToPath(new URL('./upstream-process.mjs', import.meta.url)), {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const next = (): Promise<{ port: number }> =>
    new Promise((resolve) => child.once('message', (message) => resolve(message as { port: number })));
  const { port } = await next();
  return {
    url: `http://127.0.0.1:${port}/schedule/all`,
    async behave(behaviour) {
      const done = next();
      child.send(behaviour);
      await done;
    },
    close: () => void child.kill('SIGKILL'),
  };
}
