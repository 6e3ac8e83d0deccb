/**
 * Figures of docs/reliability.md and docs/security.md as files: each says what was measured, when, at which
 * commit and on which machine. `npm run hard:report` puts them into the documents.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provenanceOf } from '../../scripts/provenance.mjs';

/** The compiled tests lie at the same depth as these. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const RESULTS = join(ROOT, 'test/hard/results');

const NAME = /^[a-z0-9-]+$/;

/**
 * @param {string} name as in the documents: small letters, digits, hyphens
 * @param {string} measured a few words for the table, with units
 * @param {object} details further facts
 * @param {string} folder
 */
export function recordFigure(name, measured, details = {}, folder = RESULTS) {
  if (!NAME.test(name)) throw new Error(`a figure is not named ${JSON.stringify(name)}`);
  if (measured === '' || /[|\n]|<!--/.test(measured)) {
    throw new Error(`no text for a table: ${JSON.stringify(measured)}`);
  }
  const figure = { measured, ...provenanceOf(['src'], 'loadAfter'), details };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(figure, null, 1)}\n`);
}
