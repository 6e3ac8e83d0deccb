/**
 * Puts the figures of the last full runs into RELIABILITY.md.
 *
 *     npm run hard:report
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { RESULTS } from '../figures.mjs';
import { placesIn, readFigures, withFigures } from './document.mjs';

const DOCUMENT = fileURLToPath(new URL('../../../RELIABILITY.md', import.meta.url));

const figures = readFigures(RESULTS);
const text = readFileSync(DOCUMENT, 'utf8');
writeFileSync(DOCUMENT, withFigures(text, figures));
const missing = placesIn(text).filter((name) => !figures.has(name));
process.stdout.write(
  `RELIABILITY.md has ${figures.size} figures from files; written by hand: ${missing.join(', ') || 'none'}\n`,
);
