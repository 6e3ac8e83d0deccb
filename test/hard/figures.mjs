/**
 * Figures of RELIABILITY.md and SECURITY.md as files, one for each: what was measured, when, of which commit, and where. `npm run
 * hard:report` puts them into the documents.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The compiled tests lie as deep as these. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const RESULTS = join(ROOT, 'test/hard/results');

const NAME = /^[a-z0-9-]+$/;

/**
 * @param {string} name as in the documents: small letters, digits, hyphens
 * @param {string} measured a few words for the table, with units
 * @param {object} details what else is known, for whoever wants more
 * @param {string} folder
 */
export function recordFigure(name, measured, details = {}, folder = RESULTS) {
  if (!NAME.test(name)) throw new Error(`a figure is not named ${JSON.stringify(name)}`);
  if (measured === '' || /[|\n]|<!--/.test(measured)) {
    throw new Error(`no text for a table: ${JSON.stringify(measured)}`);
  }
  const figure = {
    measured,
    date: new Date().toISOString(),
    commit: git('rev-parse', 'HEAD') || 'unknown',
    isChanged: git('status', '--porcelain', '--untracked-files=no', 'src') !== '',
    node: process.version,
    machine: {
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      memoryBytes: totalmem(),
      system: `${type()} ${release()}`,
      loadAfter: loadavg().map((load) => Math.round(load * 100) / 100),
    },
    details,
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(figure, null, 1)}\n`);
}

function git(...args) {
  try {
    return execFileSync('git', args, {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '';
  }
}
