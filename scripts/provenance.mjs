/** The provenance of a figure: time, commit and machine. For benchmarks and long tests. */
import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * @param {readonly string[]} paths for git; changes in them could change the figure
 * @param {'loadBefore' | 'loadAfter'} loadName says whether this is called before or after the measurement
 * @returns {object} `commit` is "unknown" without git or a checkout; `isChanged` says whether any of the
 *   paths has uncommitted changes; `machine[loadName]` is the load of the system at the moment of the call,
 *   over 1, 5 and 15 minutes
 */
export function provenanceOf(paths, loadName) {
  return {
    date: new Date().toISOString(),
    node: process.version,
    commit: git('rev-parse', 'HEAD') || 'unknown',
    isChanged: git('status', '--porcelain', '--untracked-files=no', '--', ...paths) !== '',
    machine: {
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      memoryBytes: totalmem(),
      system: `${type()} ${release()}`,
      [loadName]: loadavg().map((load) => Math.round(load * 100) / 100),
    },
  };
}

/** The output of git; empty without git or a checkout. */
function git(...argv) {
  try {
    return execFileSync('git', argv, {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '';
  }
}
