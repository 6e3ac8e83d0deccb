/**
 * Builds the project and its tests, and runs a selection of them:
 *
 *     node scripts/test.mjs <fast | slow | hard | attacks | deploy> [<part of a path> …]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './ensure-built.mjs';
import { Report } from './test-report.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TESTS = join(ROOT, '.tests');

/** Tests that start many processes, or take long. */
const SLOW = [
  'hard/',
  'package/',
  'examples/',
  'embedding/bundled.',
  'replication/two-versions.',
  'project/dev.',
  'project/readme.',
  'project/watch.',
];
const DEPLOY = ['deploy/'];
const HARD = [
  'hard/',
  'snapshot/',
  'refresh/',
  'query/real-data.',
  'query/conflict-layouts.',
  'admin/hosts.',
  'attack/',
  'cli/refresh.',
  'cli/shutdown.',
  'deploy/',
  'http/',
  'source/',
  'thread/',
  'timetable/',
];
const FULL_SIZE = { env: { LECTERN_HARD: '1' }, options: ['--jobs=1', '--timeout=3600'] };

/** Paths below test/ begin with one of `only` and with none of `not`. */
const SELECTIONS = {
  fast: { not: [...SLOW, ...DEPLOY] },
  slow: { only: SLOW, options: ['--timeout=400'] },
  hard: { only: HARD, ...FULL_SIZE },
  attacks: { only: ['hard/http-', 'http/'], ...FULL_SIZE },
  deploy: { only: DEPLOY, options: ['--timeout=300'] },
};

const [name, ...parts] = process.argv.slice(2);
const selection = Object.hasOwn(SELECTIONS, name) ? SELECTIONS[name] : undefined;
if (selection === undefined) {
  process.stderr.write(`there are no tests "${name}": ${Object.keys(SELECTIONS).join(', ')}\n`);
  process.exit(2);
}

/** @returns {string[]} compiled test files, from the project's folder */
function selected({ only = [''], not = [] }) {
  return readdirSync(TESTS, { recursive: true, withFileTypes: true })
    .map(({ parentPath, name }) => relative(TESTS, join(parentPath, name)).replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.test.js'))
    .filter((path) => only.some((start) => path.startsWith(start)))
    .filter((path) => !not.some((start) => path.startsWith(start)))
    .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)))
    .sort()
    .map((path) => `.tests/${path}`);
}

if (!build()) process.exit(1);
await import('./build-tap.mjs');
await import('./build-tests.mjs');

const files = selected(selection);
if (files.length === 0) {
  process.stderr.write(`No test of "${name}" has ${parts.join(' or ')} in its path.\n`);
  process.exit(2);
}
const report = new Report((text) => process.stdout.write(text));
const argv = ['--reporter=tap', ...(selection.options ?? []), ...files];
const tap = spawn(process.execPath, [join(ROOT, 'node_modules/tap/dist/esm/run.mjs'), ...argv], {
  cwd: ROOT,
  env: { ...process.env, ...selection.env },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const ended = once(tap, 'close');
await report.read(tap.stdout);
const [code, signal] = await ended;
if (code !== 0 && report.failed === 0) report.fail('tap', `ended with ${code ?? signal}`);
report.finish();
process.exitCode = report.failed === 0 ? 0 : 1;
