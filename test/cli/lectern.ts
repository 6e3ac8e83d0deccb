import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

export const ROOT: string = fileURLToPath(new URL('../..', import.meta.url));

export interface Outcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The log line of `lectern serve` in production when it is ready. */
export interface ReadyRecord {
  readonly url: string;
  readonly admin?: string;
  readonly workers: number;
  readonly events: number;
}

export interface Running {
  readonly child: ChildProcess;
  /** Resolves when the process has ended. */
  readonly ended: Promise<Outcome>;
  /** Resolves to standard output once it contains the text; rejects if the process ends first. */
  printed(text: string): Promise<string>;
  /** The log record that the service is ready, in production; rejects if the process ends first. */
  ready(): Promise<ReadyRecord>;
}

/** Compiled tests, as in `npm test`, use the build; a single test run from source needs none. */
export const CLI: readonly string[] = import.meta.url.endsWith('.js')
  ? ['dist/cli.js']
  : ['--import', 'tsx', 'src/cli.ts'];

/** Starts the command line with only the given LECTERN_ variables. */
export function start(argv: readonly string[], env?: Readonly<Record<string, string>>): Running {
  return spawnNode([...CLI, ...argv], env);
}

/** Does the same for any TypeScript file. */
export function startNode(argv: readonly string[], env?: Readonly<Record<string, string>>): Running {
  return spawnNode(['--import', 'tsx', ...argv], env);
}

function spawnNode(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('LECTERN_'));
  const child = spawn(process.execPath, argv, {
    cwd: ROOT,
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<Outcome>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  const until = <T>(stream: Readable, what: string, look: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const check = () => {
        const found = look();
        if (found !== undefined) resolve(found);
      };
      check();
      stream.on('data', check);
      void ended.then((outcome) => reject(new Error(`ended before ${what}: ${JSON.stringify(outcome)}`)));
    });
  return {
    child,
    ended,
    printed: (text) => until(child.stdout, `"${text}"`, () => (stdout.includes(text) ? stdout : undefined)),
    ready: () =>
      until(child.stderr, 'it was ready', () => {
        const line = stderr.split('\n').find((each) => each.endsWith('"msg":"ready"}'));
        return line === undefined ? undefined : (JSON.parse(line) as ReadyRecord);
      }),
  };
}

/** Runs one command to its end. */
export function lectern(
  argv: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly input?: string | Uint8Array } = {},
): Promise<Outcome> {
  const { child, ended } = start(argv, options.env);
  // Commands that fail early do not read their input.
  child.stdin?.on('error', () => {});
  child.stdin?.end(options.input);
  return ended;
}
