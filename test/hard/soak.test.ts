/** A short soak, which shows that the soak works and can fail. `npm run soak` runs for any time. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { size } from './size.js';

const SOAK = fileURLToPath(new URL('../soak/run.mjs', import.meta.url));

test('a soak with every feature: all good requests succeed, all bad ones fail, nothing leaks', {
  timeout: 1_800_000,
}, (t) => {
  const argv = [SOAK, '--minutes', String(size(0.3, 20)), '--events', String(size(3000, 20_000))];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
  t.equal(status, 0, `${stdout.slice(-3000)}${stderr}`);
  const summary = JSON.parse(stdout.slice(stdout.indexOf('\n{') + 1)) as {
    readonly looks: number;
    readonly descriptorsGained: number;
    readonly memory: Readonly<Record<string, { readonly standardError: number }>>;
    readonly counts: Readonly<Record<string, Readonly<Record<string, number>>>>;
  };
  t.ok(summary.looks >= 8);
  t.ok(summary.descriptorsGained <= 0, `${summary.descriptorsGained} descriptors gained`);
  t.ok(Number.isFinite(summary.memory.heapUsed?.standardError), 'and memory was judged');
  for (const kind of [
    'good',
    'bad token',
    'no token',
    'bad query',
    'nonsense',
    'flood',
    'leaver',
    'slow writer',
    '/metrics',
    '/live',
  ]) {
    const answers = Object.values(summary.counts[kind] ?? {}).reduce((sum, count) => sum + count, 0);
    t.ok(answers > 0, `${answers} of "${kind}"`);
  }
  t.end();
});
