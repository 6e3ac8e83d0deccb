/** Builds dist/ if it is older than src/. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** The time of dist/ is the start of the last complete build; scripts/clean.mjs and finish-build.mjs maintain it. */
const NOTE = join(ROOT, 'node_modules/.lectern-built');
const MADE_FROM = [
  'src',
  'pages',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'scripts/finish-build.mjs',
  'scripts/build-pages.mjs',
  'scripts/worker-text.mjs',
];

/** @returns {string | undefined} why dist/ has to be built; undefined if it is up to date */
export function whyStale() {
  if (!existsSync(join(ROOT, 'dist/cli.js')) || !existsSync(NOTE)) return 'dist/ is not there, or not whole';
  const builtMs = statSync(NOTE).mtimeMs;
  const newer = MADE_FROM.map((path) => newerIn(path, builtMs)).find((path) => path !== undefined);
  return newer === undefined ? undefined : `${newer} is newer than dist/`;
}

/** The first path that changed after `sinceMs`; a folder changes when a file is added or removed. */
function newerIn(path, sinceMs) {
  const stat = statSync(join(ROOT, path));
  if (stat.mtimeMs > sinceMs) return path;
  if (!stat.isDirectory()) return undefined;
  for (const name of readdirSync(join(ROOT, path))) {
    const found = newerIn(`${path}/${name}`, sinceMs);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** @returns {boolean} whether the build succeeded; the compiler prints its errors */
export function build() {
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], {
    cwd: ROOT,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  return status === 0;
}
