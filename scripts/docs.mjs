/**
 * Writes the pages that are generated: docs/configuration.md from the table of settings.
 *
 *     npm run docs
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { configurationPage } from '../dist/options/page.js';

writeFileSync(fileURLToPath(new URL('../docs/configuration.md', import.meta.url)), configurationPage());
