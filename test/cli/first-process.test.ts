/** The service as the first process of a container, which signals do not end by default. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'tap';
import { SECRET } from '../auth/tokens.js';
import { until } from '../waiting/until.js';
import { CLI, ROOT } from './lectern.js';

// An ordinary user needs a user namespace for it, which some systems do not allow.
const UNSHARE = ['-p', '-f', ...(process.getuid?.() === 0 ? [] : ['-r'])];
const isPermitted = spawnSync('unshare', [...UNSHARE, 'true']).status === 0;
const skip = isPermitted ? false : 'unshare -p is not permitted here';

/** The service as process 1; outside it has another number. */
async function startFirst(t: { teardown(end: () => void): void }, argv: readonly string[]) {
  const child = spawn('unshare', [...UNSHARE, '--kill-child', process.execPath, ...CLI, 'serve', ...argv], {
    cwd: ROOT,
    env: { ...process.env, LECTERN_HS256_SECRET: SECRET },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit') as Promise<[number | null]>;
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  }
  const printed = (expected: string): Promise<boolean> =>
    until(() => text.includes(expected) || child.exitCode !== null);
  const pid = (): number => Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'));
  return { printed, ended, pid };
}

test('the second signal ends the service, even as process 1 of a container', { skip }, async (t) => {
  for (const [signal, status] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    const { printed, ended, pid } = await startFirst(t, [
      'fixtures/demo.ndjson.gz',
      ...['--port', '0', '--drain-seconds', '600'],
    ]);
    await printed('"ready"');
    const first = pid();
    process.kill(first, 'SIGTERM');
    await printed('"closing"');
    const beganMs = performance.now();
    process.kill(first, signal);
    t.strictSame((await ended)[0], status, signal);
    t.ok(performance.now() - beganMs < 300_000, 'the process ends before its time for draining is over');
  }
});

test('one signal ends process 1 of a container when nothing is in progress', { skip }, async (t) => {
  const { printed, ended, pid } = await startFirst(t, ['fixtures/demo.ndjson.gz', '--port', '0']);
  await printed('"ready"');
  process.kill(pid(), 'SIGTERM');
  t.strictSame((await ended)[0], 0);
});
