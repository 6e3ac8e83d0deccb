/**
 * Writes what is generated: docs/configuration.md and src/options/option-types.ts from the table of settings, and
 * docs/decisions/README.md from the titles of the decisions.
 *
 *     npm run docs
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as setting from '../src/options/setting.ts';
import * as table from '../src/options/table.ts';
import { decisionsPage } from './decisions.mjs';
import { configurationPage, optionTypes } from './settings-pages.mjs';

const write = (path, text) => writeFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), text);

write('docs/configuration.md', configurationPage({ ...table, ...setting }));
write('docs/decisions/README.md', decisionsPage());
write('src/options/option-types.ts', optionTypes(table));
