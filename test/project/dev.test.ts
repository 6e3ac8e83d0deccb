/** `npm run dev`: a change restarts the service, and Ctrl-C ends all its processes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { until } from '../waiting/until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Whether any process of a group still exists. */
function isAlive(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch {
    return false;
  }
}

test('npm run dev restarts after a change, and Ctrl-C leaves nothing behind', {
  skip: process.platform === 'win32' && 'no process groups',
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-dev-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['src', 'fixtures', 'package.json', 'tsconfig.json']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const { NODE_OPTIONS: _options, ...env } = process.env;
  // In its own process group, as from a terminal: Ctrl-C reaches the whole group.
  const child = spawn('npm', ['run', '--silent', 'dev', '--', '--port', '0'], {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const group = child.pid ?? 0;
  t.teardown(() => {
    if (isAlive(group)) process.kill(-group, 'SIGKILL');
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const starts = () => output.match(/^Lectern serves fixtures\/demo\.ndjson\.gz at http/gm)?.length ?? 0;
  t.ok(await until(() => starts() >= 1), output);
  const before = starts();
  utimesSync(join(folder, 'src/base/model/time.ts'), new Date(), new Date());
  t.ok(await until(() => starts() > before), output);
  const ended = once(child, 'exit');
  process.kill(-group, 'SIGINT');
  await ended;
  t.ok(await until(() => !isAlive(group)), 'every process of the group has ended');
});
