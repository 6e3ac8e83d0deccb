/**
 * The scripts of threads hold copies of packages. Each copy has exactly the version that package.json names. npm
 * installs this version, too, so `npm audit` reports faults of the copy in every project that installs Lectern.
 */
import { readFileSync } from 'node:fs';
import { test } from 'tap';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const SCRIPTS = ['refresh/thread/worker-text', 'refresh/thread/client-worker-text', 'app/serving-text'];

test('every package that is copied into a script is a dependency of exactly its version', async (t) => {
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
  for (const script of SCRIPTS) {
    // Each licence begins with the name and version of its package.
    const licences = read(`dist/${script}-licences.txt`);
    const copied = [...licences.matchAll(/^([@a-z0-9/._-]+) (\d+\.\d+\.\d+)$/gm)];
    t.ok(copied.length > 5, `${script}: ${copied.length} packages`);
    for (const [, name = '', version] of copied) t.equal(dependencies[name], version, `${name} in ${script}`);
  }
});
