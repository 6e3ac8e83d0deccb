/** A process of Lectern that can be killed, stopped and started again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { SECRET } from '../../auth/tokens.js';
import { until as untilSeen } from '../../waiting/until.js';

const CLI = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

export interface Conditions {
  /** Error of its clock, in milliseconds. */
  readonly clockMs?: number;
  /** Longest file that it can write, in units of 512 bytes. */
  readonly fileBlocksMax?: number;
}

export class Machine {
  readonly name: string;
  readonly #argv: readonly string[];
  #child: ChildProcess | null = null;
  #isStopped = false;
  /** Where it listens; 0 for none. */
  port = 0;
  /** The admin listener; 0 for none. */
  adminPort = 0;
  /** The last lines of its log. */
  log = '';
  /** Receives each line of its log. */
  onLine: (line: string) => void = () => {};

  constructor(name: string, argv: readonly string[]) {
    this.name = name;
    this.#argv = argv;
    // Ends the process also when the test is ended from outside.
    process.once('exit', () => this.#child?.kill('SIGKILL'));
  }

  get isRunning(): boolean {
    return this.#child !== null && !this.#isStopped;
  }

  /** Resolves once its log has this text. */
  async start(until: string, { clockMs = 0, fileBlocksMax }: Conditions = {}): Promise<void> {
    // Threads get the same clock, because they do not take the arguments of the process.
    const shift = `
      import { syncBuiltinESMExports } from 'node:module';
      import threads from 'node:worker_threads';
      const now = Date.now;
      Date.now = () => now() + ${clockMs};
      const { Worker } = threads;
      threads.Worker = class extends Worker {
        constructor(file, options = {}) {
          super(file, { ...options, execArgv: [...(options.execArgv ?? []), '--import', import.meta.url] });
        }
      };
      syncBuiltinESMExports();`;
    const shifted = clockMs === 0 ? [] : ['--import', `data:text/javascript,${encodeURIComponent(shift)}`];
    const argv = [...shifted, CLI, ...this.#argv];
    const env = { ...process.env, LECTERN_HS256_SECRET: SECRET, LECTERN_LOG_LEVEL: 'info' };
    const shell = `ulimit -f ${fileBlocksMax}; exec "$@"`;
    const [command, ...args] =
      fileBlocksMax === undefined
        ? [process.execPath, ...argv]
        : ['sh', '-c', shell, 'sh', process.execPath, ...argv];
    const child = spawn(command ?? '', args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    this.log = '';
    this.port = 0;
    this.adminPort = 0;
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => this.#heard(text));
    await untilSeen(
      () => {
        if (child.exitCode !== null) throw new Error(`${this.name} did not start: ${this.log}`);
        return this.log;
      },
      (log) => log.includes(until),
    );
  }

  /** Ends it, and waits until it has ended. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    if (this.#isStopped) child.kill('SIGCONT');
    this.#isStopped = false;
    child.kill(signal);
    await ended;
  }

  /** Loads at once, without the gate. */
  force(): void {
    this.#child?.kill('SIGUSR2');
  }

  stop(): void {
    this.#isStopped = true;
    this.#child?.kill('SIGSTOP');
  }

  goOn(): void {
    this.#child?.kill('SIGCONT');
    this.#isStopped = false;
  }

  #heard(text: string): void {
    this.log = (this.log + text).slice(-20_000);
    const port = /"address":"http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1];
    if (port !== undefined) this.port = Number(port);
    const adminPort = /"admin":"http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1];
    if (adminPort !== undefined) this.adminPort = Number(adminPort);
    for (const line of text.split('\n')) this.onLine(line);
  }
}
