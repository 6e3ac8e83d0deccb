/** Where and of what a run was. */
import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Whose changes could change what is measured, or how. */
const MEASURED = ['src', 'bench', 'package-lock.json', ':!bench/results', ':!bench/report'];

export function surroundings() {
  return {
    date: new Date().toISOString(),
    node: process.version,
    commit: git('rev-parse', 'HEAD').trim(),
    isChanged: git('status', '--porcelain', '--untracked-files=no', '--', ...MEASURED) !== '',
    machine: {
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      memoryBytes: totalmem(),
      system: `${type()} ${release()}`,
      loadBefore: loadavg().map((load) => Math.round(load * 100) / 100),
    },
  };
}

/** What git says; nothing where there is no git, or no checkout. */
function git(...argv) {
  try {
    return execFileSync('git', ['-C', ROOT, ...argv], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return '';
  }
}
