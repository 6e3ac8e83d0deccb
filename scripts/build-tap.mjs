/**
 * Builds tap for the plugins in .taprc, once for each installation: tap's first run fails if the set of
 * plugins has changed. The build takes ten seconds, so a note says which set was built.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const NOTE = join(ROOT, 'node_modules/.tap-built-for');
const wanted = readFileSync(join(ROOT, '.taprc'), 'utf8');

if (!existsSync(NOTE) || readFileSync(NOTE, 'utf8') !== wanted) {
  execFileSync(process.execPath, [join(ROOT, 'node_modules/tap/dist/esm/run.mjs'), 'build'], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  writeFileSync(NOTE, wanted);
}
