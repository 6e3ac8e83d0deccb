/** `npm run test:watch`: a change runs the tests that import it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { until } from '../waiting/until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('a change runs the tests that import it, and Ctrl-C ends the watch', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-watch-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of [
    'src',
    'scripts',
    'test/base/model',
    'test/base/structures',
    'test/hard/size.ts',
    'test/hard/slow-test.ts',
    'package.json',
    'tsconfig.json',
  ]) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  for (const name of ['bench', 'fixtures']) mkdirSync(join(folder, name));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const { NODE_OPTIONS: _options, ...env } = process.env;
  const child = spawn(process.execPath, ['scripts/test-watch.mjs'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const said = (text: string): Promise<boolean> => until(() => output.includes(text));
  t.ok(await said('Waiting for changes; Ctrl-C ends it.\n'), output);
  output = '';
  utimesSync(join(folder, 'src/base/model/time.ts'), new Date(), new Date());
  t.ok(await said('Waiting for changes'), output);
  t.match(output, /^\nsrc\/base\/model\/time\.ts: \d+ test files import it\n/);
  t.match(output, /\ntest\/base\/model\/time\.test\.ts\nok {7}/);
  t.notMatch(output, 'test/base/structures/');
  t.match(output, /\n\d files? in [\d.]+ s: \d+ passed, 0 failed\n/);
  const ended = once(child, 'exit');
  child.kill('SIGINT');
  t.strictSame(await ended, [null, 'SIGINT']);
});
