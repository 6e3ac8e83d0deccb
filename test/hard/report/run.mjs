/**
 * Puts the figures of the last full runs into docs/reliability.md and docs/security.md.
 *
 *     npm run hard:report
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { RESULTS } from '../figures.mjs';
import { DOCUMENTS, placesIn, readFigures, withFigures } from './document.mjs';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const figures = readFigures(RESULTS);
const texts = DOCUMENTS.map((name) => readFileSync(`${ROOT}${name}`, 'utf8'));
const written = withFigures(texts, figures);
for (const [n, name] of DOCUMENTS.entries()) writeFileSync(`${ROOT}${name}`, written[n]);
const missing = texts.flatMap(placesIn).filter((name) => !figures.has(name));
process.stdout.write(
  `${DOCUMENTS.join(' and ')} have ${figures.size} figures from files; without a file: ${missing.join(', ') || 'none'}\n`,
);
