import type { Test } from 'tap';
import { run } from '../../src/cli/program.js';
import type { Outcome } from './lectern.js';

/** Must not appear in any message. */
export const SECRET = 'this-is-a-secret-of-more-than-thirty-two-bytes';

/** Runs a command line in this process, which is much faster than starting a process each time. */
export async function runHere(
  t: Test,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Omit<Outcome, 'signal'>> {
  const inherited = { ...process.env };
  for (const name of Object.keys(process.env)) if (name.startsWith('LECTERN_')) delete process.env[name];
  Object.assign(process.env, env);
  let stdout = '';
  let stderr = '';
  const restoreStdout = captureWrites(t, process.stdout, (text) => {
    stdout += text;
  });
  const restoreStderr = captureWrites(t, process.stderr, (text) => {
    stderr += text;
  });
  let code: number;
  try {
    code = await run(argv);
  } finally {
    restoreStdout();
    restoreStderr();
    process.env = inherited;
  }
  return { code, stdout, stderr };
}

function captureWrites(t: Test, stream: NodeJS.WriteStream, onText: (text: string) => void): () => void {
  const write = (chunk: unknown): boolean => {
    onText(String(chunk));
    return true;
  };
  return t.capture(stream, 'write', write).restore;
}

/** A line of the log that comes when the first load takes long. */
const WAITING_LINE = /^\{.*"msg":"still waiting for the source"\}\n/gm;

/** Standard error as on a machine that is not busy. */
export const withoutWaiting = (stderr: string): string => stderr.replace(WAITING_LINE, '');

export function assertOneLine(
  t: Test,
  outcome: Omit<Outcome, 'signal'>,
  code: number,
  message: RegExp,
  name: string,
): void {
  t.equal(outcome.code, code, `${name}: exit code`);
  t.match(outcome.stderr, message, `${name}: message`);
  t.match(withoutWaiting(outcome.stderr), /^error: [^\n]+\n$/, `${name}: one line`);
  t.equal(outcome.stdout, '', `${name}: nothing on standard output`);
  for (const secret of [SECRET, 'short-secret'])
    t.notOk(outcome.stderr.includes(secret), `${name}: no secret`);
}
