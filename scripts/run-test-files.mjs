/** Runs test files from source, one after the other. */
import { spawn } from 'node:child_process';
import { build, whyStale } from './ensure-built.mjs';
import { closureOf, needsBuild, ROOT } from './test-files.mjs';
import { Report } from './test-report.mjs';

/**
 * @param {readonly string[]} files
 * @param {() => boolean} [isCancelled] called before each file; true leaves out the rest
 * @returns {Promise<boolean>} whether all of them passed
 */
export async function runFiles(files, isCancelled = () => false) {
  const say = (text) => process.stdout.write(text);
  const built = files.filter((file) => needsBuild(closureOf(file)));
  const reason = built.length === 0 ? undefined : whyStale();
  if (reason !== undefined) {
    say(
      `Building first: ${built.length === 1 ? built[0] : `${built.length} files`} may use dist/, and ${reason}.\n`,
    );
    if (!build()) {
      say('The build failed, no test was run.\n');
      return false;
    }
  }
  const report = new Report(say);
  for (const file of files) {
    if (isCancelled()) {
      say('\nStopped: something has changed meanwhile.\n');
      break;
    }
    say(`\n${file}\n`);
    const child = spawn(process.execPath, ['--import=tsx', file], {
      cwd: ROOT,
      env: { ...process.env, TAP_TIMEOUT: process.env.TAP_TIMEOUT ?? '900' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await report.read(child, file, { tellsTests: true });
  }
  report.finish();
  return report.failed === 0;
}
