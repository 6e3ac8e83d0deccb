/**
 * Writes the generated pages: docs/configuration.md from the table of settings, and docs/decisions/README.md
 * from the titles of the decisions.
 *
 *     npm run docs
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { configurationPage } from '../dist/options/configuration-page.js';
import { decisionsPage } from './decisions.mjs';

const write = (path, text) => writeFileSync(fileURLToPath(new URL(`../docs/${path}`, import.meta.url)), text);

write('configuration.md', configurationPage());
write('decisions/README.md', decisionsPage());
