import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface RunningExample {
  /** The address of /schedule, as printed by the example. */
  readonly schedule: string;
  /** Tells it to end; resolves to the exit code and standard error. */
  end(): Promise<{ readonly code: number | null; readonly stderr: string }>;
}

/** Starts `examples/<name>` on a free port, like a user, and waits for its address. */
export async function runExample(
  name: string,
  env: Readonly<Record<string, string>> = {},
): Promise<RunningExample> {
  const child = spawn(process.execPath, [`examples/${name}`], {
    cwd: ROOT,
    // Without the loaders of the test itself.
    env: { ...process.env, NODE_OPTIONS: '', PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const closed = once(child, 'close') as Promise<[number | null]>;
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      if (stdout.includes('\n')) resolve();
    });
    void closed.then(([code]) => reject(new Error(`${name} ended with ${code}: ${stderr}`)));
  });
  return {
    schedule: stdout.trimEnd(),
    async end() {
      child.kill('SIGTERM');
      const [code] = await closed;
      return { code, stderr };
    },
  };
}
