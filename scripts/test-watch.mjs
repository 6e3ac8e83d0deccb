/**
 * Runs tests again when their modules change:
 *
 * npm run test:watch runs the test files that import a changed file; npm run test:watch -- <part of a path> …
 * runs these at every change
 *
 * Ctrl-C ends it.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runFiles } from './run-test-files.mjs';
import { affectedBy, matching, ROOT, testFiles } from './test-files.mjs';

const WATCHED = ['src', 'test', 'bench', 'fixtures'];
/** Reading the times of some 600 files takes 9 ms, and works on every file system. */
const LOOK_MS = 400;

/** @returns {Map<string, number>} the time of the last change of each file */
function look() {
  const found = new Map();
  for (const folder of WATCHED) {
    for (const entry of readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      if (path.includes('node_modules')) continue;
      // The file may have been removed since.
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat !== undefined) found.set(path.slice(ROOT.length).replaceAll('\\', '/'), stat.mtimeMs);
    }
  }
  return found;
}

/** Files that were changed, added or removed. */
function changes(before, after) {
  const changed = [...after].filter(([file, mtime]) => before.get(file) !== mtime).map(([file]) => file);
  const removed = [...before.keys()].filter((file) => !after.has(file));
  return [...changed, ...removed];
}

const names = process.argv.slice(2);
const missing = names.find((name) => matching(name, testFiles()).length === 0);
if (missing !== undefined) {
  process.stderr.write(`No test file has "${missing}" in its path.\n`);
  process.exit(2);
}

/** Runs the tests affected by a change; at the start, the named tests. */
async function run(changed) {
  if (names.length > 0) {
    await runFiles([...new Set(names.flatMap((name) => matching(name, testFiles())))], hasChanged);
    return;
  }
  const { files, left } = affectedBy(changed, testFiles());
  process.stdout.write(`\n${changed.join(', ')}: ${files.length} test files import it\n`);
  if (left > 0) process.stdout.write(`${left} that use dist/ are left out: name them to run them\n`);
  if (files.length > 0) await runFiles(files, hasChanged);
}

let seen = look();
const hasChanged = () => changes(seen, look()).length > 0;
if (names.length > 0) await run([]);
process.stdout.write('\nWaiting for changes; Ctrl-C ends it.\n');
for (;;) {
  await delay(LOOK_MS);
  const now = look();
  const changed = changes(seen, now);
  if (changed.length === 0) continue;
  // Read before the run, so that changes during the run count as the next change.
  seen = now;
  await run(changed);
  process.stdout.write('\nWaiting for changes; Ctrl-C ends it.\n');
}
