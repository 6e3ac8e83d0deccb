/**
 * Runs single test files from source, without building or compiling anything else:
 *
 *     npm run test:one -- <part of a path> …
 */
import { runFiles } from './run-test-files.mjs';
import { matching, testFiles } from './test-files.mjs';

const NEAR_MAX = 5;

/** Files that share the most consecutive letters with the name. */
function nearest(name, files) {
  const runs = (file) => {
    let length = Math.min(name.length, 12);
    while (length > 2) {
      for (let at = 0; at + length <= name.length; at++) {
        if (file.includes(name.slice(at, at + length))) return length;
      }
      length--;
    }
    return 0;
  };
  return files
    .map((file) => ({ file, length: runs(file) }))
    .filter(({ length }) => length > 0)
    .sort((a, b) => b.length - a.length)
    .slice(0, NEAR_MAX)
    .map(({ file }) => file);
}

const names = process.argv.slice(2);
const all = testFiles();
if (names.length === 0) {
  process.stderr.write('Which test? npm run test:one -- <part of its path>, as in answer/plan\n');
  process.exit(2);
}
for (const name of names) {
  if (matching(name, all).length > 0) continue;
  const near = nearest(name, all);
  const hint = near.length === 0 ? '' : ` Near it are:\n${near.map((file) => `  ${file}\n`).join('')}`;
  process.stderr.write(`No test file has "${name}" in its path.${hint || '\n'}`);
  process.exit(2);
}
const files = [...new Set(names.flatMap((name) => matching(name, all)))];
if (files.length > 1)
  process.stdout.write(`${files.length} files match:\n${files.map((file) => `  ${file}\n`).join('')}`);
process.exitCode = (await runFiles(files)) ? 0 : 1;
