/**
 * Builds the project and its tests, and runs a selection of them:
 *
 *     node scripts/test.mjs <fast | slow | hard> [<part of a path> …]
 */
import { build } from './ensure-built.mjs';
import { runPrograms } from './run-programs.mjs';
import { Report } from './test-report.mjs';
import { SELECTIONS } from './test-selections.mjs';

const [name, ...parts] = process.argv.slice(2);
const selection = Object.hasOwn(SELECTIONS, name) ? SELECTIONS[name] : undefined;
if (selection === undefined) {
  process.stderr.write(`there are no tests "${name}": ${Object.keys(SELECTIONS).join(', ')}\n`);
  process.exit(2);
}
const { buildTests, writePrograms } = await import('./build-tests.mjs');
if (!build()) process.exit(1);
const files = (await buildTests())
  .filter((path) => selection.has(path))
  .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)));
if (files.length === 0) {
  process.stderr.write(`No test of "${name}" has ${parts.join(' or ')} in its path.\n`);
  process.exit(2);
}
const programs = writePrograms(files, selection.isTogether);
const report = new Report((text) => process.stdout.write(text));
await runPrograms(programs, report, selection);
report.finish();
process.exitCode = report.failed === 0 ? 0 : 1;
